/** What the owner of a consumer does: commits, moves, holds back, reads by itself; and what each error means. */
import { describe, expect, it } from 'vitest';
import { closeConsumer, pollConsumer } from '../../core/client/consumer.ts';
import {
  askCommittedOffsets,
  commitOffsets,
  consumerLag,
  positionOf,
  seek,
  setPaused,
} from '../../core/client/consumer-offsets.ts';
import type { ConsumerOptions } from '../../core/client/consumer-options.ts';
import { assignPartitions, enforceRebalance, subscribe } from '../../core/client/consumer-topics.ts';
import { waitingBytes } from '../../core/client/fetcher.ts';
import { ErrorCode } from '../../core/protocol/errors.ts';
import type { RequestOf } from '../../core/protocol/messages/index.ts';
import { act, areSettled, type Consuming, fill, newBoard, put, startConsuming } from './consuming.ts';
import { createToy, partitionOf, run, type Toy } from './toy-cluster.ts';
import { addGroups, moveCoordinator, type ToyGroups } from './toy-groups.ts';

const AT = { topic: 't', partition: 0 };

interface Scene {
  readonly toy: Toy;
  readonly groups: ToyGroups;
  readonly one: Consuming;
}

function scene(options: Partial<ConsumerOptions> = {}, partitions = 1): Scene {
  const toy = createToy({ topics: { t: partitions }, brokers: 2 });
  const groups = addGroups(toy);
  return { toy, groups, one: startConsuming(toy, newBoard(), options) };
}

function settled(world: Scene, partitions = 1): void {
  const { toy, one } = world;
  act(toy, one, (c, e) => subscribe(c, e, { topics: ['t'] }));
  run(toy, toy.nowMs + 10_000, () => areSettled([one], partitions) && positionOf(one.consumer, AT) >= 0);
  expect(areSettled([one], partitions)).toBe(true);
}

function lastOf(one: Consuming, kind: string): Extract<Consuming['events'][number], { kind: 'committed' }> | undefined {
  const found = one.events.filter((event) => event.kind === kind).at(-1);
  return found as Extract<Consuming['events'][number], { kind: 'committed' }> | undefined;
}

function committed({ toy, one }: Scene): number {
  let ticket = 0;
  act(toy, one, (c, e) => {
    ticket = askCommittedOffsets(c, e, [{ topic: 't', partitions: [0] }]);
  });
  const done = (): boolean => one.events.some((event) => event.kind === 'offsets' && event.ticket === ticket);
  run(toy, toy.nowMs + 5000, done);
  return lastOf(one, 'offsets')?.marks[0]?.offset ?? -2;
}

