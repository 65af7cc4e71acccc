/**
 * Groups of consumers against our own coordinator, through real frames: every assignor of the classic protocol, and the
 * consumer protocol. A partition never has two owners at a time here, because nobody loses touch unless a story says
 * so.
 */
import { describe, expect, it } from 'vitest';
import { closeConsumer, hasRecords, pollConsumer } from '../../core/client/consumer.ts';
import { commitOffsets } from '../../core/client/consumer-offsets.ts';
import type { ConsumerOptions } from '../../core/client/consumer-options.ts';
import { ackRebalance } from '../../core/client/consumer-rebalance.ts';
import { assignPartitions, subscribe, unsubscribe } from '../../core/client/consumer-topics.ts';
import { whoIs } from '../../core/client/member.ts';
import { GROUP_DEFAULTS } from '../../core/group/defaults.ts';
import { ErrorCode } from '../../core/protocol/errors.ts';
import type { RequestOf } from '../../core/protocol/messages/index.ts';
import { act, areSettled, type Board, type Consuming, crash, fill, newBoard, startConsuming } from './consuming.ts';
import { addTopic } from './toy-broker.ts';
import { createToy, partitionOf, run, type Toy } from './toy-cluster.ts';
import { addGroups, moveCoordinator, type ToyGroups, topicsChanged } from './toy-groups.ts';

const KINDS: readonly (readonly [string, Partial<ConsumerOptions>])[] = [
  ['range', { assignors: ['range'] }],
  ['round-robin', { assignors: ['roundrobin'] }],
  ['sticky', { assignors: ['sticky'] }],
  ['cooperative-sticky', { assignors: ['cooperative-sticky'] }],
  ['the consumer protocol', { groupProtocol: 'consumer' }],
];

interface Scene {
  readonly toy: Toy;
  readonly groups: ToyGroups;
  readonly board: Board;
}

function scene(partitions = 6, brokers = 2): Scene {
  const toy = createToy({ topics: { t: partitions }, brokers });
  // Heard of so often, whatever is said too early is heard too.
  const groups = addGroups(toy, { consumer: { ...GROUP_DEFAULTS.consumer, heartbeatIntervalMs: 500 } });
  return { toy, groups, board: newBoard() };
}

function join({ toy, board }: Scene, options: Partial<ConsumerOptions>, topics = ['t']): Consuming {
  const one = startConsuming(toy, board, options);
  act(toy, one, (c, e) => subscribe(c, e, { topics }));
  return one;
}

function settle({ toy }: Scene, members: readonly Consuming[], partitions = 6, withinMs = 15_000): void {
  const share = Math.floor(partitions / members.length);
  const isDone = (): boolean => areSettled(members, partitions) && members.every(({ owned }) => owned.size >= share);
  run(toy, toy.nowMs + withinMs, isDone);
  expect(isDone(), members.map(({ owned }) => [...owned].join()).join(' | ')).toBe(true);
}

function close({ toy }: Scene, one: Consuming): void {
  act(toy, one, (c, e) => closeConsumer(c, e, 5000));
  run(toy, toy.nowMs + 6000, () => one.consumer.life === 'closed');
  expect(one.consumer.life).toBe('closed');
}

/** What was handed out of each partition, each value once. */
function seen(members: readonly Consuming[]): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const { records } of members) {
    for (const { where, value } of records) found.set(where, (found.get(where) ?? new Set<string>()).add(value));
  }
  return found;
}

function total(members: readonly Consuming[]): number {
  return members.reduce((sum, { records }) => sum + records.length, 0);
}

describe('whoever is no member any more', () => {
  it.each([
    ['classic', 12],
    ['consumer', 68],
  ] as const)('hands out nothing once what came before was called done: %s', (groupProtocol, heartbeatKey) => {
    const world = scene(1);
    const { toy, groups } = world;
    addTopic(toy, 'u', 1);
    const one = join(world, { groupProtocol, assignors: ['cooperative-sticky'] });
    settle(world, [one], 1);
    Object.assign(one, { polls: false, ackMs: 60_000 });
    act(toy, one, (c, e) => subscribe(c, e, { topics: ['t', 'u'] }));
    run(toy, toy.nowMs + 10_000, () => one.consumer.rebalance?.kind === 'assigned');
    fill(partitionOf(toy), 2);
    run(toy, toy.nowMs + 2000, () => hasRecords(one.consumer));
    expect(hasRecords(one.consumer)).toBe(true);
    groups.refusals.set(heartbeatKey, [ErrorCode.UNKNOWN_MEMBER_ID]);
    const isNone = (): boolean => one.consumer.grouped !== null && whoIs(one.consumer.grouped.member) === null;
    run(toy, toy.nowMs + 7000, isNone);
    expect(isNone()).toBe(true);
    act(toy, one, (c, e) => {
      ackRebalance(c, e, c.rebalance?.rebalance ?? -1);
      expect(pollConsumer(c, e, 1_000_000)).toEqual([]);
    });
    run(toy, toy.nowMs + 1);
    expect(one.events.some(({ kind }) => kind === 'lost')).toBe(true);
  });
});

