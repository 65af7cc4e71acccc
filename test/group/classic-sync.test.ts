/** SyncGroup, Heartbeat and LeaveGroup: how an assignment reaches the members, and what ends a member. */
import { describe, expect, it } from 'vitest';
import { ErrorCode } from '../../core/protocol/errors.ts';
import { beat, bytesOf, enter, join, leave, settle, share, stateOf, sync, textOf } from './classic.ts';
import {
  type Asked,
  advance,
  answered,
  ask,
  awaited,
  type Coordinator,
  createCoordinator,
  failOver,
} from './coordinator.ts';

/** Two members that have joined and wait for nothing yet; the first leads. */
function joined(coordinator: Coordinator): { leader: string; follower: string } {
  const a = enter(coordinator);
  const b = enter(coordinator);
  awaited(coordinator, b.joining);
  expect(answered(a.joining).leader).toBe(a.id);
  return { leader: a.id, follower: b.id };
}

const errorOf = (asked: Asked<14>): number => answered(asked).errorCode;

describe('an assignment', () => {
  it('is waited for by all, and comes with the leader', () => {
    const coordinator = createCoordinator();
    const { leader, follower } = joined(coordinator);
    const waiting = sync(coordinator, 1, follower);
    expect(waiting.response).toBeNull();
    const leading = sync(coordinator, 1, leader, [
      [leader, 'mine'],
      [follower, 'theirs'],
    ]);
    expect(textOf(answered(leading).assignment)).toBe('mine');
    expect(textOf(answered(waiting).assignment)).toBe('theirs');
    expect(stateOf(coordinator)).toBe('Stable');
  });

  it('is empty for a member that the leader forgot, and for nobody who is not there', () => {
    const coordinator = createCoordinator();
    const { leader, follower } = joined(coordinator);
    sync(coordinator, 1, leader, [['stranger', 'x']]);
    expect(answered(sync(coordinator, 1, follower))).toMatchObject({ errorCode: 0, assignment: new Uint8Array(0) });
  });

  it('is given again to one that asks again', () => {
    const coordinator = createCoordinator();
    const { ids, generation } = settle(coordinator, 2);
    expect(textOf(answered(sync(coordinator, generation, ids[1] ?? '')).assignment)).toBe('a1');
  });

  it('outlives the coordinator that wrote it, with the generation and the leader', () => {
    const coordinator = createCoordinator();
    const { ids, generation } = settle(coordinator, 3);
    failOver(coordinator);
    expect(stateOf(coordinator)).toBe('Stable');
    ids.forEach((id, i) => {
      expect(beat(coordinator, generation, id)).toBe(ErrorCode.NONE);
      expect(textOf(answered(sync(coordinator, generation, id)).assignment)).toBe(`a${i}`);
    });
    const leading = join(coordinator, { memberId: ids[0] ?? '' });
    expect(leading.response).toBeNull();
    const others = ids.slice(1).map((memberId) => join(coordinator, { memberId }));
    expect(share(coordinator, [leading, ...others]).generation).toBe(generation + 1);
  });

  it('that was not written is made anew: the members are told that their generation is none', () => {
    const coordinator = createCoordinator();
    const { ids, generation } = settle(coordinator, 2);
    const joining = ids.map((memberId) => join(coordinator, { memberId }));
    expect(joining.map((one) => answered(one).generationId)).toEqual([generation + 1, generation + 1]);
    failOver(coordinator);
    expect(errorOf(sync(coordinator, generation + 1, ids[0] ?? ''))).toBe(ErrorCode.ILLEGAL_GENERATION);
    expect(beat(coordinator, generation + 1, ids[1] ?? '')).toBe(ErrorCode.ILLEGAL_GENERATION);
    expect(beat(coordinator, generation, ids[1] ?? '')).toBe(ErrorCode.NONE);
  });

  it('larger than a record may be is refused, and the group tries again', () => {
    const coordinator = createCoordinator({ recordSizeMax: 5000 });
    const { leader, follower } = joined(coordinator);
    const waiting = sync(coordinator, 1, follower);
    const leading = sync(coordinator, 1, leader, [[leader, 'x'.repeat(5000)]]);
    expect([errorOf(leading), errorOf(waiting)]).toEqual([
      ErrorCode.UNKNOWN_SERVER_ERROR,
      ErrorCode.UNKNOWN_SERVER_ERROR,
    ]);
    expect(stateOf(coordinator)).toBe('PreparingRebalance');
    const joining = [leader, follower].map((memberId) => join(coordinator, { memberId }));
    expect(share(coordinator, joining).generation).toBe(2);
  });
});

