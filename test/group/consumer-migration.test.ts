/** Between the protocols: a classic group that members of the consumer protocol join, and back. */
import { describe, expect, it } from 'vitest';
import type { GroupConfig } from '../../core/group/shapes.ts';
import { decodeAssignment, encodeAssignment, encodeSubscription } from '../../core/protocol/consumer-protocol.ts';
import { ErrorCode } from '../../core/protocol/errors.ts';
import type { ResponseOf } from '../../core/protocol/messages/index.ts';
import { beat as classicBeat, commit, join, leave, stateOf, sync } from './classic.ts';
import { beat, describeIt, joinAs, pulse, say, settleAll } from './consumers.ts';
import { advance, answered, ask, awaited, type Coordinator, createCoordinator, failOver } from './coordinator.ts';

type Policy = GroupConfig['consumer']['migrationPolicy'];

function coordinatorWith(migrationPolicy: Policy = 'bidirectional'): Coordinator {
  const { config } = createCoordinator();
  return createCoordinator({
    initialRebalanceDelayMs: 0,
    consumer: { ...config.consumer, migrationPolicy, assignmentIntervalMs: 0 },
  });
}

function subscribed(topics: string[], owned: readonly string[] = []): { name: string; metadata: Uint8Array }[] {
  const partitions = owned.map((one) => Number(one.slice(-1)));
  const ownedPartitions = partitions.length === 0 ? [] : [{ topic: 'orders', partitions }];
  return [{ name: 'range', metadata: encodeSubscription({ topics, ownedPartitions, userData: null }) }];
}

function given(bytes: Uint8Array): string[] {
  return decodeAssignment(bytes).assignedPartitions.flatMap(({ topic, partitions }) =>
    partitions.map((p) => `${topic}-${p}`),
  );
}

/** A classic member that has 'orders' alone, in a stable group; or is given less than it says that it owned. */
function classicGroup(
  coordinator: Coordinator,
  instance: string | null = null,
  { owned = [], kept = [0, 1, 2] }: { readonly owned?: readonly string[]; readonly kept?: number[] } = {},
): { id: string; generation: number } {
  const said = { protocols: subscribed(['orders'], owned), groupInstanceId: instance };
  let joining = join(coordinator, said);
  if (instance === null) {
    const first = answered(joining);
    joining = join(coordinator, { ...said, memberId: first.memberId });
  }
  const { memberId: id, generationId: generation } = awaited(coordinator, joining);
  const all = encodeAssignment({ assignedPartitions: [{ topic: 'orders', partitions: kept }], userData: null });
  const synced = ask(coordinator, 14, 5, {
    groupId: 'g',
    generationId: generation,
    memberId: id,
    groupInstanceId: instance,
    protocolType: 'consumer',
    protocolName: 'range',
    assignments: [{ memberId: id, assignment: all }],
  });
  expect(synced.errorCode).toBe(ErrorCode.NONE);
  return { id, generation };
}

/** A classic member joins again, as one that still owns these, and fetches what it is given. */
function rejoin(
  coordinator: Coordinator,
  id: string,
  owned: readonly string[],
): { generation: number; given: string[] } {
  const joined = answered(join(coordinator, { memberId: id, protocols: subscribed(['orders'], owned) }));
  expect(joined).toMatchObject({
    errorCode: 0,
    memberId: id,
    protocolType: 'consumer',
    protocolName: 'range',
    leader: '',
  });
  const synced = answered(sync(coordinator, joined.generationId, id));
  expect(synced.errorCode).toBe(ErrorCode.NONE);
  return { generation: joined.generationId, given: given(synced.assignment) };
}