describe('with cooperative-sticky, by two generations one behind the other', () => {
  it.each([0, 1_100, 2_900])('members are settled an interval of heartbeats after one joins (%i ms on)', (onMs) => {
    const world = scene();
    const kind: Partial<ConsumerOptions> = { assignors: ['cooperative-sticky'], heartbeatIntervalMs: 3_000 };
    const one = join(world, kind);
    settle(world, [one]);
    run(world.toy, world.toy.nowMs + 10_000 + onMs);
    const two = join(world, kind);
    settle(world, [one, two], 6, 4_000);
    expect([one.owned.size, two.owned.size]).toEqual([3, 3]);
  });
});

describe('a commit that is told of another generation', () => {
  /** The ids of the members that the coordinator has; a generation is made that none of them has heard of. */
  function another({ toy, groups }: Scene): () => string[] {
    fill(partitionOf(toy, 't', 0), 2);
    run(toy, toy.nowMs + 500);
    const group = groups.coordinator.state.groups.get('g');
    if (group?.kind !== 'classic') return expect.fail('the group is a classic one');
    group.generation += 1;
    return () => [...group.members.keys()];
  }

  it('leaves the member its id: it joins again under it, and nobody else is waited for', () => {
    const world = scene();
    const one = join(world, { assignors: ['range'], autoCommit: false });
    settle(world, [one]);
    const ids = another(world);
    const before = ids();
    act(world.toy, one, (c, e) => commitOffsets(c, e, null, true));
    run(world.toy, world.toy.nowMs + 500);
    settle(world, [one]);
    expect(ids()).toEqual(before);
  });
});