describe('SyncGroup is refused', () => {
  it('to strangers, in other generations, and by another protocol', () => {
    const coordinator = createCoordinator();
    expect(errorOf(sync(coordinator, 1, 'nobody'))).toBe(ErrorCode.UNKNOWN_MEMBER_ID);
    const { ids, generation } = settle(coordinator, 1);
    const id = ids[0] ?? '';
    expect(errorOf(sync(coordinator, generation, 'nobody'))).toBe(ErrorCode.UNKNOWN_MEMBER_ID);
    expect(errorOf(sync(coordinator, generation - 1, id))).toBe(ErrorCode.ILLEGAL_GENERATION);
    const refusedFor = (more: Parameters<typeof sync>[4]) => errorOf(sync(coordinator, generation, id, [], more));
    expect(refusedFor({ protocolName: 'sticky' })).toBe(ErrorCode.INCONSISTENT_GROUP_PROTOCOL);
    expect(refusedFor({ protocolType: 'connect' })).toBe(ErrorCode.INCONSISTENT_GROUP_PROTOCOL);
    expect(refusedFor({ protocolName: null })).toBe(ErrorCode.INCONSISTENT_GROUP_PROTOCOL);
    expect(refusedFor({ groupId: '' })).toBe(ErrorCode.INVALID_GROUP_ID);
    expect(refusedFor({ groupInstanceId: 'i' })).toBe(ErrorCode.UNKNOWN_MEMBER_ID);
    expect(errorOf(sync(coordinator, generation, id))).toBe(ErrorCode.NONE);
  });

  it('while a rebalance is prepared', () => {
    const coordinator = createCoordinator();
    const { ids, generation } = settle(coordinator, 1);
    enter(coordinator);
    expect(errorOf(sync(coordinator, generation, ids[0] ?? ''))).toBe(ErrorCode.REBALANCE_IN_PROGRESS);
  });

  it('to whoever waited for an assignment when a member left', () => {
    const coordinator = createCoordinator();
    const { leader, follower } = joined(coordinator);
    const waiting = sync(coordinator, 1, follower);
    expect(leave(coordinator, { memberId: leader })).toEqual([ErrorCode.NONE]);
    expect(errorOf(waiting)).toBe(ErrorCode.REBALANCE_IN_PROGRESS);
    expect(share(coordinator, [join(coordinator, { memberId: follower })])).toMatchObject({ generation: 2 });
  });

  it('to the former of two who ask in the name of one member', () => {
    const coordinator = createCoordinator();
    const { follower } = joined(coordinator);
    const former = sync(coordinator, 1, follower);
    const later = sync(coordinator, 1, follower);
    expect(errorOf(former)).toBe(ErrorCode.REBALANCE_IN_PROGRESS);
    expect(later.response).toBeNull();
  });
});