describe('an upgrade', () => {
  it('keeps what classic members have until they join again, and then shares it', () => {
    const coordinator = coordinatorWith();
    const { id, generation } = classicGroup(coordinator);
    const b = joinAs(coordinator, 'b');
    expect(describeIt(coordinator)).toMatchObject({ groupState: 'Reconciling', groupEpoch: generation + 1 });
    expect(describeIt(coordinator).members).toMatchObject([
      { memberId: id, memberType: 0, memberEpoch: generation },
      { memberId: 'b', memberType: 1 },
    ]);
    expect(b.told).toEqual([]);
    expect(commit(coordinator, 0, 5, { memberId: id, generationIdOrMemberEpoch: generation })).toBe(ErrorCode.NONE);
    expect(classicBeat(coordinator, generation, id)).toBe(ErrorCode.REBALANCE_IN_PROGRESS);
    // It still says that it owns everything: there is something to give back first.
    const first = rejoin(coordinator, id, ['orders-0', 'orders-1', 'orders-2']);
    expect(first).toMatchObject({ generation });
    expect(first.given).toHaveLength(2);
    expect(classicBeat(coordinator, generation, id)).toBe(ErrorCode.REBALANCE_IN_PROGRESS);
    const second = rejoin(coordinator, id, first.given);
    expect(second).toEqual({ generation: generation + 1, given: first.given });
    expect(classicBeat(coordinator, second.generation, id)).toBe(ErrorCode.NONE);
    pulse(coordinator, b);
    expect([...second.given, ...b.owned].sort()).toEqual(['orders-0', 'orders-1', 'orders-2']);
    expect(describeIt(coordinator).groupState).toBe('Stable');
  });

  it('tells a classic member that was thrown out and says what it owned that it is nobody there', () => {
    const coordinator = coordinatorWith();
    const { id } = classicGroup(coordinator);
    const b = joinAs(coordinator, 'b');
    for (let i = 0; i < 10; i++) {
      advance(coordinator, 10_000);
      pulse(coordinator, b);
    }
    expect(b.owned).toHaveLength(3);
    const again = (owned: readonly string[]): number => {
      return answered(join(coordinator, { memberId: id, protocols: subscribed(['orders'], owned) })).errorCode;
    };
    expect(again(['orders-1'])).toBe(ErrorCode.UNKNOWN_MEMBER_ID);
    // Who owns nothing may have been given that id just now.
    expect(again([])).toBe(ErrorCode.NONE);
  });

  it('gives nobody what a classic member is on its way to give up', () => {
    const coordinator = coordinatorWith();
    const { id, generation } = classicGroup(coordinator, null, {
      owned: ['orders-0', 'orders-1', 'orders-2'],
      kept: [0],
    });
    const b = joinAs(coordinator, 'b');
    settleAll(coordinator, [b]);
    expect(b.owned).toEqual([]);
    expect(classicBeat(coordinator, generation, id)).toBe(ErrorCode.REBALANCE_IN_PROGRESS);
    rejoin(coordinator, id, ['orders-0']);
    settleAll(coordinator, [b]);
    expect(b.owned).toHaveLength(1);
  });

  it('waits no longer for a classic member that is silent than its own session says', () => {
    const coordinator = coordinatorWith();
    classicGroup(coordinator);
    joinAs(coordinator, 'b');
    advance(coordinator, 10_001);
    expect(describeIt(coordinator).members.map(({ memberId }) => memberId)).toEqual(['b']);
  });

  it('survives a coordinator that fails over in the middle', () => {
    const coordinator = coordinatorWith();
    const { id, generation } = classicGroup(coordinator);
    const b = joinAs(coordinator, 'b');
    failOver(coordinator);
    expect(classicBeat(coordinator, generation, id)).toBe(ErrorCode.REBALANCE_IN_PROGRESS);
    const { given: kept } = rejoin(coordinator, id, []);
    pulse(coordinator, b);
    expect([...kept, ...b.owned].sort()).toEqual(['orders-0', 'orders-1', 'orders-2']);
  });

  it('tells those who wait in the classic group to join again', () => {
    const coordinator = coordinatorWith();
    const { id } = classicGroup(coordinator);
    const late = answered(join(coordinator, { protocols: subscribed(['orders']) })).memberId;
    const waiting = join(coordinator, { memberId: late, protocols: subscribed(['orders']) });
    expect(waiting.response).toBeNull();
    const refused = say(coordinator, { memberId: 'b', serverAssignor: 'none' });
    expect(refused.errorCode).not.toBe(ErrorCode.NONE);
    expect(waiting.response).toBeNull();
    joinAs(coordinator, 'b');
    expect(answered(waiting).errorCode).toBe(ErrorCode.REBALANCE_IN_PROGRESS);
    expect(describeIt(coordinator).members.map(({ memberId }) => memberId)).toEqual([id, late, 'b']);
  });

  it('is refused where the policy forbids it or the group is of something else, which goes on as it was', () => {
    for (const policy of ['disabled', 'downgrade'] as const) {
      const coordinator = coordinatorWith(policy);
      const { id, generation } = classicGroup(coordinator);
      const said = { memberId: 'b', rebalanceTimeoutMs: 1, subscribedTopicNames: ['orders'], topicPartitions: [] };
      expect(say(coordinator, said).errorCode).toBe(ErrorCode.GROUP_ID_NOT_FOUND);
      expect(classicBeat(coordinator, generation, id)).toBe(ErrorCode.NONE);
    }
    const coordinator = coordinatorWith();
    join(coordinator, { protocolType: 'connect' });
    const first = answered(join(coordinator, { protocolType: 'connect' })).memberId;
    join(coordinator, { protocolType: 'connect', memberId: first });
    const said = { memberId: 'b', rebalanceTimeoutMs: 1, subscribedTopicNames: ['orders'], topicPartitions: [] };
    expect(say(coordinator, said).errorCode).toBe(ErrorCode.GROUP_ID_NOT_FOUND);
  });

  it('of an empty group needs no permission', () => {
    const coordinator = coordinatorWith('disabled');
    const { id } = classicGroup(coordinator);
    leave(coordinator, { memberId: id });
    commit(coordinator, 1, 5);
    expect(joinAs(coordinator, 'b').told).toHaveLength(3);
    expect(coordinator.state.offsets.get('g')?.get('orders')?.get(1)?.offset).toBe(5);
  });
});

