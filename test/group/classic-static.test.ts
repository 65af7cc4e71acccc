/** Static members: known by their instance, they come back under another id without disturbing the others. */
import { describe, expect, it } from 'vitest';
import { encodeAssignment, encodeSubscription } from '../../core/protocol/consumer-protocol.ts';
import { ErrorCode } from '../../core/protocol/errors.ts';
import {
  beat,
  bytesOf,
  commit,
  enter,
  type Joining,
  join,
  leave,
  share,
  stateOf,
  subscriptionOf,
  sync,
  textOf,
} from './classic.ts';
import { advance, answered, awaited, type Coordinator, createCoordinator, failOver } from './coordinator.ts';

/** A stable group of two static members 'i0' and 'i1', of which the first leads. */
function settleStatic(coordinator: Coordinator): { ids: string[]; generation: number } {
  const joining = ['i0', 'i1'].map((groupInstanceId) => join(coordinator, { groupInstanceId }));
  for (const one of joining) awaited(coordinator, one);
  return share(coordinator, joining);
}

describe('a static member', () => {
  it('is given an id made of its instance, and need not come twice', () => {
    const coordinator = createCoordinator();
    const joining = join(coordinator, { groupInstanceId: 'i0', clientId: 'tally' });
    expect(awaited(coordinator, joining)).toMatchObject({ errorCode: 0, generationId: 1 });
    expect(answered(joining).memberId).toMatch(/^i0-/);
    expect(answered(joining).members).toMatchObject([{ groupInstanceId: 'i0' }]);
  });

  it('that comes back to a stable group gets its assignment without a rebalance', () => {
    const coordinator = createCoordinator();
    const { ids, generation } = settleStatic(coordinator);
    const back = answered(join(coordinator, { groupInstanceId: 'i1' }));
    expect(back).toMatchObject({ errorCode: 0, generationId: generation, leader: ids[0], skipAssignment: false });
    expect(back.memberId).not.toBe(ids[1]);
    expect(textOf(answered(sync(coordinator, generation, back.memberId)).assignment)).toBe('a1');
    expect(beat(coordinator, generation, ids[0] ?? '')).toBe(ErrorCode.NONE);
    failOver(coordinator);
    expect(beat(coordinator, generation, back.memberId, 'i1')).toBe(ErrorCode.NONE);
    expect(beat(coordinator, generation, ids[1] ?? '', 'i1')).toBe(ErrorCode.FENCED_INSTANCE_ID);
  });

  it('that comes back and reads other topics has the others join again', () => {
    const coordinator = createCoordinator();
    const reading = (topics: readonly string[]) => [{ name: 'range', metadata: subscriptionOf(topics) }];
    const joining = ['i0', 'i1'].map((groupInstanceId) => {
      return join(coordinator, { groupInstanceId, protocols: reading(['t']) });
    });
    for (const one of joining) awaited(coordinator, one);
    const { generation } = share(coordinator, joining);
    const back = answered(join(coordinator, { groupInstanceId: 'i1', protocols: reading(['t']) }));
    expect(back).toMatchObject({ errorCode: 0, generationId: generation });
    expect(join(coordinator, { groupInstanceId: 'i1', protocols: reading(['t', 'u']) }).response).toBeNull();
    expect(stateOf(coordinator)).toBe('PreparingRebalance');
  });

  it('that comes back with more than a record holds waits for a rebalance', () => {
    const coordinator = createCoordinator({ recordSizeMax: 5_000 });
    settleStatic(coordinator);
    const protocols = [{ name: 'range', metadata: new Uint8Array(6_000) }];
    expect(join(coordinator, { groupInstanceId: 'i1', protocols }).response).toBeNull();
    expect(stateOf(coordinator)).toBe('PreparingRebalance');
  });

  it('that led and comes back is told to leave the assignment as it is', () => {
    const coordinator = createCoordinator();
    const { generation } = settleStatic(coordinator);
    const back = answered(join(coordinator, { groupInstanceId: 'i0' }));
    expect(back).toMatchObject({ generationId: generation, leader: back.memberId, skipAssignment: true });
    expect(back.members).toHaveLength(2);
    expect(textOf(answered(sync(coordinator, generation, back.memberId)).assignment)).toBe('a0');
  });

  it.each([
    ['a partition that nobody was given', [0, 1], true],
    ['all that there is in the assignment', [0, 1, 2], false],
    ['a partition that was given out twice', [0, 1, 2, 2], false],
    ['a partition in the assignment that is no more', [0, 1, 2, 3], true],
  ])('that led and comes back has the others join again where there is %s', (_, partitions, isAnew) => {
    const coordinator = createCoordinator();
    const protocols = [{ name: 'range', metadata: subscriptionOf(['orders']) }];
    const joining = ['i0', 'i1'].map((groupInstanceId) => join(coordinator, { groupInstanceId, protocols }));
    for (const one of joining) awaited(coordinator, one);
    const ids = joining.map((one) => answered(one).memberId);
    const leaderId = answered(joining[0] as (typeof joining)[0]).leader;
    const assignments = ids.map((memberId, i) => {
      const assignedPartitions = [{ topic: 'orders', partitions: i === 0 ? partitions : [] }];
      return { memberId, assignment: encodeAssignment({ assignedPartitions }) };
    });
    sync(coordinator, 1, leaderId, [], { assignments });
    const back = join(coordinator, { groupInstanceId: `i${ids.indexOf(leaderId)}`, protocols });
    expect(back.response === null).toBe(isAnew);
    expect(stateOf(coordinator)).toBe(isAnew ? 'PreparingRebalance' : 'Stable');
  });

  it('that led and comes back with an old version does not hear that it leads', () => {
    const coordinator = createCoordinator();
    const { ids, generation } = settleStatic(coordinator);
    const back = answered(join(coordinator, { groupInstanceId: 'i0', version: 8 }));
    expect(back).toMatchObject({ generationId: generation, leader: ids[0], skipAssignment: false, members: [] });
    expect(back.memberId).not.toBe(ids[0]);
  });

  it('that comes back under another protocol has the others join again', () => {
    const coordinator = createCoordinator();
    const both = ['range', 'sticky'].map((name) => ({ name, metadata: bytesOf(name) }));
    const joining = ['i0', 'i1'].map((groupInstanceId) => join(coordinator, { groupInstanceId, protocols: both }));
    for (const one of joining) awaited(coordinator, one);
    const { ids, generation } = share(coordinator, joining);
    const sticky = both.slice(1);
    const back = join(coordinator, { groupInstanceId: 'i1', protocols: sticky });
    expect(back.response).toBeNull();
    expect(beat(coordinator, generation, ids[0] ?? '')).toBe(ErrorCode.REBALANCE_IN_PROGRESS);
    join(coordinator, { memberId: ids[0] ?? '', groupInstanceId: 'i0', protocols: both });
    expect(answered(back)).toMatchObject({ generationId: generation + 1, protocolName: 'sticky' });
  });

  it('that comes back before it has given up what it owned has the others join again', () => {
    const coordinator = createCoordinator();
    const owns = (...partitions: number[]): NonNullable<Joining['protocols']> => {
      const ownedPartitions = [{ topic: 'orders', partitions }];
      return [{ name: 'range', metadata: encodeSubscription({ topics: ['orders'], ownedPartitions }) }];
    };
    const gives = (...partitions: number[]): Uint8Array => {
      return encodeAssignment({ assignedPartitions: [{ topic: 'orders', partitions }] });
    };
    const generation = 2;
    const { ids } = settleStatic(coordinator);
    const leading = join(coordinator, { memberId: ids[0] ?? '', groupInstanceId: 'i0' });
    join(coordinator, { memberId: ids[1] ?? '', groupInstanceId: 'i1', protocols: owns(0, 1) });
    expect(answered(leading).generationId).toBe(generation);
    const assignments = [{ memberId: ids[1] ?? '', assignment: gives(0) }];
    sync(coordinator, generation, ids[0] ?? '', [], { assignments });
    answered(sync(coordinator, generation, ids[1] ?? ''));
    // It was to give up the second partition and join again, and nobody has it until then.
    const back = join(coordinator, { groupInstanceId: 'i1', protocols: owns() });
    expect(back.response).toBeNull();
    expect(beat(coordinator, generation, ids[0] ?? '', 'i0')).toBe(ErrorCode.REBALANCE_IN_PROGRESS);
    const again = join(coordinator, { memberId: ids[0] ?? '', groupInstanceId: 'i0' });
    expect(answered(back).generationId).toBe(generation + 1);
    sync(coordinator, generation + 1, ids[0] ?? '', [], {
      assignments: [{ memberId: answered(back).memberId, assignment: gives(0, 1) }],
    });
    expect(answered(again).generationId).toBe(generation + 1);
    // It owns no more than it has: its place may be taken without a rebalance.
    const once = answered(join(coordinator, { groupInstanceId: 'i1', protocols: owns() }));
    expect(once).toMatchObject({ errorCode: 0, generationId: generation + 1 });
  });

  it('fences its former self in all that it does', () => {
    const coordinator = createCoordinator();
    const { ids, generation } = settleStatic(coordinator);
    const former = ids[1] ?? '';
    join(coordinator, { groupInstanceId: 'i1' });
    const fenced = ErrorCode.FENCED_INSTANCE_ID;
    expect(beat(coordinator, generation, former, 'i1')).toBe(fenced);
    expect(beat(coordinator, generation, former)).toBe(ErrorCode.UNKNOWN_MEMBER_ID);
    const more = { groupInstanceId: 'i1' };
    expect(answered(sync(coordinator, generation, former, [], more)).errorCode).toBe(fenced);
    expect(answered(join(coordinator, { memberId: former, ...more })).errorCode).toBe(fenced);
    expect(commit(coordinator, 0, 5, { memberId: former, generationIdOrMemberEpoch: generation, ...more })).toBe(
      fenced,
    );
    expect(leave(coordinator, { memberId: former, ...more })).toEqual([fenced]);
  });

  it('that comes back while a rebalance is prepared is in the next generation', () => {
    const coordinator = createCoordinator();
    const { ids, generation } = settleStatic(coordinator);
    const leading = join(coordinator, { memberId: ids[0] ?? '', groupInstanceId: 'i0' });
    enter(coordinator);
    const first = join(coordinator, { groupInstanceId: 'i1' });
    expect(answered(leading)).toMatchObject({ errorCode: 0, generationId: generation + 1 });
    expect(answered(first)).toMatchObject({ errorCode: 0, generationId: generation + 1 });
  });

  it('that comes back while a rebalance is prepared is known under its new id to the next coordinator', () => {
    const coordinator = createCoordinator();
    const { ids, generation } = settleStatic(coordinator);
    join(coordinator, { memberId: ids[0] ?? '', groupInstanceId: 'i0' });
    enter(coordinator);
    const back = join(coordinator, { groupInstanceId: 'i1' });
    const { memberId } = answered(back);
    failOver(coordinator);
    expect(beat(coordinator, generation, memberId, 'i1')).toBe(ErrorCode.NONE);
    expect(beat(coordinator, generation, ids[1] ?? '', 'i1')).toBe(ErrorCode.FENCED_INSTANCE_ID);
  });

  it('that leaves while a rebalance is prepared, and comes back, is known to the next coordinator', () => {
    const coordinator = createCoordinator();
    const { ids, generation } = settleStatic(coordinator);
    join(coordinator, { memberId: ids[0] ?? '', groupInstanceId: 'i0' });
    leave(coordinator, { memberId: ids[1] ?? '', groupInstanceId: 'i1' });
    const back = join(coordinator, { groupInstanceId: 'i1' });
    const { memberId } = awaited(coordinator, back);
    failOver(coordinator);
    expect(beat(coordinator, generation, memberId, 'i1')).toBe(ErrorCode.NONE);
    expect(beat(coordinator, generation, ids[1] ?? '', 'i1')).toBe(ErrorCode.FENCED_INSTANCE_ID);
  });

  it('that comes back while the assignment is made has everybody join again', () => {
    const coordinator = createCoordinator();
    const joining = ['i0', 'i1'].map((groupInstanceId) => join(coordinator, { groupInstanceId }));
    const ids = joining.map((one) => awaited(coordinator, one).memberId);
    const waiting = sync(coordinator, 1, ids[1] ?? '');
    const back = join(coordinator, { groupInstanceId: 'i1' });
    expect(answered(waiting).errorCode).toBe(ErrorCode.FENCED_INSTANCE_ID);
    expect(back.response).toBeNull();
    expect(answered(sync(coordinator, 1, ids[0] ?? '')).errorCode).toBe(ErrorCode.REBALANCE_IN_PROGRESS);
    const leading = join(coordinator, { memberId: ids[0] ?? '', groupInstanceId: 'i0' });
    expect(share(coordinator, [leading, back]).generation).toBe(2);
  });

  it('that waits to join and comes again under a new id: the former is fenced, the later waits on', () => {
    const coordinator = createCoordinator();
    const former = join(coordinator, { groupInstanceId: 'i0' });
    const later = join(coordinator, { groupInstanceId: 'i0' });
    expect(answered(former).errorCode).toBe(ErrorCode.FENCED_INSTANCE_ID);
    expect(awaited(coordinator, later)).toMatchObject({ errorCode: 0, generationId: 1 });
    expect(answered(later).members).toHaveLength(1);
  });

  it('that does not join again keeps its place until its session ends', () => {
    const coordinator = createCoordinator();
    const { ids, generation } = settleStatic(coordinator);
    const leading = join(coordinator, { memberId: ids[0] ?? '', groupInstanceId: 'i0', rebalanceTimeoutMs: 7000 });
    join(coordinator, { memberId: ids[1] ?? '', groupInstanceId: 'i1', rebalanceTimeoutMs: 7000 });
    expect(answered(leading).generationId).toBe(generation + 1);
    sync(coordinator, generation + 1, ids[0] ?? '', [[ids[1] ?? '', 'kept']]);
    sync(coordinator, generation + 1, ids[1] ?? '');
    // Now only the leader joins again, and is not kept from the next generation for ever.
    const again = join(coordinator, { memberId: ids[0] ?? '', groupInstanceId: 'i0', rebalanceTimeoutMs: 7000 });
    advance(coordinator, 6999);
    expect(again.response).toBeNull();
    advance(coordinator, 1);
    expect(answered(again)).toMatchObject({ errorCode: 0, generationId: generation + 2 });
    expect(answered(again).members.map(({ groupInstanceId }) => groupInstanceId)).toEqual(['i0', 'i1']);
  });

  it('hands the lead to one that joined if it led and did not', () => {
    const coordinator = createCoordinator();
    const { ids, generation } = settleStatic(coordinator);
    const entering = enter(coordinator, { rebalanceTimeoutMs: 60_000, sessionTimeoutMs: 10_000 });
    advance(coordinator, 9000);
    expect(beat(coordinator, generation, ids[0] ?? '')).toBe(ErrorCode.REBALANCE_IN_PROGRESS);
    expect(beat(coordinator, generation, ids[1] ?? '')).toBe(ErrorCode.REBALANCE_IN_PROGRESS);
    const follower = join(coordinator, { memberId: ids[1] ?? '', groupInstanceId: 'i1' });
    for (let i = 0; i < 5; i++) {
      advance(coordinator, 9000);
      beat(coordinator, generation, ids[0] ?? '');
    }
    advance(coordinator, 6000);
    expect(answered(follower)).toMatchObject({ errorCode: 0, generationId: generation + 1, leader: ids[1] });
    expect(answered(follower).members).toHaveLength(3);
    expect(answered(entering.joining).leader).toBe(ids[1]);
  });

  it('is removed by an operator who knows its instance only', () => {
    const coordinator = createCoordinator();
    const { ids, generation } = settleStatic(coordinator);
    expect(leave(coordinator, { memberId: '', groupInstanceId: 'nobody' })).toEqual([ErrorCode.UNKNOWN_MEMBER_ID]);
    expect(leave(coordinator, { memberId: '', groupInstanceId: 'i1' })).toEqual([ErrorCode.NONE]);
    expect(beat(coordinator, generation, ids[1] ?? '', 'i1')).toBe(ErrorCode.UNKNOWN_MEMBER_ID);
    expect(stateOf(coordinator)).toBe('PreparingRebalance');
  });

  it('that gives itself no time to join keeps nobody busy while it is away', () => {
    const coordinator = createCoordinator();
    const { ids } = settleStatic(coordinator);
    answered(join(coordinator, { groupInstanceId: 'i0', rebalanceTimeoutMs: 0 }));
    leave(coordinator, { memberId: ids[1] ?? '', groupInstanceId: 'i1' });
    // Nobody joins; `advance` holds the coordinator to a bounded number of wakes.
    advance(coordinator, 9999);
    expect(stateOf(coordinator)).toBe('PreparingRebalance');
    advance(coordinator, 1);
    expect(stateOf(coordinator)).toBe('Empty');
  });

  it('cannot take over an id that was given to a dynamic one', () => {
    const coordinator = createCoordinator();
    const { memberId } = answered(join(coordinator));
    expect(answered(join(coordinator, { memberId, groupInstanceId: 'i0' })).errorCode).toBe(
      ErrorCode.UNKNOWN_MEMBER_ID,
    );
  });
});