describe('members of a generation who do not ask for their assignment', () => {
  it('are removed after the rebalance time-out, though they beat, so that the others go on', () => {
    const coordinator = createCoordinator();
    const a = enter(coordinator, { rebalanceTimeoutMs: 12_000 });
    const b = enter(coordinator, { rebalanceTimeoutMs: 12_000 });
    awaited(coordinator, b.joining);
    const waiting = sync(coordinator, 1, b.id);
    for (let passed = 0; passed < 12_000; passed += 4000) {
      expect(beat(coordinator, 1, a.id)).toBe(ErrorCode.NONE);
      expect(waiting.response).toBeNull();
      advance(coordinator, 4000);
    }
    expect(errorOf(waiting)).toBe(ErrorCode.REBALANCE_IN_PROGRESS);
    expect(beat(coordinator, 1, a.id)).toBe(ErrorCode.UNKNOWN_MEMBER_ID);
    const again = join(coordinator, { memberId: b.id });
    expect(answered(again)).toMatchObject({ generationId: 2, leader: b.id });
  });

  it('are removed even if the leader brought its assignment in the meantime', () => {
    const coordinator = createCoordinator();
    const a = enter(coordinator, { rebalanceTimeoutMs: 8000 });
    const b = enter(coordinator, { rebalanceTimeoutMs: 8000 });
    awaited(coordinator, b.joining);
    sync(coordinator, 1, a.id);
    advance(coordinator, 4000);
    expect([a, b].map(({ id }) => beat(coordinator, 1, id))).toEqual([0, 0]);
    advance(coordinator, 4000);
    expect([a, b].map(({ id }) => beat(coordinator, 1, id))).toEqual([27, 25]);
  });
});

describe('a session', () => {
  it('ends if nothing is heard of the member, and the others are told to join again', () => {
    const coordinator = createCoordinator();
    const { ids, generation } = settle(coordinator, 2);
    advance(coordinator, 6000);
    expect(beat(coordinator, generation, ids[1] ?? '')).toBe(ErrorCode.NONE);
    advance(coordinator, 4000);
    expect(beat(coordinator, generation, ids[0] ?? '')).toBe(ErrorCode.UNKNOWN_MEMBER_ID);
    expect(beat(coordinator, generation, ids[1] ?? '')).toBe(ErrorCode.REBALANCE_IN_PROGRESS);
    const again = join(coordinator, { memberId: ids[1] ?? '' });
    expect(share(coordinator, [again])).toEqual({ ids: [ids[1]], generation: generation + 1 });
  });

  it('of the last member leaves an empty group behind, which is written', () => {
    const coordinator = createCoordinator();
    const { generation } = settle(coordinator, 2);
    advance(coordinator, 10_000);
    expect(stateOf(coordinator)).toBe('Empty');
    failOver(coordinator);
    expect(stateOf(coordinator)).toBe('Empty');
    expect(settle(coordinator, 1).generation).toBe(generation + 2);
  });

  it('does not end while the member waits for us', () => {
    const coordinator = createCoordinator();
    const { ids, generation } = settle(coordinator, 2);
    const waiting = join(coordinator, { memberId: ids[0] ?? '' });
    for (let i = 0; i < 5; i++) {
      advance(coordinator, 9000);
      expect(beat(coordinator, generation, ids[1] ?? '')).toBe(ErrorCode.REBALANCE_IN_PROGRESS);
    }
    expect(waiting.response).toBeNull();
    join(coordinator, { memberId: ids[1] ?? '' });
    expect(answered(waiting)).toMatchObject({ errorCode: 0, generationId: generation + 1 });
    // From the answer on it has its whole time again.
    advance(coordinator, 9999);
    expect(beat(coordinator, generation + 1, ids[0] ?? '')).toBe(ErrorCode.NONE);
  });

  it('begins anew with a coordinator that takes over', () => {
    const coordinator = createCoordinator();
    const { ids, generation } = settle(coordinator, 1);
    advance(coordinator, 9000);
    failOver(coordinator);
    advance(coordinator, 9999);
    expect(beat(coordinator, generation, ids[0] ?? '')).toBe(ErrorCode.NONE);
    advance(coordinator, 10_000);
    expect(stateOf(coordinator)).toBe('Empty');
  });
});

