/** What tools see of groups, and how groups and offsets go: on request, and with time. */
import { describe, expect, it } from 'vitest';
import { ErrorCode } from '../../core/protocol/errors.ts';
import { beat, bytesOf, commit, committed, enter, join, settle, stateOf, subscriptionOf, textOf } from './classic.ts';
import { advance, answered, ask, awaited, type Coordinator, createCoordinator, failOver } from './coordinator.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

function describeGroup(coordinator: Coordinator, version = 6, groupId = 'g') {
  const response = ask(coordinator, 15, version, { groups: [groupId], includeAuthorizedOperations: false });
  return response.groups[0] ?? expect.fail();
}

function list(coordinator: Coordinator, statesFilter: string[] = [], typesFilter: string[] = []): string[] {
  return ask(coordinator, 16, 5, { statesFilter, typesFilter }).groups.map(
    ({ groupId, groupState }) => `${groupId} ${groupState}`,
  );
}

function remove(coordinator: Coordinator, groupId = 'g'): number {
  return ask(coordinator, 42, 2, { groupsNames: [groupId] }).results[0]?.errorCode ?? -1;
}

describe('DescribeGroups', () => {
  it('shows a stable group whole', () => {
    const coordinator = createCoordinator();
    const { ids } = settle(coordinator, 2, { clientId: 'tally' });
    const group = describeGroup(coordinator);
    expect(group).toMatchObject({ groupState: 'Stable', protocolType: 'consumer', protocolData: 'range' });
    expect(group.members).toMatchObject([
      { memberId: ids[0], groupInstanceId: null, clientId: 'tally', clientHost: '/127.0.0.1' },
      { memberId: ids[1] },
    ]);
    expect(group.members.map(({ memberAssignment }) => textOf(memberAssignment))).toEqual(['a0', 'a1']);
    expect(group.members[0]?.memberMetadata).toEqual(subscriptionOf(['orders']));
  });

  it('shows of one that is not stable who is in it, and not what they said', () => {
    const coordinator = createCoordinator();
    settle(coordinator, 1);
    enter(coordinator);
    const group = describeGroup(coordinator);
    expect(group).toMatchObject({ groupState: 'PreparingRebalance', protocolType: 'consumer', protocolData: '' });
    expect(group.members.map(({ memberMetadata }) => memberMetadata.length)).toEqual([0, 0]);
  });

  it('calls one that is not there dead, and from version 6 on an error', () => {
    const coordinator = createCoordinator();
    expect(describeGroup(coordinator, 5)).toMatchObject({ errorCode: 0, groupState: 'Dead', members: [] });
    expect(describeGroup(coordinator, 6)).toMatchObject({
      errorCode: ErrorCode.GROUP_ID_NOT_FOUND,
      errorMessage: 'Group g not found.',
      groupState: 'Dead',
    });
  });
});

describe('ListGroups', () => {
  it('filters by state and by type, whatever the case', () => {
    const coordinator = createCoordinator();
    settle(coordinator, 1);
    commit(coordinator, 0, 1, { groupId: 'kept' });
    enter(coordinator, { groupId: 'new' });
    expect(list(coordinator)).toEqual(['g Stable', 'kept Empty', 'new PreparingRebalance']);
    expect(list(coordinator, ['stable', ' EMPTY '])).toEqual(['g Stable', 'kept Empty']);
    expect(list(coordinator, ['PreparingRebalance'], ['CLASSIC'])).toEqual(['new PreparingRebalance']);
    expect(list(coordinator, [], ['consumer'])).toEqual([]);
    expect(list(coordinator, [], ['nonsense'])).toEqual([]);
    expect(list(coordinator, ['nonsense'])).toEqual([]);
  });
});

describe('DeleteGroups', () => {
  it('refuses a group with members, and one that is not there', () => {
    const coordinator = createCoordinator();
    expect(remove(coordinator)).toBe(ErrorCode.GROUP_ID_NOT_FOUND);
    settle(coordinator, 1);
    expect(remove(coordinator)).toBe(ErrorCode.NON_EMPTY_GROUP);
    enter(coordinator);
    expect(remove(coordinator)).toBe(ErrorCode.NON_EMPTY_GROUP);
  });

  it('takes a group and its offsets away for good, and only those', () => {
    const coordinator = createCoordinator();
    settle(coordinator, 1);
    advance(coordinator, 10_000);
    for (const partition of [0, 1]) commit(coordinator, partition, 5);
    commit(coordinator, 0, 6, { groupId: 'other' });
    expect(remove(coordinator)).toBe(ErrorCode.NONE);
    expect(list(coordinator)).toEqual(['other Empty']);
    failOver(coordinator);
    expect(list(coordinator)).toEqual(['other Empty']);
    expect(committed(coordinator, 0)).toBe(-1);
    expect(settle(coordinator, 1).generation).toBe(1);
  });
});