describe('offsets', () => {
  it('are stored when the owner says so, with the epoch of the record before', () => {
    const world = scene({ autoCommit: false });
    const { toy, one } = world;
    fill(partitionOf(toy), 5);
    settled(world);
    run(toy, toy.nowMs + 2000, () => one.records.length === 5);
    expect(committed(world)).toBe(-1);
    let ticket = 0;
    act(toy, one, (c, e) => {
      ticket = commitOffsets(c, e, null, true);
    });
    run(toy, toy.nowMs + 1000);
    const mark = { topic: 't', partition: 0, offset: 5, leaderEpoch: 1, error: 0 };
    expect(lastOf(one, 'committed')).toMatchObject({ ticket, error: 0, marks: [mark] });
    expect(committed(world)).toBe(5);
  });

  it('are tried again by a patient commit when the coordinator moves, and not by an impatient one', () => {
    const world = scene({ autoCommit: false });
    const { toy, groups, one } = world;
    fill(partitionOf(toy), 5);
    settled(world);
    run(toy, toy.nowMs + 2000, () => one.records.length === 5);
    moveCoordinator(toy, 1, 400);
    act(toy, one, (c, e) => commitOffsets(c, e, null, true));
    run(toy, toy.nowMs + 5000, () => lastOf(one, 'committed') !== undefined);
    expect(lastOf(one, 'committed')?.error).toBe(0);
    groups.refusals.set(8, [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS]);
    act(toy, one, (c, e) => commitOffsets(c, e, null, false));
    run(toy, toy.nowMs + 2000);
    expect(lastOf(one, 'committed')?.error).toBe(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS);
  });

  it('fail in the end when the coordinator never comes back', () => {
    const world = scene({ autoCommit: false });
    const { toy, one } = world;
    fill(partitionOf(toy), 1);
    settled(world);
    run(toy, toy.nowMs + 2000, () => one.records.length === 1);
    moveCoordinator(toy, 9);
    act(toy, one, (c, e) => commitOffsets(c, e, null, true));
    run(toy, toy.nowMs + 20_000, () => lastOf(one, 'committed') !== undefined);
    expect(lastOf(one, 'committed')?.error).not.toBe(0);
  });

  it('are stored by the consumer itself only up to what the owner has done with', () => {
    const world = scene({ autoCommitIntervalMs: 100 });
    const { toy, one } = world;
    one.workMs = 3000;
    for (let i = 0; i < 3; i++) fill(partitionOf(toy), 2);
    settled(world);
    run(toy, toy.nowMs + 2000, () => one.records.length > 0);
    const first = one.records.length;
    run(toy, toy.nowMs + 1500);
    expect(committed(world)).toBe(0);
    fill(partitionOf(toy), 2);
    run(toy, toy.nowMs + 3000);
    expect(committed(world)).toBe(first);
  });

  it('of a membership that is gone are not stored, and the member joins anew', () => {
    const world = scene({ autoCommit: false });
    const { toy, groups, one } = world;
    fill(partitionOf(toy), 1);
    settled(world);
    run(toy, toy.nowMs + 2000, () => one.records.length === 1);
    groups.refusals.set(8, [ErrorCode.UNKNOWN_MEMBER_ID]);
    act(toy, one, (c, e) => commitOffsets(c, e, null, true));
    run(toy, toy.nowMs + 500, () => one.events.at(-1)?.kind === 'lost');
    expect(lastOf(one, 'committed')?.error).toBe(ErrorCode.UNKNOWN_MEMBER_ID);
    // The coordinator knows better, and makes room once the session of the former member is over.
    run(toy, toy.nowMs + 15_000, () => one.records.length === 2);
    expect(areSettled([one], 1)).toBe(true);
    expect(committed(world)).toBe(-1);
  });
});

describe('whoever is no member any more', () => {
  it('stores nothing, even before its owner has taken notice', () => {
    const world = scene({ autoCommit: false });
    const { toy, groups, one } = world;
    fill(partitionOf(toy), 2);
    settled(world);
    run(toy, toy.nowMs + 2000, () => one.records.length === 2);
    one.ackMs = 3000;
    groups.refusals.set(12, [ErrorCode.UNKNOWN_MEMBER_ID]);
    run(toy, toy.nowMs + 2000, () => one.events.at(-1)?.kind === 'lost');
    act(toy, one, (c, e) => commitOffsets(c, e, null, true));
    run(toy, toy.nowMs + 500);
    expect(lastOf(one, 'committed')?.error).toBe(ErrorCode.UNKNOWN_MEMBER_ID);
    expect(toy.requests.some(({ apiKey }) => apiKey === 8)).toBe(false);
  });
});

