/** Partitions of several replicas: what they agree on, and what becomes of it when a node dies. */
import { describe, expect, test } from 'vitest';
import { activeController } from '../../core/broker/control/controller-calls.ts';
import { highWatermarkOf } from '../../core/broker/partitions/partition-role.ts';
import type { Partition } from '../../core/broker/state.ts';
import { ErrorCode } from '../../core/protocol/errors.ts';
import type { FetchRequest } from '../../core/protocol/messages/01-fetch.ts';
import type { ResponseOf } from '../../core/protocol/messages/index.ts';
import { ToyCluster } from './cluster.ts';
import { batchOf, fetchBody, KEY, produceBody, valuesOf, wanted } from './speaking.ts';
import type { Changes } from './toy-world.ts';

const READY_MS = 5_000;
const CREATE = 19;
const DELETE_RECORDS = 21;
const ELECT_LEADERS = 43;
const STARTS = '/data/node/log-start-offset-checkpoint';

type Made = ResponseOf<0>['responses'][number]['partitionResponses'][number];

/** Three nodes that serve, and a topic of three replicas. */
function replicated(changes: (id: number) => Changes = () => ({}), replicationFactor = 3): ToyCluster {
  const cluster = new ToyCluster(3, changes).start();
  cluster.until(() => cluster.living.every((id) => cluster.world(id).isReady), READY_MS);
  cluster.until(() => [...cluster.node(1).image.cluster.brokers.values()].every(({ fenced }) => !fenced));
  const topics = [{ name: 'orders', numPartitions: 1, replicationFactor }];
  const answer = cluster.ask(1, cluster.connect(1), CREATE, 7, { topics, timeoutMs: 5_000 });
  expect(answer.topics.map(({ errorCode }) => errorCode)).toEqual([0]);
  return cluster;
}

function partitionAt(cluster: ToyCluster, id: number): Partition {
  return cluster.node(id).topics.byName.get('orders')!.partitions[0]!;
}

/** Who leads, by the word of the one that does; -1 for nobody. */
function leaderOf(cluster: ToyCluster): number {
  const leads = (id: number) => (cluster.node(id).topics.byName.get('orders')?.partitions[0]?.leader.epoch ?? -1) >= 0;
  return cluster.living.find(leads) ?? -1;
}

function isrAt(cluster: ToyCluster, id: number): readonly number[] {
  return [...(partitionAt(cluster, id).leader.inSync?.isr ?? [])].sort();
}

function send(cluster: ToyCluster, id: number, values: readonly string[], acks = -1, version = 9): Made {
  const connection = cluster.connect(id);
  const topicId = cluster.node(id).topics.byName.get('orders')!.id;
  const body = produceBody(0, batchOf(values), { acks, timeoutMs: 5_000, topicId });
  return cluster.ask(id, connection, KEY.produce, version, body).responses[0]!.partitionResponses[0]!;
}

function read(cluster: ToyCluster, id: number): string[] {
  const asked = fetchBody([wanted(0, 0)], { maxWaitMs: 0 });
  return valuesOf(cluster.ask(id, cluster.connect(id), KEY.fetch, 11, asked));
}

/** The disk of a node syncs no records of the topic any more. */
function holdSyncs(cluster: ToyCluster, id: number): void {
  const world = cluster.world(id);
  world.holdsSyncs = true;
  world.holdsOn = 'orders-0';
}

function controllerOf(cluster: ToyCluster): number {
  return cluster.living.find((id) => activeController(cluster.node(id)) === id) ?? -1;
}

