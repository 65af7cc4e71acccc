/** Leaders say who is in sync: what the controller believes, and what it makes of it. */
import { describe, expect, it } from 'vitest';
import { topicByName } from '../../core/metadata/image.ts';
import { metadataRecord, partitionChange } from '../../core/metadata/records.ts';
import { idOf } from '../metadata/cluster.ts';
import {
  alter,
  append,
  ask,
  beat,
  briefOf,
  type Cluster,
  createCluster,
  createTopic,
  epochOf,
  fence,
  partitionOf,
  register,
  startBrokers,
  threeReplicas,
} from './cluster.ts';

describe('an in-sync set', () => {
  it('shrinks and grows as the leader says, in the same leader epoch', () => {
    const [cluster, first, second, third] = threeReplicas();
    expect(alter(cluster, [first, second])).toEqual({
      partitionIndex: 0,
      errorCode: 0,
      leaderId: first,
      leaderEpoch: 0,
      isr: [first, second],
      leaderRecoveryState: 0,
      partitionEpoch: 1,
    });
    expect(briefOf(cluster)).toEqual([first, [first, second], [], [], 0]);
    expect(alter(cluster, [first, second, third])).toMatchObject({ errorCode: 0, partitionEpoch: 2, leaderEpoch: 0 });
    expect(briefOf(cluster)).toEqual([first, [first, second, third], [], [], 0]);
  });

  it('below the minimum leaves those that left eligible, and takes that from them once it is reached again', () => {
    const [cluster, first, second, third] = threeReplicas();
    alter(cluster, [first]);
    expect(briefOf(cluster)).toEqual([first, [first], [second, third], [], 0]);
    alter(cluster, [first, third]);
    expect(briefOf(cluster)).toEqual([first, [first, third], [], [], 0]);
  });

  it('costs no record if it is as it was', () => {
    const [cluster, first, second, third] = threeReplicas();
    const length = cluster.log.length;
    expect(alter(cluster, [first, second, third])).toMatchObject({ errorCode: 0, partitionEpoch: 0 });
    expect(cluster.log).toHaveLength(length);
  });

  it('begins a new leader epoch when it shrinks in a cluster of an old version', () => {
    const [cluster, first, second] = threeReplicas();
    append(cluster, [metadataRecord('FeatureLevelRecord', 0, { name: 'metadata.version', featureLevel: 11 })]);
    expect(alter(cluster, [first, second])).toMatchObject({ errorCode: 0, leaderEpoch: 1, partitionEpoch: 1 });
  });

  it('is taken from a broker that does not say the epochs of the members, too', () => {
    const [cluster, first, second] = threeReplicas();
    expect(alter(cluster, [first, second], { version: 2 })).toMatchObject({ errorCode: 0, isr: [first, second] });
  });
});

describe('a request is refused', () => {
  it('as a whole, of a broker in another life', () => {
    const [cluster, first] = threeReplicas();
    const body = { brokerId: first, brokerEpoch: 0, topics: [] };
    expect(ask(cluster, 56, 3, body)).toMatchObject({ errorCode: 77, topics: [] });
    expect(ask(cluster, 56, 3, { ...body, brokerId: 9, brokerEpoch: -1 })).toMatchObject({ errorCode: 77 });
  });

  it('for epochs that are over, and for epochs of which this controller has not heard', () => {
    const [cluster, first, second, third] = threeReplicas();
    alter(cluster, [first, second]);
    expect(alter(cluster, [first, second, third], { partitionEpoch: 0 }).errorCode).toBe(95);
    expect(alter(cluster, [first], { partitionEpoch: 2 }).errorCode).toBe(41);
    expect(alter(cluster, [first], { leaderEpoch: 1 }).errorCode).toBe(41);
    fence(cluster, first);
    beat(cluster, first);
    expect(alter(cluster, [first, second], { leader: first, leaderEpoch: 0 }).errorCode).toBe(74);
  });

  it('of whoever does not lead', () => {
    const [cluster, first, second] = threeReplicas();
    expect(alter(cluster, [first, second], { leader: second }).errorCode).toBe(42);
  });

  it('for sets that cannot be: empty, doubled, of strangers, without the leader', () => {
    const [cluster, first, second] = threeReplicas({ minInsync: 1, brokers: 4 });
    const stranger = [1, 2, 3, 4].find((id) => !partitionOf(cluster).replicas.includes(id)) as number;
    for (const isr of [[], [first, first], [first, stranger], [second]]) {
      expect(alter(cluster, isr).errorCode).toBe(42);
    }
    expect(briefOf(cluster)[1]).toHaveLength(3);
  });

  it('for members that are fenced, about to shut down, gone, or in another life than the leader saw', () => {
    const [cluster, first, second, third] = threeReplicas();
    fence(cluster, third);
    expect(alter(cluster, [first, second, third]).errorCode).toBe(107);
    beat(cluster, third);
    const stale = epochOf(cluster, third);
    fence(cluster, third);
    register(cluster, third, { life: 1 });
    beat(cluster, third);
    const memberEpochs = [epochOf(cluster, first), epochOf(cluster, second), stale];
    expect(alter(cluster, [first, second, third], { memberEpochs }).errorCode).toBe(107);
    expect(alter(cluster, [first, second, third], { memberEpochs: [-1, -1, -1] }).errorCode).toBe(0);
    // A broker that leads something is not away at once.
    createTopic(cluster, 'other', 6, 1);
    beat(cluster, third, { shutDown: true });
    expect(partitionOf(cluster).isr).toEqual([first, second]);
    expect(alter(cluster, [first, second, third]).errorCode).toBe(107);
  });

  it('for a topic or a partition that is not there', () => {
    const [cluster, first] = threeReplicas();
    expect(alter(cluster, [first], { index: 7, leader: first }).errorCode).toBe(3);
    expect(alter(cluster, [first], { topic: 'no', leader: first }).errorCode).toBe(100);
  });

  it('the second time in one request', () => {
    const [cluster, first, second] = threeReplicas();
    const partition = {
      partitionIndex: 0,
      leaderEpoch: 0,
      newIsr: [first, second],
      leaderRecoveryState: 0,
      partitionEpoch: 0,
      newIsrWithEpochs: [],
    };
    const topicId = topicByName(cluster.controller.image, 't')?.id ?? '';
    const topics = [{ topicId, partitions: [partition, partition] }];
    const answer = ask(cluster, 56, 2, { brokerId: first, brokerEpoch: epochOf(cluster, first), topics });
    expect(answer.topics[0]?.partitions.map(({ errorCode }) => errorCode)).toEqual([0, 95]);
    expect(partitionOf(cluster).partitionEpoch).toBe(1);
  });
});

