/** Offsets of consumer groups: who may commit and fetch them, by epoch. */
import { describe, expect, it } from 'vitest';
import { ErrorCode } from '../../core/protocol/errors.ts';
import { commit } from './classic.ts';
import { beat, describeIt, joinAs, pulse, settleAll } from './consumers.ts';
import { advance, ask, type Coordinator, createCoordinator, failOver } from './coordinator.ts';

function fetch(coordinator: Coordinator, memberId: string | null, memberEpoch: number): number {
  const topics = [{ name: 'orders', topicId: 'AAAAAAAAAAAAAAAAAAAAAA', partitionIndexes: [0] }];
  const groups = [{ groupId: 'g', memberId, memberEpoch, topics }];
  return ask(coordinator, 9, 9, { groupId: '', topics: [], groups, requireStable: false }).groups[0]?.errorCode ?? -1;
}

describe('a commit', () => {
  it('counts from a member in its epoch', () => {
    const coordinator = createCoordinator();
    joinAs(coordinator, 'a');
    expect(commit(coordinator, 0, 10, { memberId: 'a', generationIdOrMemberEpoch: 2 })).toBe(ErrorCode.NONE);
  });

  it('is refused from who is no member, from nobody while there are members, and in an epoch to come', () => {
    const coordinator = createCoordinator();
    joinAs(coordinator, 'a');
    const as = (memberId: string, epoch: number) =>
      commit(coordinator, 0, 1, { memberId, generationIdOrMemberEpoch: epoch });
    expect(as('b', 2)).toBe(ErrorCode.UNKNOWN_MEMBER_ID);
    expect(as('', -1)).toBe(ErrorCode.UNKNOWN_MEMBER_ID);
    expect(as('a', 3)).toBe(ErrorCode.STALE_MEMBER_EPOCH);
    const old = { memberId: 'a', generationIdOrMemberEpoch: 2, version: 8 };
    expect(commit(coordinator, 0, 1, old)).toBe(ErrorCode.UNSUPPORTED_VERSION);
  });

  it('counts from anybody where the group is empty', () => {
    const coordinator = createCoordinator();
    const a = joinAs(coordinator, 'a');
    beat(coordinator, a, { memberEpoch: -1 });
    expect(commit(coordinator, 0, 10, { generationIdOrMemberEpoch: -1 })).toBe(ErrorCode.NONE);
  });

  it('in an older epoch counts for what the member has had since then, and for nothing else', () => {
    const coordinator = createCoordinator();
    const a = joinAs(coordinator, 'a');
    const b = joinAs(coordinator, 'b');
    settleAll(coordinator, [a, b]);
    const given = Number(b.owned[0]?.slice(-1));
    const kept = Number(a.owned[0]?.slice(-1));
    expect(a.epoch).toBe(3);
    const as = (partition: number, epoch: number) =>
      commit(coordinator, partition, 5, { memberId: 'a', generationIdOrMemberEpoch: epoch });
    expect(as(kept, 2)).toBe(ErrorCode.NONE);
    expect(as(given, 2)).toBe(ErrorCode.STALE_MEMBER_EPOCH);
    // It comes back to the first member in epoch 4: a commit from before that is somebody else's past.
    beat(coordinator, b, { memberEpoch: -1 });
    coordinator.wallMs += 1_000;
    pulse(coordinator, a);
    expect(a).toMatchObject({ epoch: 4, owned: ['orders-0', 'orders-1', 'orders-2'] });
    expect(as(given, 3)).toBe(ErrorCode.STALE_MEMBER_EPOCH);
    expect(as(kept, 3)).toBe(ErrorCode.NONE);
    failOver(coordinator);
    expect(as(given, 3)).toBe(ErrorCode.STALE_MEMBER_EPOCH);
    expect(as(kept, 2)).toBe(ErrorCode.NONE);
  });

  it('of what the member has yet to give back counts', () => {
    const coordinator = createCoordinator();
    const a = joinAs(coordinator, 'a');
    coordinator.wallMs += 1_000;
    joinAs(coordinator, 'b');
    const before = a.owned;
    pulse(coordinator, a);
    const revoking = before.find((one) => !a.told.includes(one)) ?? '';
    const partition = Number(revoking.slice(-1));
    expect(commit(coordinator, partition, 7, { memberId: 'a', generationIdOrMemberEpoch: 2 })).toBe(ErrorCode.NONE);
  });
});

describe('a fetch of offsets', () => {
  it('is answered to members in their epoch and to those who name none', () => {
    const coordinator = createCoordinator();
    joinAs(coordinator, 'a');
    expect(fetch(coordinator, 'a', 2)).toBe(ErrorCode.NONE);
    expect(fetch(coordinator, null, -1)).toBe(ErrorCode.NONE);
    expect(fetch(coordinator, 'a', 0)).toBe(ErrorCode.STALE_MEMBER_EPOCH);
    expect(fetch(coordinator, 'b', 2)).toBe(ErrorCode.UNKNOWN_MEMBER_ID);
  });
});

describe('a group with offsets', () => {
  it('keeps them while it is empty, and for the member that comes next', () => {
    const coordinator = createCoordinator();
    const a = joinAs(coordinator, 'a');
    commit(coordinator, 0, 10, { memberId: 'a', generationIdOrMemberEpoch: 2 });
    beat(coordinator, a, { memberEpoch: -1 });
    advance(coordinator, 24 * 3_600_000);
    failOver(coordinator);
    expect(coordinator.state.offsets.get('g')?.get('orders')?.get(0)?.offset).toBe(10);
    expect(describeIt(coordinator).groupState).toBe('Empty');
  });

  it('goes with them when they are old', () => {
    const coordinator = createCoordinator();
    const a = joinAs(coordinator, 'a');
    commit(coordinator, 0, 10, { memberId: 'a', generationIdOrMemberEpoch: 2 });
    beat(coordinator, a, { memberEpoch: -1 });
    advance(coordinator, 8 * 24 * 3_600_000);
    expect(coordinator.state.groups.size).toBe(0);
    expect(describeIt(coordinator).errorCode).toBe(ErrorCode.GROUP_ID_NOT_FOUND);
  });

  it('is made of offsets that an operator stored before its first member came', () => {
    const coordinator = createCoordinator();
    expect(commit(coordinator, 0, 10)).toBe(ErrorCode.NONE);
    expect(joinAs(coordinator, 'a').told).toHaveLength(3);
    expect(coordinator.state.offsets.get('g')?.get('orders')?.get(0)?.offset).toBe(10);
  });
});
