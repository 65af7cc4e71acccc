/** ConsumerGroupHeartbeat: who may speak, in which epoch, and what it hears. */
import { describe, expect, it } from 'vitest';
import { ErrorCode } from '../../core/protocol/errors.ts';
import { beat, describeIt, joinAs, pulse, say, settleAll } from './consumers.ts';
import { advance, createCoordinator, failOver } from './coordinator.ts';

const JOIN = { memberEpoch: 0, rebalanceTimeoutMs: 60_000, subscribedTopicNames: ['orders'], topicPartitions: [] };

describe('a heartbeat that makes no sense', () => {
  it.each([
    ['no member id', { ...JOIN, memberId: '' }, ErrorCode.INVALID_REQUEST],
    ['no group id', { ...JOIN, groupId: '' }, ErrorCode.INVALID_REQUEST],
    ['an empty instance id', { ...JOIN, instanceId: '' }, ErrorCode.INVALID_REQUEST],
    ['an empty rack', { ...JOIN, rackId: '' }, ErrorCode.INVALID_REQUEST],
    ['joining without a time-out', { ...JOIN, rebalanceTimeoutMs: -1 }, ErrorCode.INVALID_REQUEST],
    ['joining without owned partitions', { ...JOIN, topicPartitions: null }, ErrorCode.INVALID_REQUEST],
    [
      'joining with partitions',
      { ...JOIN, topicPartitions: [{ topicId: 'AAAAAAAAAAAAAAAAAAAAAQ', partitions: [0] }] },
      42,
    ],
    ['joining without a subscription', { ...JOIN, subscribedTopicNames: null }, ErrorCode.INVALID_REQUEST],
    ['being away without an instance id', { memberEpoch: -2 }, ErrorCode.INVALID_REQUEST],
    ['an epoch that there is not', { memberEpoch: -3 }, ErrorCode.INVALID_REQUEST],
    ['a member id that no record holds', { ...JOIN, memberId: 'm'.repeat(32_768) }, ErrorCode.INVALID_REQUEST],
    ['a group id that no record holds', { ...JOIN, groupId: 'g'.repeat(32_768) }, ErrorCode.INVALID_REQUEST],
    ['an instance id that no record holds', { ...JOIN, instanceId: 'é'.repeat(16_384) }, ErrorCode.INVALID_REQUEST],
    ['a rack that no record holds', { ...JOIN, rackId: '€'.repeat(11_000) }, ErrorCode.INVALID_REQUEST],
    ['an assignor that there is not', { ...JOIN, serverAssignor: 'fair' }, ErrorCode.UNSUPPORTED_ASSIGNOR],
    ['an expression that is none', { ...JOIN, subscribedTopicRegex: '(' }, ErrorCode.INVALID_REGULAR_EXPRESSION],
    ['a group that there is not', { memberEpoch: 2 }, ErrorCode.GROUP_ID_NOT_FOUND],
    ['leaving a group that there is not', { memberEpoch: -1 }, ErrorCode.GROUP_ID_NOT_FOUND],
  ])('%s is refused, and leaves no trace', (_what, said, errorCode) => {
    const coordinator = createCoordinator();
    const response = say(coordinator, said);
    expect(response.errorCode).toBe(errorCode);
    expect(response.errorMessage).not.toBeNull();
    expect(coordinator.log).toEqual([]);
    expect(coordinator.state.groups.size).toBe(0);
  });

  it('is refused if what comes of it is more than one batch of the log, and changes nothing', () => {
    const coordinator = createCoordinator({ recordSizeMax: 5_000 });
    const a = joinAs(coordinator, 'a');
    const subscribedTopicNames = Array.from({ length: 1_000 }, (_, i) => `topic-${i}`);
    const refused = say(coordinator, { ...JOIN, memberId: 'b', subscribedTopicNames });
    expect(refused.errorCode).toBe(ErrorCode.UNKNOWN_SERVER_ERROR);
    expect(describeIt(coordinator).members.map(({ memberId }) => memberId)).toEqual(['a']);
    expect(pulse(coordinator, a).errorCode).toBe(ErrorCode.NONE);
  });

  it('is refused from a member that the group does not have', () => {
    const coordinator = createCoordinator();
    joinAs(coordinator, 'a');
    expect(say(coordinator, { memberId: 'b', memberEpoch: 2 }).errorCode).toBe(ErrorCode.UNKNOWN_MEMBER_ID);
    expect(say(coordinator, { memberId: 'b', memberEpoch: -1 }).errorCode).toBe(ErrorCode.UNKNOWN_MEMBER_ID);
  });
});

