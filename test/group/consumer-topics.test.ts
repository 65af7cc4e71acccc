/** Topics that come, go, grow and move; expressions; racks; assignors; settings of one group. */
import { describe, expect, it } from 'vitest';
import { ResourceType } from '../../core/metadata/image.ts';
import { metadataRecord } from '../../core/metadata/records.ts';
import { ErrorCode } from '../../core/protocol/errors.ts';
import { brokerRecordOf, idOf, imageOf, topicRecordsOf } from '../metadata/cluster.ts';
import { beat, describeIt, joinAs, pulse, say, settleAll } from './consumers.ts';
import { advance, type Coordinator, createCoordinator, failOver, TOPICS } from './coordinator.ts';

function make(coordinator: Coordinator, name: string, partitions: number, id = 50): void {
  coordinator.image = imageOf(topicRecordsOf(name, idOf(id), partitions, [1]), coordinator.image);
  coordinator.wallMs += 1_000;
}

function remove(coordinator: Coordinator, topicId: string): void {
  coordinator.image = imageOf([metadataRecord('RemoveTopicRecord', 0, { topicId })], coordinator.image);
  coordinator.wallMs += 1_000;
}

describe('a topic', () => {
  it('that comes is dealt out with the next heartbeat', () => {
    const coordinator = createCoordinator();
    const a = joinAs(coordinator, 'a', { topics: ['orders', 'later'] });
    make(coordinator, 'later', 2);
    pulse(coordinator, a);
    expect(a.told).toEqual(['later-0', 'later-1', 'orders-0', 'orders-1', 'orders-2']);
    expect(describeIt(coordinator).groupEpoch).toBe(3);
  });

  it('that grows is dealt out with the next heartbeat', () => {
    const coordinator = createCoordinator();
    const a = joinAs(coordinator, 'a');
    const last = topicRecordsOf('orders', TOPICS.orders, 4, [1]).slice(-1);
    coordinator.image = imageOf(last, coordinator.image);
    coordinator.wallMs += 1_000;
    pulse(coordinator, a);
    expect(a.told).toContain('orders-3');
  });

  it('that goes is given back', () => {
    const coordinator = createCoordinator();
    const a = joinAs(coordinator, 'a', { topics: ['orders', 'payments'] });
    remove(coordinator, TOPICS.orders);
    settleAll(coordinator, [a]);
    expect(a.owned).toEqual(['payments-0', 'payments-1']);
    expect(describeIt(coordinator).groupState).toBe('Stable');
  });

  it('that goes and comes again under its name is another', () => {
    const coordinator = createCoordinator();
    const a = joinAs(coordinator, 'a');
    remove(coordinator, TOPICS.orders);
    make(coordinator, 'orders', 1);
    beat(coordinator, a, { topicPartitions: [] });
    expect(a.told).toEqual(['orders-0']);
    expect(describeIt(coordinator).members[0]?.assignment.topicPartitions[0]?.topicId).toBe(idOf(50));
  });

  it('that nobody reads, or that only gets other leaders, changes nothing', () => {
    const coordinator = createCoordinator();
    const a = joinAs(coordinator, 'a');
    const written = coordinator.log.length;
    make(coordinator, 'other', 2);
    pulse(coordinator, a);
    const change = { partitionId: 0, topicId: TOPICS.orders, leader: -1, isr: [1] };
    coordinator.image = imageOf([metadataRecord('PartitionChangeRecord', 0, change)], coordinator.image);
    pulse(coordinator, a);
    expect(coordinator.log).toHaveLength(written);
  });

  it('that a member stops to read is given back at once, before partitions are dealt out anew', () => {
    const coordinator = createCoordinator();
    const a = joinAs(coordinator, 'a', { topics: ['orders', 'payments'] });
    beat(coordinator, a, { subscribedTopicNames: ['payments'] });
    expect(describeIt(coordinator)).toMatchObject({ groupEpoch: 3, assignmentEpoch: 2 });
    expect(a.told).toEqual(['payments-0', 'payments-1']);
    beat(coordinator, a);
    expect(describeIt(coordinator).members[0]).toMatchObject({ memberEpoch: 2 });
    settleAll(coordinator, [a]);
    expect(describeIt(coordinator).members[0]).toMatchObject({ memberEpoch: 3 });
  });
});