describe('a classic member in a consumer group', () => {
  it('joins, is given an id first, and takes its share in steps', () => {
    const coordinator = coordinatorWith();
    const a = joinAs(coordinator, 'a');
    const first = answered(join(coordinator, { protocols: subscribed(['orders']) }));
    expect(first.errorCode).toBe(ErrorCode.MEMBER_ID_REQUIRED);
    expect(rejoin(coordinator, first.memberId, [])).toEqual({ generation: 3, given: [] });
    expect(classicBeat(coordinator, 3, first.memberId)).toBe(ErrorCode.NONE);
    settleAll(coordinator, [a]);
    expect(classicBeat(coordinator, 3, first.memberId)).toBe(ErrorCode.REBALANCE_IN_PROGRESS);
    expect(rejoin(coordinator, first.memberId, []).given).toHaveLength(1);
    expect(describeIt(coordinator).groupState).toBe('Stable');
  });

  it('is refused with protocols that others cannot do, without any, and where the policy is to keep apart', () => {
    const coordinator = coordinatorWith();
    joinAs(coordinator, 'a');
    const one = answered(join(coordinator, { protocols: subscribed(['orders']) })).memberId;
    rejoin(coordinator, one, []);
    const other = [{ name: 'sticky', metadata: subscribed(['orders'])[0]?.metadata ?? new Uint8Array(0) }];
    expect(answered(join(coordinator, { protocols: other })).errorCode).toBe(ErrorCode.INCONSISTENT_GROUP_PROTOCOL);
    expect(answered(join(coordinator, { protocols: [] })).errorCode).toBe(ErrorCode.INCONSISTENT_GROUP_PROTOCOL);
    expect(answered(join(coordinator, { protocolType: 'connect' })).errorCode).toBe(
      ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
    );
    const apart = coordinatorWith('disabled');
    joinAs(apart, 'a');
    expect(answered(join(apart, { protocols: subscribed(['orders']) })).errorCode).toBe(
      ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
    );
  });

  it('is refused with an id that no record holds', () => {
    const coordinator = coordinatorWith();
    joinAs(coordinator, 'b');
    const joining = { protocols: subscribed(['orders']), memberId: 'm'.repeat(32_768) };
    expect(answered(join(coordinator, joining)).errorCode).toBe(ErrorCode.INVALID_REQUEST);
  });

  it('is fenced by generation, and unknown is whoever is not one', () => {
    const coordinator = coordinatorWith();
    joinAs(coordinator, 'a');
    const one = answered(join(coordinator, { protocols: subscribed(['orders']) })).memberId;
    const { generation } = rejoin(coordinator, one, []);
    expect(classicBeat(coordinator, generation - 1, one)).toBe(ErrorCode.ILLEGAL_GENERATION);
    expect(answered(sync(coordinator, generation + 1, one)).errorCode).toBe(ErrorCode.ILLEGAL_GENERATION);
    expect(classicBeat(coordinator, 1, 'a')).toBe(ErrorCode.UNKNOWN_MEMBER_ID);
    expect(classicBeat(coordinator, 1, 'x')).toBe(ErrorCode.UNKNOWN_MEMBER_ID);
    expect(leave(coordinator, { memberId: 'x' }, { memberId: one })).toEqual([ErrorCode.UNKNOWN_MEMBER_ID, 0]);
    expect(describeIt(coordinator).members.map(({ memberId }) => memberId)).toEqual(['a']);
  });

  it('leaves by a request of an old version, which names one member', () => {
    const coordinator = coordinatorWith();
    joinAs(coordinator, 'a');
    const one = answered(join(coordinator, { protocols: subscribed(['orders']) })).memberId;
    rejoin(coordinator, one, []);
    const leaveOld = (memberId: string) => ask(coordinator, 13, 2, { groupId: 'g', memberId, members: [] }).errorCode;
    expect([leaveOld('x'), leaveOld(one)]).toEqual([ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.NONE]);
    expect(describeIt(coordinator).members.map(({ memberId }) => memberId)).toEqual(['a']);
  });

  it('may be sent away by an operator, as may any other', () => {
    const coordinator = coordinatorWith();
    joinAs(coordinator, 'a');
    joinAs(coordinator, 'b', { instanceId: 'i' });
    joinAs(coordinator, 'c');
    expect(leave(coordinator, { memberId: 'a' }, { memberId: '', groupInstanceId: 'i' })).toEqual([0, 0]);
    expect(describeIt(coordinator).members.map(({ memberId }) => memberId)).toEqual(['c']);
  });

  it('stays if all who are to go are more than a batch of the log takes', () => {
    const coordinator = createCoordinator({ recordSizeMax: 2_000 });
    const ids = Array.from({ length: 12 }, (_, i) => `${i}`.padStart(40, 'm'));
    for (const id of ids) joinAs(coordinator, id, { topics: [] });
    const all = ids.map((memberId) => ({ memberId }));
    expect(new Set(leave(coordinator, ...all))).toEqual(new Set([ErrorCode.UNKNOWN_SERVER_ERROR]));
    expect(describeIt(coordinator).members).toHaveLength(12);
    expect(leave(coordinator, ...all.slice(6))).toEqual([0, 0, 0, 0, 0, 0]);
  });

  it('goes if it does not fetch, or does not join again, in its time', () => {
    const coordinator = coordinatorWith();
    const a = joinAs(coordinator, 'a');
    const ids = () => describeIt(coordinator).members.map(({ memberId }) => memberId);
    const lazy = answered(join(coordinator, { protocols: subscribed(['orders']) })).memberId;
    const late = {
      memberId: lazy,
      protocols: subscribed(['orders']),
      rebalanceTimeoutMs: 8_000,
      sessionTimeoutMs: 60_000,
    };
    answered(join(coordinator, late));
    advance(coordinator, 8_001);
    expect(ids()).toEqual(['a']);
    const slow = answered(join(coordinator, late));
    answered(sync(coordinator, slow.generationId, lazy));
    settleAll(coordinator, [a]);
    expect(classicBeat(coordinator, slow.generationId, lazy)).toBe(ErrorCode.REBALANCE_IN_PROGRESS);
    advance(coordinator, 5_000);
    expect(classicBeat(coordinator, slow.generationId, lazy)).toBe(ErrorCode.REBALANCE_IN_PROGRESS);
    advance(coordinator, 3_001);
    expect(ids()).toEqual(['a']);
  });
});