describe.each(KINDS)('with %s', (_, kind) => {
  it('members share the partitions evenly, and share anew when one comes and when one leaves', () => {
    const world = scene();
    const one = join(world, kind);
    settle(world, [one]);
    const two = join(world, kind);
    settle(world, [one, two]);
    expect([one.owned.size, two.owned.size]).toEqual([3, 3]);
    const three = join(world, kind);
    settle(world, [one, two, three]);
    expect([one.owned.size, two.owned.size, three.owned.size]).toEqual([2, 2, 2]);
    close(world, two);
    settle(world, [one, three], 6, kind.groupProtocol === 'consumer' ? 12_000 : 3000);
    expect([one.owned.size, three.owned.size]).toEqual([3, 3]);
  });

  it('hands every record out once while members come and leave, because positions are committed before', () => {
    const world = scene();
    const { toy } = world;
    const members = [join(world, kind), join(world, kind)];
    settle(world, members);
    for (let round = 0; round < 4; round++) {
      for (let p = 0; p < 6; p++) fill(partitionOf(toy, 't', p), 3);
      run(toy, toy.nowMs + 50);
      if (round === 1) members.push(join(world, kind));
      if (round === 2) close(world, members[0] as Consuming);
    }
    run(toy, toy.nowMs + 10_000, () => total(members) === 72);
    run(toy, toy.nowMs + 2000);
    expect(total(members)).toBe(72);
    for (const values of seen(members).values()) expect(values.size).toBe(12);
  });

  it('gives the partitions of a member that died to the others, from the committed offsets on', () => {
    const world = scene();
    const { toy, board } = world;
    const members = [join(world, kind), join(world, kind)];
    settle(world, members);
    const [one, two] = members as [Consuming, Consuming];
    for (let p = 0; p < 6; p++) fill(partitionOf(toy, 't', p), 4);
    run(toy, toy.nowMs + 1500, () => total(members) === 24);
    crash(toy, board, one);
    for (let p = 0; p < 6; p++) fill(partitionOf(toy, 't', p), 4);
    settle(world, [two], 6, 60_000);
    run(toy, toy.nowMs + 3000);
    for (let p = 0; p < 6; p++) expect(seen(members).get(`t-${p}`)?.size).toBe(8);
  });

  it('comes through a coordinator that moves while members join', () => {
    for (const atMs of [0, 5, 20, 60, 100, 200]) {
      const world = scene();
      const { toy } = world;
      const one = join(world, kind);
      settle(world, [one]);
      const two = join(world, kind);
      run(toy, toy.nowMs + atMs);
      moveCoordinator(toy, 1, 300);
      settle(world, [one, two], 6, 30_000);
      expect([one.owned.size, two.owned.size]).toEqual([3, 3]);
    }
  });

  it('gives nothing up before its owner has done with what it holds, nor commits it, nor gives it to another', () => {
    const world = scene(2);
    const { toy } = world;
    const one = join(world, kind);
    settle(world, [one], 2);
    one.workMs = 3000;
    one.ackMs = 1500;
    for (let p = 0; p < 2; p++) fill(partitionOf(toy, 't', p), 3);
    run(toy, toy.nowMs + 2000, () => one.records.length > 0);
    const startedMs = toy.nowMs;
    const two = join(world, kind);
    const isGivenUp = (): boolean => one.events.some(({ kind: what }) => what === 'revoked');
    run(toy, startedMs + 2900);
    expect(isGivenUp()).toBe(false);
    for (const one of toy.requests.filter(({ apiKey }) => apiKey === 8).map(({ body }) => body as RequestOf<8>)) {
      const offsets = one.topics.flatMap(({ partitions }) => partitions.map(({ committedOffset }) => committedOffset));
      expect(offsets.filter((offset) => offset > 0)).toEqual([]);
    }
    run(toy, toy.nowMs + 15_000, isGivenUp);
    expect(toy.nowMs).toBeGreaterThanOrEqual(startedMs + 2900);
    // The board holds a partition for its owner until it has called that done.
    settle(world, [one, two], 2, 20_000);
    run(toy, toy.nowMs + 10_000);
    expect(total([one, two])).toBe(6);
  });

  it('goes on where it was when everybody has left and somebody comes back', () => {
    const world = scene();
    const { toy } = world;
    for (let p = 0; p < 6; p++) fill(partitionOf(toy, 't', p), 2);
    const one = join(world, kind);
    run(toy, toy.nowMs + 10_000, () => one.records.length === 12);
    close(world, one);
    for (let p = 0; p < 6; p++) fill(partitionOf(toy, 't', p), 2);
    const two = join(world, kind);
    run(toy, toy.nowMs + 10_000, () => two.records.length === 12);
    run(toy, toy.nowMs + 1000);
    expect(two.records.map(({ value }) => value).sort()).toEqual([...Array(6).fill('v2'), ...Array(6).fill('v3')]);
  });

  it('throws a member out whose application stays away, and takes it in again when it comes back', () => {
    const world = scene();
    const { toy } = world;
    const members = [join(world, kind), join(world, kind)];
    settle(world, members);
    const [one, two] = members as [Consuming, Consuming];
    fill(partitionOf(toy, 't', Number([...one.owned][0]?.slice(2))), 1);
    run(toy, toy.nowMs + 2000, () => one.records.length === 1);
    one.polls = false;
    fill(partitionOf(toy, 't', Number([...one.owned][0]?.slice(2))), 1);
    one.consumer.isBusy = true;
    act(toy, one, () => {});
    // Its application holds records and does not come back for more.
    const member = one.consumer.grouped?.member;
    if (member?.protocol === 'classic') member.classic.polledMs = toy.nowMs;
    if (member?.protocol === 'consumer') member.consumer.polledMs = toy.nowMs;
    settle(world, [two], 6, 20_000);
    expect(one.owned.size).toBe(0);
    expect(one.events.some(({ kind: what }) => what === 'lost')).toBe(true);
    one.polls = true;
    one.hasPolled = false;
    settle(world, members, 6, 20_000);
  });

  it('lets a static member come back within its session without a rebalance', () => {
    const world = scene();
    const { toy, board } = world;
    const two = join(world, kind);
    const one = join(world, { ...kind, instanceId: 'i' });
    settle(world, [one, two]);
    const before = [...one.owned].sort();
    const assignments = two.events.filter(({ kind: what }) => what === 'assigned').length;
    if (kind.groupProtocol === 'consumer') close(world, one);
    else crash(toy, board, one);
    const again = join(world, { ...kind, instanceId: 'i' });
    settle(world, [again, two]);
    expect([...again.owned].sort()).toEqual(before);
    expect(two.events.filter(({ kind: what }) => what === 'assigned').length).toBe(assignments);
  });

  it('takes in topics that a pattern means as they come', () => {
    const world = scene(2);
    const { toy, board } = world;
    addTopic(toy, 'other', 1);
    topicsChanged(toy);
    const one = startConsuming(toy, board, kind);
    act(toy, one, (c, e) => expect(subscribe(c, e, { pattern: 't.*' })).toBe(true));
    settle(world, [one], 2);
    addTopic(toy, 't2', 2);
    topicsChanged(toy);
    fill(partitionOf(toy, 't2', 1), 2);
    settle(world, [one], 4, 30_000);
    run(toy, toy.nowMs + 3000, () => one.records.length === 2);
    expect(one.records.map(({ where }) => where)).toEqual(['t2-1', 't2-1']);
  });

  it('leaves at unsubscribe, and may subscribe to something else', () => {
    const world = scene(2);
    const { toy } = world;
    addTopic(toy, 'u', 3);
    topicsChanged(toy);
    const one = join(world, kind);
    settle(world, [one], 2);
    act(toy, one, (c, e) => unsubscribe(c, e));
    run(toy, toy.nowMs + 3000);
    expect(one.events.at(-1)?.kind).toBe('left');
    expect(one.owned.size).toBe(0);
    act(toy, one, (c, e) => subscribe(c, e, { topics: ['u'] }));
    settle(world, [one], 3);
    expect([...one.consumer.cluster.view.topics.keys()]).toEqual(['u']);
    act(toy, one, (c, e) => subscribe(c, e, { topics: ['t', 'u'] }));
    settle(world, [one], 5);
  });

  it('says of no partition that it was stored when it closes without an answer', () => {
    const { toy, groups, board } = scene(2);
    const one = startConsuming(toy, board, { ...kind, autoCommit: false });
    act(toy, one, (c, e) => assignPartitions(c, e, [{ topic: 't', partition: 0 }]));
    fill(partitionOf(toy, 't', 0), 3);
    run(toy, toy.nowMs + 3000, () => one.records.length === 3);
    groups.refusals.set(8, Array(200).fill(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS));
    act(toy, one, (c, e) => commitOffsets(c, e, null, true));
    act(toy, one, (c, e) => closeConsumer(c, e, 500));
    run(toy, toy.nowMs + 3000, () => one.consumer.life === 'closed');
    const told = one.events.flatMap((event) => (event.kind === 'committed' ? event.marks : []));
    expect(told.map(({ error }) => error)).toEqual([ErrorCode.NETWORK_EXCEPTION]);
  });

  it('may subscribe anew while it is still giving up what it had', () => {
    const world = scene(2);
    const { toy } = world;
    for (let p = 0; p < 2; p++) fill(partitionOf(toy, 't', p), 3);
    const one = join(world, kind);
    settle(world, [one], 2);
    run(toy, toy.nowMs + 2000, () => one.records.length === 6);
    act(toy, one, (c, e) => unsubscribe(c, e));
    // Its positions are being committed.
    run(toy, toy.nowMs + 1000, () => one.consumer.rebalance?.stage === 'committing');
    expect(one.consumer.rebalance?.stage).toBe('committing');
    act(toy, one, (c, e) => subscribe(c, e, { topics: ['t'] }));
    run(toy, toy.nowMs + 1000);
    settle(world, [one], 2);
    run(toy, toy.nowMs + 10_000);
    settle(world, [one], 2);
  });
});