describe('a record of a topic with three replicas', () => {
  test('is acknowledged with acks=all once all three have it on their disks', () => {
    const cluster = replicated();
    const leader = leaderOf(cluster);
    const [slow = 0] = cluster.living.filter((id) => id !== leader);
    holdSyncs(cluster, slow);
    const connection = cluster.connect(leader);
    cluster.world(leader).send(connection, KEY.produce, 9, produceBody(0, batchOf(['a']), { timeoutMs: 9_000 }));
    cluster.pass(200);
    expect(cluster.world(leader).pending(connection)).toEqual([]);
    expect(partitionAt(cluster, leader).log.durable).toBe(1);
    cluster.world(slow).releaseSyncs();
    cluster.pass(200);
    const answer = cluster.world(leader).take(connection, KEY.produce, 9).responses[0]?.partitionResponses[0];
    expect(answer).toMatchObject({ errorCode: 0, baseOffset: 0 });
    for (const id of cluster.living) expect(partitionAt(cluster, id).log.durable).toBe(1);
    cluster.pass(1_000);
    for (const id of cluster.living) expect(highWatermarkOf(partitionAt(cluster, id))).toBe(1);
  });

  test('goes to a follower along with what else came in the same turn, in one answer', () => {
    const cluster = replicated();
    const leader = leaderOf(cluster);
    const followers = cluster.living.filter((id) => id !== leader);
    const appends = (id: number) =>
      cluster.world(id).log.filter((line) => /^append .*orders-0.*\.log/.test(line)).length;
    const before = followers.map(appends);
    const [one, two] = [cluster.connect(leader), cluster.connect(leader)];
    cluster.world(leader).send(one, KEY.produce, 9, produceBody(0, batchOf(['a'])));
    cluster.world(leader).send(two, KEY.produce, 9, produceBody(0, batchOf(['b'])));
    cluster.pass(200);
    for (const id of followers) expect(partitionAt(cluster, id).log.end).toBe(2);
    expect(followers.map(appends)).toEqual(before.map((count) => count + 1));
  });

  test('counts for a follower that fetched in the very turn in which its leader heard that it leads', () => {
    const cluster = replicated();
    const leader = leaderOf(cluster);
    cluster.stop(leader);
    cluster.until(() => leaderOf(cluster) > 0);
    const second = leaderOf(cluster);
    expect(send(cluster, second, ['a'])).toMatchObject({ errorCode: 0, baseOffset: 0 });
    cluster.start(leader);
    cluster.until(() => isrAt(cluster, second).length === 3, 20_000);
    // The third node is silent from now on: the test speaks for it, at the node that is to lead again.
    const follower = [1, 2, 3].find((id) => id !== leader && id !== second)!;
    const { topic, followed } = partitionAt(cluster, follower);
    const { epoch: brokerEpoch } = cluster.node(leader).image.cluster.brokers.get(follower)!;
    cluster.alone.add(follower);
    const world = cluster.world(leader);
    const connection = cluster.connect(leader);
    const fetch = (changes: Partial<FetchRequest>, leaderEpoch: number): void => {
      const position = { currentLeaderEpoch: leaderEpoch, lastFetchedEpoch: leaderEpoch - 1, logStartOffset: 0 };
      const body = fetchBody([wanted(0, 1, position)], {
        replicaState: { replicaId: follower, replicaEpoch: brokerEpoch },
      });
      const topics = body.topics.map((one) => ({ ...one, topic: '', topicId: topic.id }));
      world.send(connection, KEY.fetch, 17, { ...body, topics, ...changes });
    };
    const leaderEpoch = followed!.leaderEpoch;
    fetch({ sessionEpoch: 0 }, leaderEpoch);
    cluster.pass(10);
    const { sessionId } = world.take(connection, KEY.fetch, 17);
    expect(sessionId).toBeGreaterThan(0);
    fetch({ sessionId, sessionEpoch: 1 }, leaderEpoch + 1);
    const asker = cluster.connect(second);
    const topicPartitions = [{ topic: 'orders', partitions: [0] }];
    cluster.world(second).send(asker, ELECT_LEADERS, 2, { electionType: 0, topicPartitions, timeoutMs: 1_000 });
    cluster.settle();
    expect(partitionAt(cluster, leader).leader.epoch).toBe(leaderEpoch + 1);
    cluster.pass(600);
    expect(world.take(connection, KEY.fetch, 17)).toMatchObject({ errorCode: 0 });
    expect(partitionAt(cluster, leader).leader.inSync?.followers.get(follower)?.fetchOffset).toBe(1);
  });

  test('is had by a follower at rest in each life that its controller gives it, though it lists nothing anew', () => {
    const cluster = replicated();
    const leader = leaderOf(cluster);
    expect(send(cluster, leader, ['a'])).toMatchObject({ errorCode: 0, baseOffset: 0 });
    // One follower is silent from now on: the test speaks for it.
    const [follower = 0] = cluster.living.filter((id) => id !== leader);
    cluster.alone.add(follower);
    const { topic, followed } = partitionAt(cluster, follower);
    const { epoch } = cluster.node(leader).image.cluster.brokers.get(follower)!;
    const position = { currentLeaderEpoch: followed!.leaderEpoch, lastFetchedEpoch: followed!.leaderEpoch };
    const listed = fetchBody([wanted(0, 1, { ...position, logStartOffset: 0 })], { maxWaitMs: 0 });
    const topics = listed.topics.map((one) => ({ ...one, topic: '', topicId: topic.id }));
    const connection = cluster.connect(leader);
    const ask = (replicaEpoch: number, changes: Partial<ReturnType<typeof fetchBody>>) => {
      const body = { ...listed, replicaState: { replicaId: follower, replicaEpoch }, ...changes };
      return cluster.ask(leader, connection, KEY.fetch, 17, body);
    };
    const { sessionId } = ask(epoch, { sessionEpoch: 0, topics });
    expect(sessionId).toBeGreaterThan(0);
    const known = () => partitionAt(cluster, leader).leader.inSync?.followers.get(follower)?.brokerEpoch;
    expect(known()).toBe(epoch);
    ask(epoch + 5, { sessionId, sessionEpoch: 1, topics: [] });
    expect(known()).toBe(epoch + 5);
  });

  test('is there when its leader has died and another leads', () => {
    const cluster = replicated();
    const first = leaderOf(cluster);
    expect(send(cluster, first, ['a'])).toMatchObject({ errorCode: 0, baseOffset: 0 });
    cluster.kill(first, 'power');
    cluster.until(() => leaderOf(cluster) > 0);
    const second = leaderOf(cluster);
    expect(second).not.toBe(first);
    expect(send(cluster, second, ['b'])).toMatchObject({ errorCode: 0, baseOffset: 1 });
    cluster.pass(1_000);
    expect(read(cluster, second)).toEqual(['0:0=a', '0:1=b']);
    cluster.start(first);
    cluster.until(() => isrAt(cluster, second).length === 3);
    expect(partitionAt(cluster, first).log.end).toBe(2);
  });

  test('outlives each node in turn', () => {
    const cluster = replicated();
    const values: string[] = [];
    for (let turn = 0; turn < 6; turn++) {
      const leader = leaderOf(cluster);
      values.push(`0:${turn}=${turn}`);
      expect(send(cluster, leader, [String(turn)])).toMatchObject({ errorCode: 0, baseOffset: turn });
      const victim = turn % 2 === 0 ? leader : controllerOf(cluster);
      cluster.kill(victim, turn % 3 === 0 ? 'power' : 'process');
      cluster.until(() => leaderOf(cluster) > 0);
      cluster.start(victim);
      cluster.until(() => isrAt(cluster, leaderOf(cluster)).length === 3, 20_000);
    }
    cluster.pass(1_000);
    expect(read(cluster, leaderOf(cluster))).toEqual(values);
  });

  test('that the old leader alone has is cut from its log, and others take its place', () => {
    const cluster = replicated();
    const first = leaderOf(cluster);
    expect(send(cluster, first, ['a'])).toMatchObject({ errorCode: 0 });
    cluster.alone.add(first);
    const connection = cluster.connect(first);
    cluster.world(first).send(connection, KEY.produce, 9, produceBody(0, batchOf(['lost']), { acks: 1 }));
    cluster.pass(10);
    expect(cluster.world(first).take(connection, KEY.produce, 9).responses[0]?.partitionResponses[0]).toMatchObject({
      errorCode: 0,
      baseOffset: 1,
    });
    const others = cluster.living.filter((id) => id !== first);
    cluster.until(() => others.some((id) => partitionAt(cluster, id).leader.epoch >= 0), 30_000);
    const second = others.find((id) => partitionAt(cluster, id).leader.epoch >= 0) ?? -1;
    expect(send(cluster, second, ['b', 'c'])).toMatchObject({ errorCode: 0, baseOffset: 1 });
    cluster.alone.delete(first);
    cluster.until(() => isrAt(cluster, second).length === 3, 60_000);
    cluster.pass(1_000);
    expect(read(cluster, second)).toEqual(['0:0=a', '0:1=b', '0:2=c']);
    expect(partitionAt(cluster, first).log.end).toBe(3);
    expect(partitionAt(cluster, first).lowered).toBeNull();
    cluster.kill(first, 'power');
    cluster.start(first);
    cluster.until(() => isrAt(cluster, leaderOf(cluster)).length === 3, 20_000);
    expect(partitionAt(cluster, first).log.end).toBe(3);
  });
});

