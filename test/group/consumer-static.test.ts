/** Static members of the consumer protocol: away and back, taken over, fenced. */
import { describe, expect, it } from 'vitest';
import { ErrorCode } from '../../core/protocol/errors.ts';
import { beat, describeIt, joinAs, pulse, say, settleAll } from './consumers.ts';
import { advance, createCoordinator, failOver } from './coordinator.ts';

const JOIN = { memberEpoch: 0, rebalanceTimeoutMs: 60_000, subscribedTopicNames: ['orders'], topicPartitions: [] };

describe('a static member', () => {
  it('that is away keeps what it has, and who comes for it goes on with that in the same epoch of the group', () => {
    const coordinator = createCoordinator();
    const a = joinAs(coordinator, 'a', { instanceId: 'i' });
    const b = joinAs(coordinator, 'b');
    settleAll(coordinator, [a, b]);
    const { groupEpoch } = describeIt(coordinator);
    expect(beat(coordinator, a, { memberEpoch: -2 })).toMatchObject({ errorCode: 0, memberEpoch: -2 });
    pulse(coordinator, b);
    expect(b.owned).toHaveLength(1);
    const again = joinAs(coordinator, 'a2', { instanceId: 'i' });
    expect(again).toMatchObject({ told: a.owned, epoch: groupEpoch });
    expect(describeIt(coordinator)).toMatchObject({ groupEpoch, groupState: 'Stable' });
    expect(describeIt(coordinator).members.map(({ memberId }) => memberId)).toEqual(['b', 'a2']);
  });

  it('is away for a session, then what it had is free', () => {
    const coordinator = createCoordinator();
    const a = joinAs(coordinator, 'a', { instanceId: 'i' });
    const b = joinAs(coordinator, 'b');
    settleAll(coordinator, [a, b]);
    beat(coordinator, a, { memberEpoch: -2 });
    for (let i = 0; i < 10; i++) {
      advance(coordinator, 4_600);
      pulse(coordinator, b);
    }
    expect(b.owned).toHaveLength(3);
  });

  it('has a session again when it comes back under the id that it had', () => {
    const coordinator = createCoordinator();
    const a = joinAs(coordinator, 'a', { instanceId: 'i' });
    const b = joinAs(coordinator, 'b');
    settleAll(coordinator, [a, b]);
    beat(coordinator, a, { memberEpoch: -2 });
    expect(joinAs(coordinator, 'a', { instanceId: 'i' }).told).toEqual(a.owned);
    for (let i = 0; i < 10; i++) {
      advance(coordinator, 4_600);
      pulse(coordinator, b);
    }
    expect(b.owned).toHaveLength(3);
  });

  it('keeps others off while it is there, but not itself', () => {
    const coordinator = createCoordinator();
    joinAs(coordinator, 'a', { instanceId: 'i' });
    const other = say(coordinator, { ...JOIN, memberId: 'a2', instanceId: 'i' });
    expect(other.errorCode).toBe(ErrorCode.UNRELEASED_INSTANCE_ID);
    // Its first answer was lost: it is the same process, for no other has its id.
    expect(say(coordinator, { ...JOIN, memberId: 'a', instanceId: 'i' })).toMatchObject({
      errorCode: 0,
      memberEpoch: 2,
    });
  });

  it('that was taken over is fenced, as is who does not know the instance', () => {
    const coordinator = createCoordinator();
    const a = joinAs(coordinator, 'a', { instanceId: 'i' });
    beat(coordinator, a, { memberEpoch: -2 });
    joinAs(coordinator, 'a2', { instanceId: 'i' });
    expect(beat(coordinator, a).errorCode).toBe(ErrorCode.FENCED_INSTANCE_ID);
    expect(beat(coordinator, a, { memberEpoch: -1 }).errorCode).toBe(ErrorCode.FENCED_INSTANCE_ID);
    const stranger = { memberId: 'x', instanceId: 'j', memberEpoch: 2 };
    expect(say(coordinator, stranger).errorCode).toBe(ErrorCode.UNKNOWN_MEMBER_ID);
    expect(say(coordinator, { ...stranger, memberEpoch: -2 }).errorCode).toBe(ErrorCode.UNKNOWN_MEMBER_ID);
  });

  it('that is away does not come back with a heartbeat that it sent before', () => {
    const coordinator = createCoordinator();
    const a = joinAs(coordinator, 'a', { instanceId: 'i' });
    const { epoch } = a;
    beat(coordinator, a, { memberEpoch: -2 });
    expect(beat(coordinator, a, { memberEpoch: epoch }).errorCode).toBe(ErrorCode.FENCED_MEMBER_EPOCH);
    expect(joinAs(coordinator, 'a2', { instanceId: 'i' }).told).toHaveLength(3);
  });

  it('that was away when the coordinator failed over is still away', () => {
    const coordinator = createCoordinator();
    const a = joinAs(coordinator, 'a', { instanceId: 'i' });
    beat(coordinator, a, { memberEpoch: -2 });
    failOver(coordinator);
    expect(joinAs(coordinator, 'a2', { instanceId: 'i' }).told).toHaveLength(3);
    expect(describeIt(coordinator).groupEpoch).toBe(2);
  });

  it('that comes back with another subscription gets what that asks for', () => {
    const coordinator = createCoordinator();
    const a = joinAs(coordinator, 'a', { instanceId: 'i' });
    beat(coordinator, a, { memberEpoch: -2 });
    coordinator.wallMs += 1_000;
    const again = joinAs(coordinator, 'a2', { instanceId: 'i', topics: ['payments'] });
    expect(again.told).toEqual(['payments-0', 'payments-1']);
  });

  it('gives up what it had yet to give back when it goes away', () => {
    const coordinator = createCoordinator();
    const a = joinAs(coordinator, 'a', { instanceId: 'i' });
    coordinator.wallMs += 1_000;
    const b = joinAs(coordinator, 'b');
    pulse(coordinator, a);
    beat(coordinator, a, { memberEpoch: -2, topicPartitions: null });
    pulse(coordinator, b);
    expect(b.owned).toHaveLength(1);
  });
});