describe('where a partition starts', () => {
  it.each(['earliest', 'latest'] as const)('without a committed offset: %s', (reset) => {
    const world = scene({ reset });
    const { toy, one } = world;
    fill(partitionOf(toy), 4);
    settled(world);
    run(toy, toy.nowMs + 1000);
    expect(one.records.length).toBe(reset === 'earliest' ? 4 : 0);
    fill(partitionOf(toy), 1);
    run(toy, toy.nowMs + 1000);
    expect(one.records.at(-1)?.value).toBe('v4');
  });

  it('with none to be chosen: nowhere, until the owner says where', () => {
    const world = scene({ reset: 'none' });
    const { toy, one } = world;
    fill(partitionOf(toy), 4);
    act(toy, one, (c, e) => subscribe(c, e, { topics: ['t'] }));
    run(toy, toy.nowMs + 3000);
    const error = { kind: 'error', error: ErrorCode.OFFSET_OUT_OF_RANGE, isFatal: true, at: AT };
    expect(one.events.filter(({ kind }) => kind === 'error')).toMatchObject([error]);
    act(toy, one, (c) => expect(seek(c, AT, 2)).toBe(true));
    run(toy, toy.nowMs + 1000);
    expect(one.records.map(({ value }) => value)).toEqual(['v2', 'v3']);
  });

  it('is asked for again while the coordinator is loading', () => {
    const world = scene();
    const { toy, groups, one } = world;
    fill(partitionOf(toy), 2);
    groups.refusals.set(9, [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR]);
    settled(world);
    run(toy, toy.nowMs + 3000, () => one.records.length === 2);
    expect(one.records.length).toBe(2);
  });
});

describe('the owner', () => {
  it('holds a partition back and lets it go on, moves about, and sees how far behind it is', () => {
    const world = scene();
    const { toy, one } = world;
    settled(world);
    act(toy, one, (c) => setPaused(c, AT, true));
    fill(partitionOf(toy), 6);
    run(toy, toy.nowMs + 2000);
    expect(one.records).toEqual([]);
    act(toy, one, (c) => setPaused(c, AT, false));
    run(toy, toy.nowMs + 2000, () => one.records.length === 6);
    expect(positionOf(one.consumer, AT)).toBe(6);
    expect(consumerLag(one.consumer, AT)).toBe(0);
    one.next.clear();
    act(toy, one, (c) => seek(c, AT, 4));
    expect(consumerLag(one.consumer, AT)).toBe(2);
    run(toy, toy.nowMs + 2000, () => one.records.length === 8);
    expect(one.records.slice(6).map(({ offset }) => offset)).toEqual([4, 5]);
    act(toy, one, (c) => expect(seek(c, { topic: 't', partition: 7 }, 0)).toBe(false));
  });

  it('changes its mind while an answer is on its way', () => {
    const world = scene();
    const { toy, one } = world;
    fill(partitionOf(toy), 6);
    settled(world);
    run(toy, toy.nowMs + 2000, () => one.records.length === 6);
    act(toy, one, (c) => seek(c, AT, 'earliest'));
    run(toy, toy.nowMs + 2000, () => one.consumer.fetcher.calls.values().next().value?.kind === 'locate');
    one.next.clear();
    act(toy, one, (c) => seek(c, AT, 5));
    run(toy, toy.nowMs + 2000);
    expect(one.records.slice(6).map(({ offset }) => offset)).toEqual([5]);
  });

  it('reads partitions of its own choice, commits for a group without members, and is no member', () => {
    const { toy, one } = scene({}, 3);
    for (let p = 0; p < 3; p++) fill(partitionOf(toy, 't', p), 2);
    act(toy, one, (c, e) => assignPartitions(c, e, [AT, { topic: 't', partition: 2 }]));
    run(toy, toy.nowMs + 3000, () => one.records.length === 4);
    expect(new Set(one.records.map(({ where }) => where))).toEqual(new Set(['t-0', 't-2']));
    act(toy, one, (c, e) => commitOffsets(c, e, null, true));
    run(toy, toy.nowMs + 1000);
    expect(lastOf(one, 'committed')?.error).toBe(0);
    expect(toy.requests.some(({ apiKey }) => apiKey === 11)).toBe(false);
    const commit = toy.requests.findLast(({ apiKey }) => apiKey === 8)?.body as RequestOf<8>;
    expect(commit).toMatchObject({ generationIdOrMemberEpoch: -1, memberId: '' });
  });

  it('does not come for records: no more wait than was allowed', () => {
    const world = scene({ partitionBytesMax: 2000, prefetchBytesMax: 5000, fetchBytesMax: 3000 }, 4);
    const { toy, one } = world;
    one.polls = false;
    for (let p = 0; p < 4; p++) for (let i = 0; i < 50; i++) put(partitionOf(toy, 't', p), ['x'.repeat(400)]);
    settled(world, 4);
    let most = 0;
    run(toy, toy.nowMs + 4000, () => {
      most = Math.max(most, waitingBytes(one.consumer.fetcher));
      return false;
    });
    // The toy gives three batches of each partition, whatever it was asked for: that much may come beyond the limit.
    expect(most).toBeGreaterThan(2000);
    expect(most).toBeLessThanOrEqual(5000 + 4 * 3 * 600);
    one.polls = true;
    act(toy, one, (c, e) => void pollConsumer(c, e, 1));
    one.hasPolled = false;
    run(toy, toy.nowMs + 8000);
    expect(one.records.length).toBeGreaterThan(150);
  });

  it('makes the group rebalance although nothing has changed', () => {
    const world = scene();
    const { toy, one } = world;
    settled(world);
    const { generation } = one;
    act(toy, one, (c) => enforceRebalance(c, 'a test wants it'));
    run(toy, toy.nowMs + 3000, () => one.generation > generation);
    expect(one.generation).toBe(generation + 1);
    const join = toy.requests.findLast(({ apiKey }) => apiKey === 11)?.body as RequestOf<11>;
    expect(join.reason).toBe('a test wants it');
  });

  it('closes without a coordinator, when its time is over', () => {
    const world = scene();
    const { toy, one } = world;
    settled(world);
    moveCoordinator(toy, 9);
    act(toy, one, (c, e) => closeConsumer(c, e, 2000));
    run(toy, toy.nowMs + 3000);
    expect(one.events.at(-1)?.kind).toBe('closed');
  });
});