describe('a downgrade', () => {
  function mixed(coordinator: Coordinator): { id: string; generation: number; b: ReturnType<typeof joinAs> } {
    const { id } = classicGroup(coordinator);
    const b = joinAs(coordinator, 'b');
    const first = rejoin(coordinator, id, []);
    settleAll(coordinator, [b]);
    return { id, generation: first.generation, b };
  }

  it('follows when the last member of the consumer protocol leaves: the others rebalance among themselves', () => {
    const coordinator = coordinatorWith();
    const { id, b } = mixed(coordinator);
    commit(coordinator, 0, 9, { memberId: 'b', generationIdOrMemberEpoch: b.epoch });
    expect(beat(coordinator, b, { memberEpoch: -1 }).errorCode).toBe(ErrorCode.NONE);
    expect(stateOf(coordinator)).toBe('PreparingRebalance');
    expect(describeIt(coordinator).errorCode).toBe(ErrorCode.GROUP_ID_NOT_FOUND);
    const joined = awaited(coordinator, join(coordinator, { memberId: id, protocols: subscribed(['orders']) }));
    expect(joined).toMatchObject({ errorCode: 0, leader: id });
    expect(coordinator.state.offsets.get('g')?.get('orders')?.get(0)?.offset).toBe(9);
  });

  it('takes a member that named a protocol twice for one that named it once', () => {
    const coordinator = coordinatorWith();
    const b = joinAs(coordinator, 'b');
    const [range] = subscribed(['orders']);
    const protocols = range === undefined ? [] : [range, range];
    const { memberId } = answered(join(coordinator, { protocols }));
    expect(answered(join(coordinator, { protocols, memberId })).errorCode).toBe(ErrorCode.NONE);
    expect(beat(coordinator, b, { memberEpoch: -1 }).errorCode).toBe(ErrorCode.NONE);
    expect(stateOf(coordinator)).toBe('PreparingRebalance');
  });

  it('follows when its session ends, and survives a coordinator that fails over', () => {
    const coordinator = coordinatorWith();
    const { id, generation } = mixed(coordinator);
    for (let i = 0; i < 10; i++) {
      classicBeat(coordinator, generation, id);
      advance(coordinator, 4_600);
    }
    failOver(coordinator);
    // The generation is the epoch of the group, in which the member had its part: what the other had is to be shared.
    expect(stateOf(coordinator)).toBe('PreparingRebalance');
    expect(classicBeat(coordinator, generation, id)).toBe(ErrorCode.REBALANCE_IN_PROGRESS);
    const joined = awaited(coordinator, join(coordinator, { memberId: id, protocols: subscribed(['orders']) }));
    expect(joined.leader).toBe(id);
  });

  it('is not done where the policy forbids it: the coordinator deals out to classic members', () => {
    const coordinator = coordinatorWith('upgrade');
    const { id, generation, b } = mixed(coordinator);
    beat(coordinator, b, { memberEpoch: -1 });
    expect(describeIt(coordinator).members.map(({ memberId }) => memberId)).toEqual([id]);
    expect(rejoin(coordinator, id, ['orders-0']).given).toHaveLength(3);
    expect(generation).toBeGreaterThan(0);
  });

  it('is not done where a batch of the log would not take it: the coordinator deals out to classic members', () => {
    const coordinator = coordinatorWith();
    const b = joinAs(coordinator, 'b');
    const userData = new Uint8Array(300_000);
    const metadata = encodeSubscription({ topics: ['orders'], ownedPartitions: [], userData });
    const ids = Array.from({ length: 4 }, () => {
      const said = { protocols: [{ name: 'range', metadata }], sessionTimeoutMs: 60_000 };
      const { memberId } = answered(join(coordinator, said));
      expect(answered(join(coordinator, { ...said, memberId })).errorCode).toBe(ErrorCode.NONE);
      return memberId;
    });
    expect(beat(coordinator, b, { memberEpoch: -1 }).errorCode).toBe(ErrorCode.NONE);
    expect(describeIt(coordinator).members.map(({ memberId }) => memberId)).toEqual(ids);
  });

  it('is not done for nobody: an empty group stays what it was', () => {
    const coordinator = coordinatorWith();
    const a = joinAs(coordinator, 'a');
    beat(coordinator, a, { memberEpoch: -1 });
    expect(describeIt(coordinator)).toMatchObject({ errorCode: 0, groupState: 'Empty' });
  });

  it('follows when a classic member takes the place of the last static one', () => {
    const coordinator = coordinatorWith();
    joinAs(coordinator, 'a', { instanceId: 'i' });
    const again = { groupInstanceId: 'i', protocols: subscribed(['orders']) };
    expect(answered(join(coordinator, again)).errorCode).toBe(ErrorCode.REBALANCE_IN_PROGRESS);
    const joined: ResponseOf<11> = awaited(coordinator, join(coordinator, again));
    expect(joined).toMatchObject({ errorCode: 0, leader: joined.memberId });
  });
});