describe('records that are deleted', () => {
  function deletion(offset: number, timeoutMs = 5_000) {
    return { topics: [{ name: 'orders', partitions: [{ partitionIndex: 0, offset }] }], timeoutMs };
  }

  function remove(cluster: ToyCluster, id: number, offset: number, timeoutMs?: number) {
    const answer = cluster.ask(id, cluster.connect(id), DELETE_RECORDS, 2, deletion(offset, timeoutMs));
    return answer.topics[0]?.partitions[0];
  }

  test('stay deleted when their leader has died: all in sync have written down where the log begins', () => {
    const cluster = replicated();
    const first = leaderOf(cluster);
    for (const value of ['a', 'b', 'c', 'd']) expect(send(cluster, first, [value])).toMatchObject({ errorCode: 0 });
    cluster.pass(1_000);
    expect(remove(cluster, first, 3)).toMatchObject({ errorCode: 0, lowWatermark: 3 });
    for (const id of cluster.living) {
      expect(partitionAt(cluster, id).log.start).toBe(3);
      const lines = new TextDecoder().decode(cluster.world(id).files.get(STARTS)?.bytes);
      expect(lines).toContain('orders 0 3');
    }
    cluster.kill(first, 'power');
    cluster.until(() => leaderOf(cluster) > 0);
    const second = leaderOf(cluster);
    expect(partitionAt(cluster, second).log.start).toBe(3);
    cluster.start(first);
    cluster.until(() => isrAt(cluster, second).length === 3);
    expect(partitionAt(cluster, first).log.start).toBe(3);
  });

  test('are not said to be deleted while a replica in sync has not heard of it, as long as the client waits', () => {
    const cluster = replicated();
    const leader = leaderOf(cluster);
    for (const value of ['a', 'b', 'c']) expect(send(cluster, leader, [value])).toMatchObject({ errorCode: 0 });
    cluster.pass(1_000);
    const [away = 0] = cluster.living.filter((id) => id !== leader);
    cluster.alone.add(away);
    expect(remove(cluster, leader, 2, 1_000)).toMatchObject({ errorCode: ErrorCode.REQUEST_TIMED_OUT });
    cluster.alone.delete(away);
    cluster.until(() => partitionAt(cluster, away).log.start === 2, 60_000);
    cluster.until(() => isrAt(cluster, leaderOf(cluster)).length === 3, 60_000);
    expect(remove(cluster, leaderOf(cluster), 2)).toMatchObject({ errorCode: 0, lowWatermark: 2 });
  });
});