describe('joining', () => {
  it('gives the first member everything at once', () => {
    const coordinator = createCoordinator();
    const a = joinAs(coordinator, 'a', { topics: ['orders', 'payments', 'nowhere'] });
    expect(a).toMatchObject({ epoch: 2, told: ['orders-0', 'orders-1', 'orders-2', 'payments-0', 'payments-1'] });
    expect(describeIt(coordinator)).toMatchObject({ groupState: 'Stable', groupEpoch: 2, assignmentEpoch: 2 });
  });

  it('with nothing to read gives an epoch like any other', () => {
    const coordinator = createCoordinator();
    expect(joinAs(coordinator, 'a', { topics: [] })).toMatchObject({ epoch: 1, told: [] });
    expect(joinAs(coordinator, 'b', { topics: [] })).toMatchObject({ epoch: 1, told: [] });
    expect(describeIt(coordinator).groupState).toBe('Stable');
  });

  it('makes an id for a member of version 0 that has none', () => {
    const coordinator = createCoordinator();
    const response = say(coordinator, { ...JOIN, memberId: '', version: 0 });
    expect(response.errorCode).toBe(ErrorCode.NONE);
    expect(describeIt(coordinator).members.map(({ memberId }) => memberId)).toEqual([response.memberId]);
  });

  it('says how often to send heartbeats', () => {
    expect(say(createCoordinator(), JOIN).heartbeatIntervalMs).toBe(5_000);
  });

  it('lets a second member wait for what the first has yet to give back', () => {
    const coordinator = createCoordinator();
    const a = joinAs(coordinator, 'a');
    coordinator.wallMs += 1_000;
    const b = joinAs(coordinator, 'b');
    expect(b).toMatchObject({ epoch: 3, told: [] });
    expect(describeIt(coordinator).groupState).toBe('Reconciling');
    const asked = pulse(coordinator, a);
    // It is described with what it has yet to give back.
    expect(describeIt(coordinator).members[0]?.assignment.topicPartitions[0]?.partitions).toEqual([0, 1, 2]);
    expect(asked.memberEpoch).toBe(2);
    expect(a.told).toHaveLength(2);
    expect(pulse(coordinator, b).assignment).toBeNull();
    expect(beat(coordinator, a).memberEpoch).toBe(3);
    expect(pulse(coordinator, b).assignment).not.toBeNull();
    expect([...a.owned, ...b.owned].sort()).toEqual(['orders-0', 'orders-1', 'orders-2']);
    expect(describeIt(coordinator).groupState).toBe('Stable');
  });

  it('deals out no sooner than the interval after the last time', () => {
    const coordinator = createCoordinator();
    const a = joinAs(coordinator, 'a');
    coordinator.wallMs += 999;
    const b = joinAs(coordinator, 'b');
    expect(describeIt(coordinator)).toMatchObject({ groupState: 'Assigning', groupEpoch: 3, assignmentEpoch: 2 });
    expect(b).toMatchObject({ epoch: 2, told: [] });
    coordinator.wallMs += 1;
    pulse(coordinator, a);
    expect(describeIt(coordinator)).toMatchObject({ groupEpoch: 3, assignmentEpoch: 3 });
    settleAll(coordinator, [a, b]);
    expect(b.owned).toHaveLength(1);
  });

  it('waits for nobody where the wall clock went back', () => {
    const coordinator = createCoordinator();
    joinAs(coordinator, 'a');
    coordinator.wallMs -= 3_600_000;
    joinAs(coordinator, 'b');
    expect(describeIt(coordinator).assignmentEpoch).toBe(3);
  });

  it('is refused where the group is full, but not to those who are in it', () => {
    const coordinator = createCoordinator();
    const full = { ...coordinator.config, consumer: { ...coordinator.config.consumer, sizeMax: 1 } };
    const small = createCoordinator(full);
    joinAs(small, 'a', { instanceId: 'i' });
    expect(say(small, { ...JOIN, memberId: 'b' }).errorCode).toBe(ErrorCode.GROUP_MAX_SIZE_REACHED);
    expect(say(small, { ...JOIN, memberId: 'a', instanceId: 'i' }).errorCode).toBe(ErrorCode.NONE);
  });

  it('a second time with nothing owned is the same member, told everything', () => {
    const coordinator = createCoordinator();
    const a = joinAs(coordinator, 'a');
    const again = joinAs(coordinator, 'a');
    expect(again).toMatchObject({ epoch: a.epoch, told: a.told });
    expect(describeIt(coordinator).groupEpoch).toBe(2);
  });
});