describe('cooperative members', () => {
  it('store nothing more for what they have given up, however patient they were', () => {
    const world = scene(2);
    const { toy, groups } = world;
    const kind = { assignors: ['cooperative-sticky'], autoCommit: false } as const;
    const one = join(world, kind);
    settle(world, [one], 2);
    for (let p = 0; p < 2; p++) fill(partitionOf(toy, 't', p), 3);
    run(toy, toy.nowMs + 2000, () => one.records.length === 6);
    const two = join(world, kind);
    run(toy, toy.nowMs + 5000, () => one.events.at(-1)?.kind === 'revoked');
    groups.refusals.set(8, Array(5).fill(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS));
    act(toy, one, (c, e) => commitOffsets(c, e, null, true));
    act(toy, one, (c, e) => commitOffsets(c, e, null, true));
    settle(world, [one, two], 2);
    run(toy, toy.nowMs + 10_000);
    const outcomes = one.events.filter(({ kind: what }) => what === 'committed');
    expect(outcomes.map((event) => 'error' in event && event.error !== 0)).toEqual([true, true]);
    expect(toy.requests.filter(({ apiKey }) => apiKey === 8).length).toBeLessThanOrEqual(1);
  });

  it.each(KINDS.slice(3))('keep what they need not give up: %s', (_, kind) => {
    const world = scene();
    const one = join(world, kind);
    settle(world, [one]);
    const two = join(world, kind);
    settle(world, [one, two]);
    const given = one.events.filter(({ kind: what }) => what === 'revoked');
    const partitions = given.flatMap((event) => ('partitions' in event ? event.partitions : []));
    expect(partitions.flatMap((of) => ('partitions' in of ? of.partitions : [])).length).toBe(3);
  });
});