describe('Heartbeat', () => {
  it('is refused to strangers and in other generations', () => {
    const coordinator = createCoordinator();
    expect(beat(coordinator, 1, 'nobody')).toBe(ErrorCode.UNKNOWN_MEMBER_ID);
    const { ids, generation } = settle(coordinator, 1);
    expect(beat(coordinator, generation, 'nobody')).toBe(ErrorCode.UNKNOWN_MEMBER_ID);
    expect(beat(coordinator, generation + 1, ids[0] ?? '')).toBe(ErrorCode.ILLEGAL_GENERATION);
    const body = { groupId: '', generationId: 1, memberId: '' };
    expect(ask(coordinator, 12, 0, body).errorCode).toBe(ErrorCode.INVALID_GROUP_ID);
  });
});

describe('LeaveGroup', () => {
  it('names one member before version 3, and says what became of it', () => {
    const coordinator = createCoordinator();
    const { ids } = settle(coordinator, 2);
    const leaving = (memberId: string) => ask(coordinator, 13, 2, { groupId: 'g', memberId, members: [] }).errorCode;
    expect(leaving('nobody')).toBe(ErrorCode.UNKNOWN_MEMBER_ID);
    expect(leaving(ids[0] ?? '')).toBe(ErrorCode.NONE);
    expect(leaving(ids[0] ?? '')).toBe(ErrorCode.UNKNOWN_MEMBER_ID);
    expect(stateOf(coordinator)).toBe('PreparingRebalance');
  });

  it('of many is one rebalance', () => {
    const coordinator = createCoordinator();
    const { ids, generation } = settle(coordinator, 4);
    const [a = '', b = '', c = '', d = ''] = ids;
    expect(leave(coordinator, { memberId: a }, { memberId: 'nobody' }, { memberId: b })).toEqual([0, 25, 0]);
    const joining = [c, d].map((memberId) => join(coordinator, { memberId }));
    expect(share(coordinator, joining)).toEqual({ ids: [c, d], generation: generation + 1 });
  });

  it('of all leaves an empty group', () => {
    const coordinator = createCoordinator();
    const { ids } = settle(coordinator, 3);
    expect(leave(coordinator, ...ids.map((memberId) => ({ memberId })))).toEqual([0, 0, 0]);
    expect(stateOf(coordinator)).toBe('Empty');
    failOver(coordinator);
    expect(stateOf(coordinator)).toBe('Empty');
  });

  it('says of each member of a group that is not there that it is not known', () => {
    const coordinator = createCoordinator();
    expect(leave(coordinator, { memberId: 'a' }, { memberId: 'b' })).toEqual([25, 25]);
    const body = { groupId: '', memberId: '', members: [] };
    expect(ask(coordinator, 13, 5, body).errorCode).toBe(ErrorCode.INVALID_GROUP_ID);
  });

  it('lets a rebalance end that waited for who left', () => {
    const coordinator = createCoordinator();
    const { ids, generation } = settle(coordinator, 2);
    const again = join(coordinator, { memberId: ids[0] ?? '' });
    leave(coordinator, { memberId: ids[1] ?? '' });
    expect(answered(again)).toMatchObject({ errorCode: 0, generationId: generation + 1 });
  });
});

describe('a group of another type', () => {
  it('is coordinated like one of consumers: its bytes are its own', () => {
    const coordinator = createCoordinator();
    const said = { protocolType: 'connect', protocols: [{ name: 'compatible', metadata: bytesOf('worker') }] };
    const { id, joining } = enter(coordinator, said);
    const response = awaited(coordinator, joining);
    expect(response).toMatchObject({ protocolType: 'connect', protocolName: 'compatible' });
    expect(textOf(response.members[0]?.metadata ?? new Uint8Array(0))).toBe('worker');
    const more = { protocolType: 'connect', protocolName: 'compatible' };
    expect(textOf(answered(sync(coordinator, 1, id, [[id, 'tasks']], more)).assignment)).toBe('tasks');
  });
});