describe('the in-sync set', () => {
  test('loses a follower that lags, and acks=all goes on without it; fewer than the minimum are refused', () => {
    const cluster = replicated(() => ({ 'replica.lag.time.max.ms': '2000', 'min.insync.replicas': '2' }));
    const leader = leaderOf(cluster);
    const [one = 0, two = 0] = cluster.living.filter((id) => id !== leader);
    holdSyncs(cluster, one);
    cluster.world(leader).send(cluster.connect(leader), KEY.produce, 9, produceBody(0, batchOf(['a'])));
    cluster.until(() => !isrAt(cluster, leader).includes(one));
    expect(isrAt(cluster, leader)).toEqual([leader, two].sort());
    expect(send(cluster, leader, ['b'])).toMatchObject({ errorCode: 0, baseOffset: 1 });
    holdSyncs(cluster, two);
    cluster.world(leader).send(cluster.connect(leader), KEY.produce, 9, produceBody(0, batchOf(['c'])));
    cluster.until(() => isrAt(cluster, leader).length === 1);
    expect(send(cluster, leader, ['d'])).toMatchObject({ errorCode: ErrorCode.NOT_ENOUGH_REPLICAS });
    cluster.world(one).releaseSyncs();
    cluster.world(two).releaseSyncs();
    cluster.until(() => isrAt(cluster, leader).length === 3);
  });
});

describe('a client', () => {
  test('is told by a follower, and by a node without a replica, who leads and where that is', () => {
    const cluster = replicated(undefined, 2);
    const leader = leaderOf(cluster);
    const replicas = partitionAt(cluster, leader).leader.inSync?.replicas ?? [];
    for (const id of cluster.living.filter((one) => one !== leader)) {
      const topicId = cluster.node(id).topics.byName.get('orders')!.id;
      const body = produceBody(0, batchOf(['a']), { topicId });
      const answer = cluster.ask(id, cluster.connect(id), KEY.produce, 13, body);
      expect(answer.responses[0]?.partitionResponses[0]).toMatchObject({
        errorCode: ErrorCode.NOT_LEADER_OR_FOLLOWER,
        currentLeader: { leaderId: leader },
      });
      expect(answer.nodeEndpoints).toMatchObject([{ nodeId: leader, host: `node${leader}`, port: 9092 }]);
      expect(partitionAt(cluster, id) !== null).toBe(replicas.includes(id));
    }
  });
});