describe('a member that is told', () => {
  const fatal = [
    [11, ErrorCode.GROUP_AUTHORIZATION_FAILED],
    [11, ErrorCode.INCONSISTENT_GROUP_PROTOCOL],
    [11, ErrorCode.GROUP_MAX_SIZE_REACHED],
    [14, ErrorCode.FENCED_INSTANCE_ID],
    [12, ErrorCode.FENCED_INSTANCE_ID],
  ] as const;

  it.each(fatal)('by API %i error %i gives up, says so, and tries again when it subscribes anew', (apiKey, error) => {
    const world = scene();
    const { toy, groups, one } = world;
    groups.refusals.set(apiKey, [error]);
    act(toy, one, (c, e) => subscribe(c, e, { topics: ['t'] }));
    run(toy, toy.nowMs + 5000, () => one.events.some(({ kind }) => kind === 'error'));
    expect(one.events.find(({ kind }) => kind === 'error')).toMatchObject({ error, isFatal: true, at: null });
    run(toy, toy.nowMs + 500);
    expect(one.owned.size).toBe(0);
    const asked = toy.requests.filter(({ apiKey: key }) => key === 11).length;
    run(toy, toy.nowMs + 3000);
    expect(toy.requests.filter(({ apiKey: key }) => key === 11).length).toBe(asked);
    settled(world);
  });

  const passing = [
    [11, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS],
    [11, ErrorCode.UNKNOWN_MEMBER_ID],
    [11, ErrorCode.REBALANCE_IN_PROGRESS],
    [14, ErrorCode.REBALANCE_IN_PROGRESS],
    [14, ErrorCode.UNKNOWN_MEMBER_ID],
    [14, ErrorCode.ILLEGAL_GENERATION],
    [14, ErrorCode.NOT_COORDINATOR],
    [12, ErrorCode.UNKNOWN_MEMBER_ID],
    [12, ErrorCode.ILLEGAL_GENERATION],
    [12, ErrorCode.NOT_COORDINATOR],
    [12, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS],
    [12, ErrorCode.REBALANCE_IN_PROGRESS],
  ] as const;

  it.each(passing)('by API %i error %i goes on and owns everything in the end', (apiKey, error) => {
    for (const assignors of [['range'], ['cooperative-sticky']] as const) {
      const world = scene({ assignors }, 2);
      const { toy, groups, one } = world;
      groups.refusals.set(apiKey, [error, error]);
      act(toy, one, (c, e) => subscribe(c, e, { topics: ['t'] }));
      const isOver = (): boolean => groups.refusals.get(apiKey)?.length === 0 && areSettled([one], 2);
      run(toy, toy.nowMs + 60_000, isOver);
      expect(areSettled([one], 2)).toBe(true);
      expect(groups.refusals.get(apiKey)).toEqual([]);
      expect(one.events.some(({ kind }) => kind === 'error')).toBe(false);
    }
  });

  const modern = [
    [ErrorCode.FENCED_MEMBER_EPOCH, false],
    [ErrorCode.UNKNOWN_MEMBER_ID, false],
    [ErrorCode.GROUP_ID_NOT_FOUND, false],
    [ErrorCode.NOT_COORDINATOR, false],
    [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, false],
    [ErrorCode.UNRELEASED_INSTANCE_ID, true],
    [ErrorCode.INVALID_REQUEST, true],
    [ErrorCode.GROUP_MAX_SIZE_REACHED, true],
    [ErrorCode.UNSUPPORTED_ASSIGNOR, true],
  ] as const;

  it.each(modern)('in the consumer protocol error %i, for good: %s', (error, isFatal) => {
    const world = scene({ groupProtocol: 'consumer' }, 2);
    const { toy, groups, one } = world;
    settled(world, 2);
    groups.refusals.set(68, [error]);
    act(toy, one, (c, e) => subscribe(c, e, { topics: ['t', 'u'] }));
    run(toy, toy.nowMs + 3000, () => groups.refusals.get(68)?.length === 0);
    run(toy, toy.nowMs + 300);
    expect(one.events.some(({ kind }) => kind === 'error')).toBe(isFatal);
    if (isFatal) expect(one.owned.size).toBe(0);
    settled(world, 2);
  });

  it('when it joins that the group is none of the consumer protocol: for good', () => {
    const { toy, groups, one } = scene({ groupProtocol: 'consumer' }, 2);
    groups.refusals.set(68, [ErrorCode.GROUP_ID_NOT_FOUND]);
    act(toy, one, (c, e) => subscribe(c, e, { topics: ['t'] }));
    run(toy, toy.nowMs + 3000);
    expect(one.events.filter(({ kind }) => kind === 'error')).toMatchObject([{ error: 69, isFatal: true }]);
    expect(toy.requests.filter(({ apiKey }) => apiKey === 68).length).toBe(1);
  });

  it('to name itself first joins with the name that it was given', () => {
    const world = scene();
    settled(world);
    const joins = world.toy.requests.filter(({ apiKey }) => apiKey === 11).map(({ body }) => body as RequestOf<11>);
    expect(joins[0]?.memberId).toBe('');
    expect(joins[1]?.memberId).not.toBe('');
    expect(joins[0]).toMatchObject({ sessionTimeoutMs: 6000, rebalanceTimeoutMs: 8000, protocolType: 'consumer' });
  });

  it('speaks the oldest versions of everything', () => {
    const versions = new Map([
      [8, { min: 2, max: 2 }],
      [9, { min: 1, max: 1 }],
      [10, { min: 0, max: 0 }],
      [11, { min: 0, max: 0 }],
      [12, { min: 0, max: 0 }],
      [13, { min: 0, max: 0 }],
      [14, { min: 0, max: 0 }],
    ]);
    const toy = createToy({ topics: { t: 1 }, versions });
    const groups = addGroups(toy);
    const one = startConsuming(toy, newBoard());
    fill(partitionOf(toy), 3);
    settled({ toy, groups, one });
    run(toy, toy.nowMs + 3000, () => one.records.length === 3);
    act(toy, one, (c, e) => closeConsumer(c, e, 3000));
    run(toy, toy.nowMs + 3000);
    expect(one.events.at(-1)?.kind).toBe('closed');
    expect(lastOf(one, 'committed')?.error).toBe(0);
  });
});