describe('epochs', () => {
  it('a later one than the coordinator knows is fenced', () => {
    const coordinator = createCoordinator();
    const a = joinAs(coordinator, 'a');
    expect(beat(coordinator, a, { memberEpoch: 3 }).errorCode).toBe(ErrorCode.FENCED_MEMBER_EPOCH);
  });

  it('the one before is heard from a member that owns no more than it was given, and from no other', () => {
    const coordinator = createCoordinator();
    const a = joinAs(coordinator, 'a');
    coordinator.wallMs += 1_000;
    const b = joinAs(coordinator, 'b');
    pulse(coordinator, a);
    beat(coordinator, a);
    expect(a.epoch).toBe(3);
    expect(beat(coordinator, a, { memberEpoch: 2 }).memberEpoch).toBe(3);
    expect(beat(coordinator, a, { memberEpoch: 2, topicPartitions: null }).errorCode).toBe(
      ErrorCode.FENCED_MEMBER_EPOCH,
    );
    pulse(coordinator, b);
    const stolen = { ...a, owned: b.owned, epoch: 2 };
    expect(beat(coordinator, stolen).errorCode).toBe(ErrorCode.FENCED_MEMBER_EPOCH);
  });

  it('an older one is fenced', () => {
    const coordinator = createCoordinator();
    const a = joinAs(coordinator, 'a');
    for (const topics of [['payments'], ['orders']]) {
      coordinator.wallMs += 1_000;
      beat(coordinator, a, { subscribedTopicNames: topics, topicPartitions: [] });
    }
    expect(a.epoch).toBe(4);
    expect(beat(coordinator, a, { memberEpoch: 2 }).errorCode).toBe(ErrorCode.FENCED_MEMBER_EPOCH);
  });

  it('a heartbeat that changes nothing writes nothing', () => {
    const coordinator = createCoordinator();
    const a = joinAs(coordinator, 'a');
    const before = coordinator.log.length;
    expect(pulse(coordinator, a)).toMatchObject({ errorCode: 0, memberEpoch: 2, assignment: null });
    expect(coordinator.log).toHaveLength(before);
  });

  it('one that says everything is told everything', () => {
    const coordinator = createCoordinator();
    const a = joinAs(coordinator, 'a');
    const all = beat(coordinator, a, { rebalanceTimeoutMs: 60_000, subscribedTopicNames: ['orders'] });
    expect(all.assignment?.topicPartitions[0]?.partitions).toEqual([0, 1, 2]);
  });
});