describe('an expression', () => {
  it('means the topics whose whole name it matches, together with names', () => {
    const coordinator = createCoordinator();
    make(coordinator, 'orders-old', 1);
    const a = joinAs(coordinator, 'a', { topics: ['payments'], subscribedTopicRegex: 'order.' });
    expect(a.told).toEqual(['orders-0', 'orders-1', 'orders-2', 'payments-0', 'payments-1']);
    expect(describeIt(coordinator).members[0]).toMatchObject({ subscribedTopicRegex: 'order.' });
  });

  it('follows topics that come and go, also with a coordinator that takes over', () => {
    const coordinator = createCoordinator();
    const a = joinAs(coordinator, 'a', { topics: [], subscribedTopicRegex: 'o.*' });
    make(coordinator, 'offers', 1);
    pulse(coordinator, a);
    expect(a.told).toContain('offers-0');
    failOver(coordinator);
    remove(coordinator, TOPICS.orders);
    settleAll(coordinator, [a]);
    expect(a.owned).toEqual(['offers-0']);
    make(coordinator, 'other', 1, 51);
    pulse(coordinator, a);
    expect(a.told).toEqual(['offers-0', 'other-0']);
  });

  it('that is none is refused, also from a member, which stays as it was', () => {
    const coordinator = createCoordinator();
    const a = joinAs(coordinator, 'a');
    const written = coordinator.log.length;
    const response = beat(coordinator, a, { subscribedTopicRegex: '(' });
    expect(response.errorCode).toBe(ErrorCode.INVALID_REGULAR_EXPRESSION);
    expect(coordinator.log).toHaveLength(written);
    expect(pulse(coordinator, a).errorCode).toBe(ErrorCode.NONE);
    expect(beat(coordinator, a, { subscribedTopicRegex: 'a'.repeat(1_001) }).errorCode).toBe(
      ErrorCode.INVALID_REGULAR_EXPRESSION,
    );
  });

  it('is looked up anew, whole, once in its interval, and written only where it means something else', () => {
    const coordinator = createCoordinator();
    const a = joinAs(coordinator, 'a', { topics: ['payments'] });
    beat(coordinator, a, { subscribedTopicRegex: 'o.*' });
    settleAll(coordinator, [a]);
    const group = coordinator.state.groups.get('g');
    const resolved = group?.kind === 'consumer' ? group.regexes.get('o.*') : undefined;
    // As if a name had escaped it when the topic came.
    if (group?.kind === 'consumer' && resolved !== undefined) group.regexes.set('o.*', { ...resolved, topics: [] });
    coordinator.checksReplay = false;
    const { regexRefreshIntervalMs } = coordinator.config.consumer;
    for (let atMs = 0; atMs < regexRefreshIntervalMs; atMs += 30_000) {
      expect(group?.kind === 'consumer' ? group.regexes.get('o.*')?.topics : null).toEqual([]);
      advance(coordinator, 30_000);
      pulse(coordinator, a);
    }
    expect(group?.kind === 'consumer' ? group.regexes.get('o.*')?.topics : null).toEqual(['orders']);
    settleAll(coordinator, [a]);
    const written = coordinator.log.length;
    for (let atMs = 0; atMs < 2 * regexRefreshIntervalMs; atMs += 30_000) {
      advance(coordinator, 30_000);
      pulse(coordinator, a);
    }
    expect(coordinator.log).toHaveLength(written);
  });

  it('is forgotten when the last member that uses it changes it or goes', () => {
    const coordinator = createCoordinator();
    const a = joinAs(coordinator, 'a', { topics: [], subscribedTopicRegex: 'o.*' });
    const b = joinAs(coordinator, 'b', { topics: [], subscribedTopicRegex: 'o.*' });
    settleAll(coordinator, [a, b]);
    const group = () => {
      const found = coordinator.state.groups.get('g');
      return found?.kind === 'consumer' ? [...found.regexes.keys()] : [];
    };
    beat(coordinator, a, { subscribedTopicRegex: 'p.*' });
    expect(group().sort()).toEqual(['o.*', 'p.*']);
    beat(coordinator, b, { memberEpoch: -1 });
    expect(group()).toEqual(['p.*']);
    beat(coordinator, a, { subscribedTopicRegex: '', subscribedTopicNames: ['orders'] });
    expect(group()).toEqual([]);
  });
});

