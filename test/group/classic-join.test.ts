/** JoinGroup: how members come into a classic group, and what each of them hears. */
import { describe, expect, it } from 'vitest';
import { ErrorCode } from '../../core/protocol/errors.ts';
import { beat, bytesOf, enter, join, leave, settle, share, stateOf, subscriptionOf, sync } from './classic.ts';
import { advance, answered, awaited, createCoordinator, failOver } from './coordinator.ts';

const range = (...topics: string[]) => ({ name: 'range', metadata: subscriptionOf(topics) });

describe('a member that joins', () => {
  it('is given an id made of its client and something fresh, and must come again with it', () => {
    const coordinator = createCoordinator();
    const first = answered(join(coordinator, { clientId: 'tally' }));
    expect(first).toMatchObject({ errorCode: ErrorCode.MEMBER_ID_REQUIRED, generationId: -1, members: [] });
    expect(first.memberId).toMatch(/^tally-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    expect(join(coordinator, { memberId: first.memberId }).response).toBeNull();
  });

  it('joins at once before version 4, which knows no second JoinGroup', () => {
    const coordinator = createCoordinator();
    const joining = join(coordinator, { version: 3 });
    expect(joining.response).toBeNull();
    advance(coordinator, 3000);
    expect(answered(joining)).toMatchObject({ errorCode: 0, generationId: 1, protocolName: 'range' });
  });

  it('has its session time-out to join again in version 0, which has no other', () => {
    const coordinator = createCoordinator({ initialRebalanceDelayMs: 0 });
    const joining = join(coordinator, { version: 0, sessionTimeoutMs: 9000 });
    advance(coordinator, 0);
    const { memberId } = answered(joining);
    // A second one joins; the first beats and does not join again.
    const other = join(coordinator, { version: 3, rebalanceTimeoutMs: 1 });
    advance(coordinator, 8999);
    expect(beat(coordinator, 1, memberId)).toBe(ErrorCode.REBALANCE_IN_PROGRESS);
    expect(other.response).toBeNull();
    advance(coordinator, 1);
    expect(answered(other)).toMatchObject({ generationId: 2, leader: answered(other).memberId });
  });

  it('is refused with a session time-out out of bounds, an empty group id, or an id that nobody gave', () => {
    const coordinator = createCoordinator();
    const errorOf = (said: Parameters<typeof join>[1]) => answered(join(coordinator, said)).errorCode;
    expect(errorOf({ sessionTimeoutMs: 5999 })).toBe(ErrorCode.INVALID_SESSION_TIMEOUT);
    expect(errorOf({ sessionTimeoutMs: 1_800_001 })).toBe(ErrorCode.INVALID_SESSION_TIMEOUT);
    expect(errorOf({ groupId: '' })).toBe(ErrorCode.INVALID_GROUP_ID);
    expect(errorOf({ groupId: 'g'.repeat(40_000) })).toBe(ErrorCode.INVALID_GROUP_ID);
    expect(errorOf({ groupInstanceId: 'i'.repeat(40_000) })).toBe(ErrorCode.INVALID_REQUEST);
    expect(errorOf({ memberId: 'client-1' })).toBe(ErrorCode.UNKNOWN_MEMBER_ID);
    // No group came of all that.
    expect(coordinator.state.groups.size).toBe(0);
    settle(coordinator, 1);
    expect(errorOf({ memberId: 'client-1' })).toBe(ErrorCode.UNKNOWN_MEMBER_ID);
  });

  it('is refused without a protocol, or with none that the others can do', () => {
    const coordinator = createCoordinator();
    const errorOf = (said: Parameters<typeof join>[1]) => answered(join(coordinator, said)).errorCode;
    expect(errorOf({ protocols: [] })).toBe(ErrorCode.INCONSISTENT_GROUP_PROTOCOL);
    expect(errorOf({ protocolType: '' })).toBe(ErrorCode.INCONSISTENT_GROUP_PROTOCOL);
    settle(coordinator, 1);
    expect(errorOf({ protocolType: 'connect' })).toBe(ErrorCode.INCONSISTENT_GROUP_PROTOCOL);
    const sticky = [{ name: 'sticky', metadata: bytesOf('') }];
    expect(errorOf({ protocols: sticky })).toBe(ErrorCode.INCONSISTENT_GROUP_PROTOCOL);
    expect(stateOf(coordinator)).toBe('Stable');
  });

  it('loses its id if it does not come with it in time', () => {
    const coordinator = createCoordinator();
    const { memberId } = answered(join(coordinator));
    advance(coordinator, 10_000);
    expect(answered(join(coordinator, { memberId })).errorCode).toBe(ErrorCode.UNKNOWN_MEMBER_ID);
  });

  it('may leave with an id that it did not use yet', () => {
    const coordinator = createCoordinator();
    const { memberId } = answered(join(coordinator));
    expect(leave(coordinator, { memberId })).toEqual([ErrorCode.NONE]);
    expect(answered(join(coordinator, { memberId })).errorCode).toBe(ErrorCode.UNKNOWN_MEMBER_ID);
  });

  it('is forgotten by a coordinator that takes over: neither its id nor its waiting was written', () => {
    const coordinator = createCoordinator();
    const { id } = enter(coordinator);
    failOver(coordinator);
    expect(stateOf(coordinator)).toBe('Empty');
    expect(answered(join(coordinator, { memberId: id })).errorCode).toBe(ErrorCode.UNKNOWN_MEMBER_ID);
  });

  it('that is new is given up after five minutes without an answer, however short its session', () => {
    const coordinator = createCoordinator();
    settle(coordinator, 1, { rebalanceTimeoutMs: 600_000, sessionTimeoutMs: 1_000_000 });
    const { joining } = enter(coordinator, { rebalanceTimeoutMs: 600_000 });
    advance(coordinator, 299_999);
    expect(joining.response).toBeNull();
    advance(coordinator, 1);
    expect(answered(joining)).toMatchObject({ errorCode: ErrorCode.UNKNOWN_MEMBER_ID, memberId: '' });
  });

  it('twice with one id: the first who waited is told to come again', () => {
    const coordinator = createCoordinator();
    const { id, joining } = enter(coordinator);
    const again = join(coordinator, { memberId: id });
    expect(answered(joining).errorCode).toBe(ErrorCode.REBALANCE_IN_PROGRESS);
    advance(coordinator, 3000);
    expect(answered(again)).toMatchObject({ errorCode: 0, generationId: 1, memberId: id });
  });
});

describe('the first generation of a group', () => {
  it('is waited for, for as long as others come, up to the rebalance time-out', () => {
    const coordinator = createCoordinator();
    const a = enter(coordinator, { rebalanceTimeoutMs: 7000 });
    advance(coordinator, 2999);
    const b = enter(coordinator, { rebalanceTimeoutMs: 7000 });
    advance(coordinator, 1);
    expect(a.joining.response).toBeNull();
    advance(coordinator, 2000);
    const c = enter(coordinator, { rebalanceTimeoutMs: 7000 });
    // 3000 have passed twice; of the 7000 are 1000 left.
    advance(coordinator, 1000);
    expect(c.joining.response).toBeNull();
    advance(coordinator, 999);
    expect(c.joining.response).toBeNull();
    advance(coordinator, 1);
    const responses = [a, b, c].map(({ joining }) => answered(joining));
    expect(responses.map(({ generationId }) => generationId)).toEqual([1, 1, 1]);
    expect(responses.map(({ members }) => members.length)).toEqual([3, 0, 0]);
    expect(responses[0]?.members.map(({ memberId }) => memberId)).toEqual([a.id, b.id, c.id]);
  });

  it('comes at once where the operator wants no delay', () => {
    const coordinator = createCoordinator({ initialRebalanceDelayMs: 0 });
    const { joining } = enter(coordinator);
    advance(coordinator, 0);
    expect(answered(joining)).toMatchObject({ errorCode: 0, generationId: 1 });
  });

  it('is not waited for after everybody has left again', () => {
    const coordinator = createCoordinator();
    const { id, joining } = enter(coordinator);
    leave(coordinator, { memberId: id });
    expect(answered(joining).errorCode).toBe(ErrorCode.UNKNOWN_MEMBER_ID);
    advance(coordinator, 3000);
    expect(stateOf(coordinator)).toBe('Empty');
  });
});

describe('the protocol of a generation', () => {
  const protocols = (...names: string[]) => names.map((name) => ({ name, metadata: bytesOf(name) }));
  const chosen = (...preferences: string[][]): string => {
    const coordinator = createCoordinator();
    const entered = preferences.map((names) => enter(coordinator, { protocols: protocols(...names) }));
    return awaited(coordinator, entered[0]?.joining ?? expect.fail()).protocolName ?? '';
  };

  it('is one that all can do, of those the one that most prefer', () => {
    expect(chosen(['a', 'b'], ['b', 'a'], ['b', 'a'])).toBe('b');
    expect(chosen(['a', 'b'], ['c', 'b'])).toBe('b');
    expect(chosen(['a', 'b'], ['b', 'a'])).toBe('a');
  });

  it('decides what the leader is told of each member', () => {
    const coordinator = createCoordinator();
    const entered = [['a', 'b'], ['b']].map((names) => enter(coordinator, { protocols: protocols(...names) }));
    const leader = awaited(coordinator, entered[0]?.joining ?? expect.fail());
    expect(leader.members.map(({ metadata }) => metadata)).toEqual([bytesOf('b'), bytesOf('b')]);
  });

  it('counts a name that a member says twice once', () => {
    expect(chosen(['a', 'a', 'b'], ['b'])).toBe('b');
  });
});

describe('a member of a generation that joins again', () => {
  it('hears of the generation if it says nothing new and does not lead', () => {
    const coordinator = createCoordinator();
    const { ids, generation } = settle(coordinator, 2);
    const again = answered(join(coordinator, { memberId: ids[1] ?? '' }));
    expect(again).toMatchObject({ errorCode: 0, generationId: generation, leader: ids[0], members: [] });
    expect(stateOf(coordinator)).toBe('Stable');
  });

  it('begins a rebalance if it leads: only the leader sees what else has changed', () => {
    const coordinator = createCoordinator();
    const { ids, generation } = settle(coordinator, 2);
    const leading = join(coordinator, { memberId: ids[0] ?? '' });
    expect(beat(coordinator, generation, ids[1] ?? '')).toBe(ErrorCode.REBALANCE_IN_PROGRESS);
    const following = join(coordinator, { memberId: ids[1] ?? '' });
    expect(share(coordinator, [leading, following]).generation).toBe(generation + 1);
  });

  it('begins a rebalance if it reads other topics than before', () => {
    const coordinator = createCoordinator();
    const { ids, generation } = settle(coordinator, 2);
    const following = join(coordinator, { memberId: ids[1] ?? '', protocols: [range('payments')] });
    expect(following.response).toBeNull();
    const leading = join(coordinator, { memberId: ids[0] ?? '' });
    expect(share(coordinator, [leading, following]).generation).toBe(generation + 1);
  });

  it('hears the same again while the assignment is made, and so does the leader', () => {
    const coordinator = createCoordinator();
    const a = enter(coordinator);
    const b = enter(coordinator);
    awaited(coordinator, b.joining);
    for (const { id, joining } of [a, b]) {
      expect(answered(join(coordinator, { memberId: id }))).toEqual(answered(joining));
    }
    expect(stateOf(coordinator)).toBe('CompletingRebalance');
  });

  it('with something new while the assignment is made has all others join again', () => {
    const coordinator = createCoordinator();
    const a = enter(coordinator);
    const b = enter(coordinator);
    awaited(coordinator, b.joining);
    const waiting = sync(coordinator, 1, a.id === answered(a.joining).leader ? b.id : a.id);
    expect(waiting.response).toBeNull();
    const again = join(coordinator, { memberId: a.id, protocols: [range('payments')] });
    expect(answered(waiting)).toMatchObject({ errorCode: ErrorCode.REBALANCE_IN_PROGRESS });
    expect(share(coordinator, [again, join(coordinator, { memberId: b.id })].slice().reverse()).generation).toBe(2);
  });
});

describe('a rebalance', () => {
  it('leaves those behind who do not join again in time', () => {
    const coordinator = createCoordinator();
    const { ids, generation } = settle(coordinator, 2, { rebalanceTimeoutMs: 20_000 });
    const { id, joining } = enter(coordinator, { rebalanceTimeoutMs: 20_000 });
    for (let i = 0; i < 4; i++) {
      expect(joining.response).toBeNull();
      expect(ids.map((one) => beat(coordinator, generation, one))).toEqual([27, 27]);
      advance(coordinator, 5000);
    }
    expect(answered(joining)).toMatchObject({ errorCode: 0, generationId: generation + 1, leader: id });
    expect(answered(joining).members.map(({ memberId }) => memberId)).toEqual([id]);
    expect(beat(coordinator, generation, ids[0] ?? '')).toBe(ErrorCode.UNKNOWN_MEMBER_ID);
  });

  it('is not over while an id is out that may still come, and then is', () => {
    const coordinator = createCoordinator();
    const { ids } = settle(coordinator, 1);
    const first = answered(join(coordinator));
    const again = join(coordinator, { memberId: ids[0] ?? '' });
    expect(again.response).toBeNull();
    advance(coordinator, 10_000);
    expect(answered(again)).toMatchObject({ errorCode: 0, generationId: 2 });
    expect(answered(join(coordinator, { memberId: first.memberId })).errorCode).toBe(ErrorCode.UNKNOWN_MEMBER_ID);
  });
});

describe('a group of limited size', () => {
  it('takes no more members than it may have', () => {
    const coordinator = createCoordinator({ sizeMax: 2 });
    settle(coordinator, 2);
    expect(answered(join(coordinator)).errorCode).toBe(ErrorCode.GROUP_MAX_SIZE_REACHED);
    expect(stateOf(coordinator)).toBe('Stable');
  });

  it('counts those who wait while a rebalance is prepared: of many at once the last are refused', () => {
    const coordinator = createCoordinator({ sizeMax: 2 });
    const entering = [1, 2, 3].map(() => answered(join(coordinator)).memberId);
    const joining = entering.map((memberId) => join(coordinator, { memberId }));
    expect(joining.map(({ response }) => response?.errorCode)).toEqual([
      undefined,
      undefined,
      ErrorCode.GROUP_MAX_SIZE_REACHED,
    ]);
    expect(joining.slice(0, 2).map((one) => awaited(coordinator, one).generationId)).toEqual([1, 1]);
  });

  it('that was larger when it was loaded is rebalanced, and gets small', () => {
    const coordinator = createCoordinator();
    const { ids } = settle(coordinator, 3);
    const small = { ...coordinator, config: { ...coordinator.config, sizeMax: 2 } };
    failOver(small);
    expect(stateOf(small)).toBe('PreparingRebalance');
    const joining = ids.map((memberId) => join(small, { memberId }));
    expect(joining.map((one) => awaited(small, one).errorCode)).toEqual([0, 0, ErrorCode.GROUP_MAX_SIZE_REACHED]);
  });
});

describe('what members say of themselves', () => {
  const large = (sizeBytes: number): { name: string; metadata: Uint8Array }[] => [
    { name: 'range', metadata: new Uint8Array(sizeBytes) },
  ];

  it('is held as far as records could hold it, and a member may always say less', () => {
    const coordinator = createCoordinator({ recordSizeMax: 5_000 });
    const refused = join(coordinator, { version: 3, protocols: large(20_001) });
    expect(answered(refused).errorCode).toBe(ErrorCode.GROUP_MAX_SIZE_REACHED);
    const first = join(coordinator, { version: 3, groupInstanceId: null, protocols: large(15_000) });
    expect(first.response).toBeNull();
    const second = join(coordinator, { version: 3, protocols: large(15_000) });
    expect(answered(second).errorCode).toBe(ErrorCode.GROUP_MAX_SIZE_REACHED);
    const { memberId } = awaited(coordinator, first);
    expect(join(coordinator, { memberId, protocols: large(19_000) }).response?.errorCode).not.toBe(
      ErrorCode.GROUP_MAX_SIZE_REACHED,
    );
  });

  it('does not make the ids long that are given out', () => {
    const coordinator = createCoordinator();
    const { memberId } = answered(join(coordinator, { clientId: `${'c'.repeat(248)}😀${'c'.repeat(1_000)}` }));
    expect(memberId).toHaveLength(248 + 37);
  });
});