describe('offsets grow old', () => {
  it('in a group that only keeps offsets, each since its commit', () => {
    const coordinator = createCoordinator();
    commit(coordinator, 0, 1);
    advance(coordinator, DAY_MS);
    commit(coordinator, 1, 2);
    advance(coordinator, 6 * DAY_MS - 1);
    expect([0, 1].map((partition) => committed(coordinator, partition))).toEqual([1, 2]);
    advance(coordinator, 10 * 60_000);
    expect([0, 1].map((partition) => committed(coordinator, partition))).toEqual([-1, 2]);
    advance(coordinator, DAY_MS);
    expect(list(coordinator)).toEqual([]);
    failOver(coordinator);
    expect(list(coordinator)).toEqual([]);
  });

  it('in a group that has become empty since then, all at once', () => {
    const coordinator = createCoordinator({ sessionTimeoutMaxMs: 100 * DAY_MS });
    const said = { sessionTimeoutMs: 6 * DAY_MS };
    const { ids, generation } = settle(coordinator, 1, said);
    commit(coordinator, 0, 1, { memberId: ids[0] ?? '', generationIdOrMemberEpoch: generation });
    advance(coordinator, 6 * DAY_MS);
    expect(stateOf(coordinator)).toBe('Empty');
    failOver(coordinator);
    advance(coordinator, 7 * DAY_MS - HOUR_MS);
    expect(committed(coordinator, 0)).toBe(1);
    advance(coordinator, 2 * HOUR_MS);
    expect(committed(coordinator, 0)).toBe(-1);
    expect(list(coordinator)).toEqual([]);
  });

  it('not while members read their topic, nor while the group rebalances', () => {
    const coordinator = createCoordinator({ sessionTimeoutMaxMs: 100 * DAY_MS });
    const said = { sessionTimeoutMs: 24 * DAY_MS, rebalanceTimeoutMs: 24 * DAY_MS };
    const { ids, generation } = settle(coordinator, 1, said);
    const topics = ['orders', 'payments'].map((name) => ({
      name,
      topicId: 'AAAAAAAAAAAAAAAAAAAAAA',
      partitions: [{ partitionIndex: 0, committedOffset: 3, committedMetadata: null }],
    }));
    const memberId = ids[0] ?? '';
    ask(coordinator, 8, 9, { groupId: 'g', memberId, generationIdOrMemberEpoch: generation, topics });
    const kept = () => [...(coordinator.state.offsets.get('g')?.keys() ?? [])];
    const { joining } = enter(coordinator, said);
    advance(coordinator, 8 * DAY_MS);
    expect(kept()).toEqual(['orders', 'payments']);
    // The new member was given up after five minutes; the old one joins again, and settles.
    expect(answered(joining).errorCode).toBe(ErrorCode.UNKNOWN_MEMBER_ID);
    const again = awaited(coordinator, join(coordinator, { memberId, ...said }));
    ask(coordinator, 14, 5, {
      groupId: 'g',
      generationId: again.generationId,
      memberId,
      protocolType: 'consumer',
      protocolName: 'range',
      assignments: [],
    });
    advance(coordinator, HOUR_MS);
    expect(beat(coordinator, again.generationId, memberId)).toBe(ErrorCode.NONE);
    expect(kept()).toEqual(['orders']);
  });

  it('in groups of other kinds only once they are empty', () => {
    const coordinator = createCoordinator({ sessionTimeoutMaxMs: 100 * DAY_MS });
    const protocols = [{ name: 'compatible', metadata: bytesOf('worker') }];
    const said = { protocolType: 'connect', protocols, sessionTimeoutMs: 24 * DAY_MS };
    const { id, joining } = enter(coordinator, said);
    awaited(coordinator, joining);
    ask(coordinator, 14, 4, { groupId: 'g', generationId: 1, memberId: id, assignments: [] });
    expect(commit(coordinator, 0, 1, { memberId: id, generationIdOrMemberEpoch: 1 })).toBe(ErrorCode.NONE);
    advance(coordinator, 20 * DAY_MS);
    expect(committed(coordinator, 0)).toBe(1);
  });

  it('when the client said, if it did', () => {
    const coordinator = createCoordinator();
    commit(coordinator, 0, 1, { version: 4, retentionTimeMs: HOUR_MS });
    commit(coordinator, 1, 2, { version: 4, retentionTimeMs: 30 * DAY_MS });
    commit(coordinator, 2, 3, { version: 4, retentionTimeMs: -1 });
    failOver(coordinator);
    advance(coordinator, HOUR_MS - 1);
    expect(committed(coordinator, 0)).toBe(1);
    advance(coordinator, 10 * 60_000);
    expect([0, 1, 2].map((partition) => committed(coordinator, partition))).toEqual([-1, 2, 3]);
    advance(coordinator, 8 * DAY_MS);
    expect([1, 2].map((partition) => committed(coordinator, partition))).toEqual([2, -1]);
  });

  it('a bounded number at a time', () => {
    const coordinator = createCoordinator();
    coordinator.checksReplay = false;
    for (let i = 0; i < 3000; i++) commit(coordinator, 0, i, { groupId: `g${i}` });
    const records = coordinator.log.length;
    coordinator.wallMs += 8 * DAY_MS;
    const dueMs = coordinator.state.expiryDeadlineMs;
    advance(coordinator, dueMs - coordinator.nowMs - 1);
    expect(coordinator.log.length).toBe(records);
    advance(coordinator, 1);
    expect(coordinator.log.length).toBe(records + 6000);
    expect(coordinator.state.groups.size).toBe(0);
  });
});

describe('a group that nobody uses', () => {
  it('goes with the next round, if nobody was given an id to come with', () => {
    const coordinator = createCoordinator();
    const said = { sessionTimeoutMs: 1_200_000 };
    const { memberId } = answered(join(coordinator, said));
    advance(coordinator, 600_000);
    expect(list(coordinator)).toEqual(['g Empty']);
    expect(join(coordinator, { memberId, ...said }).response).toBeNull();
    advance(coordinator, 4000);
    expect(stateOf(coordinator)).toBe('CompletingRebalance');
  });
});