describe('leaving', () => {
  it('frees what the member had at once, and the next heartbeat deals it out', () => {
    const coordinator = createCoordinator();
    const a = joinAs(coordinator, 'a');
    const b = joinAs(coordinator, 'b');
    settleAll(coordinator, [a, b]);
    expect(beat(coordinator, a, { memberEpoch: -1 })).toMatchObject({ errorCode: 0, memberEpoch: -1 });
    coordinator.wallMs += 1_000;
    pulse(coordinator, b);
    expect(b.owned).toEqual(['orders-0', 'orders-1', 'orders-2']);
    expect(describeIt(coordinator).members).toHaveLength(1);
  });

  it('of the last member leaves an empty group, where the next is dealt to at once', () => {
    const coordinator = createCoordinator();
    const a = joinAs(coordinator, 'a');
    beat(coordinator, a, { memberEpoch: -1 });
    expect(describeIt(coordinator)).toMatchObject({ groupState: 'Empty', groupEpoch: 3, assignmentEpoch: 3 });
    expect(joinAs(coordinator, 'b').told).toHaveLength(3);
  });
});

describe('time', () => {
  it('ends the session of a member that is silent, and of no other', () => {
    const coordinator = createCoordinator();
    const a = joinAs(coordinator, 'a');
    joinAs(coordinator, 'b');
    advance(coordinator, 40_000);
    pulse(coordinator, a);
    advance(coordinator, 6_000);
    expect(describeIt(coordinator).members.map(({ memberId }) => memberId)).toEqual(['a']);
    advance(coordinator, 45_000);
    expect(describeIt(coordinator).groupState).toBe('Empty');
  });

  it('removes a member that does not give back within its rebalance time-out, however often it speaks', () => {
    const coordinator = createCoordinator();
    const a = joinAs(coordinator, 'a', { rebalanceTimeoutMs: 20_000 });
    coordinator.wallMs += 1_000;
    const b = joinAs(coordinator, 'b');
    const owned = a.owned;
    for (let i = 0; i < 5; i++) {
      pulse(coordinator, a);
      pulse(coordinator, b);
      a.owned = owned;
      advance(coordinator, 4_900);
    }
    expect(describeIt(coordinator).members.map(({ memberId }) => memberId)).toEqual(['b']);
    expect(beat(coordinator, a).errorCode).toBe(ErrorCode.UNKNOWN_MEMBER_ID);
    pulse(coordinator, b);
    expect(b.owned).toHaveLength(3);
  });

  it('begins anew with a coordinator that takes over', () => {
    const coordinator = createCoordinator();
    const a = joinAs(coordinator, 'a');
    advance(coordinator, 44_000);
    failOver(coordinator);
    advance(coordinator, 44_000);
    expect(pulse(coordinator, a).errorCode).toBe(ErrorCode.NONE);
    advance(coordinator, 45_001);
    expect(describeIt(coordinator).groupState).toBe('Empty');
  });

  it('of giving back begins anew with a coordinator that takes over', () => {
    const coordinator = createCoordinator();
    const a = joinAs(coordinator, 'a', { rebalanceTimeoutMs: 20_000 });
    coordinator.wallMs += 1_000;
    joinAs(coordinator, 'b');
    pulse(coordinator, a);
    advance(coordinator, 19_000);
    failOver(coordinator);
    advance(coordinator, 19_000);
    expect(describeIt(coordinator).members).toHaveLength(2);
    advance(coordinator, 1_001);
    expect(describeIt(coordinator).members.map(({ memberId }) => memberId)).toEqual(['b']);
  });
});

describe('many members that go silent at once', () => {
  it('go in as many steps as their records need batches', () => {
    const coordinator = createCoordinator({ recordSizeMax: 5_000 });
    for (let i = 0; i < 100; i++) joinAs(coordinator, `member-${i}`);
    advance(coordinator, 46_000);
    expect(describeIt(coordinator)).toMatchObject({ groupState: 'Empty', members: [] });
  });

  it('of many groups do not go in one step either', () => {
    const coordinator = createCoordinator({ recordSizeMax: 5_000 });
    for (let i = 0; i < 50; i++) joinAs(coordinator, 'm', { groupId: `group-${i}` });
    advance(coordinator, 46_000);
    for (let i = 0; i < 50; i++) expect(describeIt(coordinator, `group-${i}`).members).toEqual([]);
  });
});