describe('a leader that recovers from an unclean election', () => {
  /** All are gone; the third, which was not in sync, leads because the topic allows it. */
  function recovering(): [Cluster, number, number] {
    const cluster = createCluster();
    startBrokers(cluster, 3);
    createTopic(cluster, 't', 1, 3, [['unclean.leader.election.enable', 'true']]);
    const [first, second, third] = partitionOf(cluster).replicas as [number, number, number];
    fence(cluster, third);
    fence(cluster, second);
    beat(cluster, third);
    fence(cluster, first);
    expect(briefOf(cluster)).toEqual([third, [third], [], [], 1]);
    beat(cluster, first);
    return [cluster, third, first];
  }

  it('is alone in sync until it says that it has recovered', () => {
    const [cluster, leader, other] = recovering();
    expect(alter(cluster, [leader, other], { recovery: 1 }).errorCode).toBe(42);
    expect(alter(cluster, [leader], { recovery: 1 })).toMatchObject({ errorCode: 0, leaderRecoveryState: 1 });
    expect(alter(cluster, [leader], { recovery: 0 })).toMatchObject({ errorCode: 0, leaderRecoveryState: 0 });
    expect(briefOf(cluster)[4]).toBe(0);
    expect(alter(cluster, [leader, other])).toMatchObject({ errorCode: 0, isr: [leader, other] });
  });

  it('does not recover twice', () => {
    const [cluster, leader] = recovering();
    alter(cluster, [leader], { recovery: 0 });
    expect(alter(cluster, [leader], { recovery: 1 }).errorCode).toBe(42);
    expect(alter(cluster, [leader], { recovery: 7 }).errorCode).toBe(42);
  });
});

describe('a partition that moves', () => {
  /** From `old` to `fresh` replicas, all brokers alive. */
  function moving(adding: number[], removing: number[]): Cluster {
    const cluster = createCluster();
    startBrokers(cluster, 5);
    const assignments = [{ partitionIndex: 0, brokerIds: [1, 2, 3] }];
    const topic = { name: 't', numPartitions: -1, replicationFactor: -1, assignments, configs: [] };
    expect(ask(cluster, 19, 7, { topics: [topic] }).topics[0]?.errorCode).toBe(0);
    const change = partitionChange(2, topicByName(cluster.controller.image, 't')?.id ?? '', 0);
    change.value.replicas = [...adding, 1, 2, 3];
    change.value.addingReplicas = adding;
    change.value.removingReplicas = removing;
    change.value.directories = change.value.replicas.map((id) => idOf(6000 + id));
    append(cluster, [change]);
    return cluster;
  }

  it('goes on while the new replicas are not all in sync, and is complete when they are', () => {
    const cluster = moving([4, 5], [3]);
    expect(alter(cluster, [1, 2, 3, 4])).toMatchObject({ errorCode: 0, isr: [1, 2, 3, 4] });
    expect(partitionOf(cluster)).toMatchObject({ replicas: [4, 5, 1, 2, 3], addingReplicas: [4, 5] });
    expect(alter(cluster, [1, 2, 3, 4, 5])).toMatchObject({ errorCode: 0, isr: [1, 2, 4, 5], leaderEpoch: 1 });
    expect(partitionOf(cluster)).toMatchObject({
      replicas: [4, 5, 1, 2],
      directories: [6004, 6005, 6001, 6002].map(idOf),
      addingReplicas: [],
      removingReplicas: [],
      isr: [1, 2, 4, 5],
      leader: 1,
      leaderEpoch: 1,
    });
  });

  it('away from its leader tells him that another was elected', () => {
    const cluster = moving([4], [1]);
    expect(alter(cluster, [1, 2, 3, 4]).errorCode).toBe(108);
    expect(partitionOf(cluster)).toMatchObject({ replicas: [4, 2, 3], isr: [2, 3, 4], leader: 4, leaderEpoch: 1 });
  });

  it('is complete when the last of those that leave is out of sync, and he is not eligible any more', () => {
    const cluster = moving([], [3]);
    fence(cluster, 3);
    expect(partitionOf(cluster)).toMatchObject({ replicas: [1, 2], isr: [1, 2], removingReplicas: [], elr: [] });
  });
});