describe('racks', () => {
  /** Topics 'near' and 'far', of which broker 1 has one and broker 2 the other, in the given racks. */
  function twoBrokers(coordinator: Coordinator, rack1: string, rack2: string, epoch: number): void {
    const brokers = [brokerRecordOf(1, epoch, false, rack1), brokerRecordOf(2, epoch + 1, false, rack2)];
    coordinator.image = imageOf(brokers, coordinator.image);
    coordinator.wallMs += 1_000;
  }

  it('that brokers move to draw their partitions after them, whether topics changed since or not', () => {
    for (const isOtherTopicNew of [false, true]) {
      const coordinator = createCoordinator();
      const topics = ['near', 'far'];
      make(coordinator, 'near', 2, 60);
      coordinator.image = imageOf(topicRecordsOf('far', idOf(61), 2, [2]), coordinator.image);
      twoBrokers(coordinator, 'left', 'right', 10);
      const a = joinAs(coordinator, 'a', { topics, rackId: 'left' });
      const b = joinAs(coordinator, 'b', { topics, rackId: 'right' });
      settleAll(coordinator, [a, b]);
      expect(a.owned).toEqual(['near-0', 'near-1']);
      twoBrokers(coordinator, 'right', 'left', 12);
      if (isOtherTopicNew) make(coordinator, 'other', 1, 62);
      settleAll(coordinator, [a, b]);
      expect([a.owned, b.owned]).toEqual([
        ['far-0', 'far-1'],
        ['near-0', 'near-1'],
      ]);
    }
  });

  it('that stay what they are while brokers restart change nothing', () => {
    const coordinator = createCoordinator();
    twoBrokers(coordinator, 'left', 'right', 10);
    const a = joinAs(coordinator, 'a', { rackId: 'left' });
    const written = coordinator.log.length;
    twoBrokers(coordinator, 'left', 'right', 12);
    pulse(coordinator, a);
    expect(coordinator.log).toHaveLength(written);
  });

  it('draw partitions to members that are near, where members name theirs', () => {
    const coordinator = createCoordinator();
    const brokers = [brokerRecordOf(1, 10, false, 'left'), brokerRecordOf(2, 11, false, 'right')];
    const near = [...topicRecordsOf('near', idOf(60), 2, [1]), ...topicRecordsOf('far', idOf(61), 2, [2])];
    coordinator.image = imageOf([...brokers, ...near], coordinator.image);
    const topics = ['near', 'far'];
    const a = joinAs(coordinator, 'a', { topics, rackId: 'left' });
    const b = joinAs(coordinator, 'b', { topics, rackId: 'right' });
    settleAll(coordinator, [a, b]);
    expect(a.owned).toEqual(['near-0', 'near-1']);
    expect(b.owned).toEqual(['far-0', 'far-1']);
    expect(describeIt(coordinator).members[0]).toMatchObject({ rackId: 'left' });
  });
});

describe('assignors', () => {
  it('the one that most members ask for deals out; a change of it deals out anew', () => {
    const coordinator = createCoordinator();
    const topics = ['orders', 'payments'];
    const a = joinAs(coordinator, 'a', { topics, serverAssignor: 'range' });
    const b = joinAs(coordinator, 'b', { topics });
    settleAll(coordinator, [a, b]);
    expect(a.owned).toEqual(['orders-0', 'orders-1', 'payments-0']);
    expect(describeIt(coordinator)).toMatchObject({ assignorName: 'range', groupEpoch: 3 });
    beat(coordinator, a, { serverAssignor: 'uniform' });
    expect(describeIt(coordinator)).toMatchObject({ assignorName: 'uniform', groupEpoch: 4 });
  });
});

describe("a group's own settings", () => {
  it('count for a coordinator that has just loaded the group, too', () => {
    const coordinator = createCoordinator();
    const value = { resourceType: ResourceType.GROUP, resourceName: 'g', name: 'consumer.session.timeout.ms' };
    coordinator.image = imageOf([metadataRecord('ConfigRecord', 0, { ...value, value: '60000' })], coordinator.image);
    const a = joinAs(coordinator, 'a');
    failOver(coordinator);
    advance(coordinator, 59_000);
    expect(pulse(coordinator, a).errorCode).toBe(ErrorCode.NONE);
    advance(coordinator, 61_000);
    expect(pulse(coordinator, a).errorCode).toBe(ErrorCode.UNKNOWN_MEMBER_ID);
  });

  it('count within the bounds that the broker gives', () => {
    const coordinator = createCoordinator();
    const set = (name: string, value: string) =>
      metadataRecord('ConfigRecord', 0, { resourceType: ResourceType.GROUP, resourceName: 'g', name, value });
    coordinator.image = imageOf(
      [set('consumer.heartbeat.interval.ms', '7000'), set('consumer.assignment.interval.ms', '0')],
      coordinator.image,
    );
    joinAs(coordinator, 'a');
    joinAs(coordinator, 'b');
    expect(describeIt(coordinator)).toMatchObject({ groupEpoch: 3, assignmentEpoch: 3 });
    expect(say(coordinator, { memberId: 'a', memberEpoch: 2 }).heartbeatIntervalMs).toBe(7_000);
    coordinator.image = imageOf([set('consumer.heartbeat.interval.ms', '90000')], coordinator.image);
    expect(say(coordinator, { memberId: 'a', memberEpoch: 2 }).heartbeatIntervalMs).toBe(15_000);
  });
});
