/** Partitions that move from node to node: what the new replicas have, and what becomes of the files of the old. */
import { describe, expect, test } from 'vitest';
import type { Partition } from '../../core/broker/state.ts';
import { type PartitionImage, topicByName } from '../../core/metadata/image.ts';
import { ErrorCode } from '../../core/protocol/errors.ts';
import { ToyCluster } from './cluster.ts';
import { batchOf, fetchBody, KEY, produceBody, valuesOf, wanted } from './speaking.ts';

const READY_MS = 5_000;
const CREATE = 19;
const SET = 44;
const MOVE = 45;
const LIST = 46;
const FOLDER = '/data/node/orders-0';

/** Three nodes that serve, and a topic of one partition on some of them. */
function placed(brokerIds: readonly number[]): ToyCluster {
  const cluster = new ToyCluster(3).start();
  cluster.until(() => cluster.living.every((id) => cluster.world(id).isReady), READY_MS);
  cluster.until(() => [...cluster.node(1).image.cluster.brokers.values()].every(({ fenced }) => !fenced));
  const assignments = [{ partitionIndex: 0, brokerIds }];
  const topics = [{ name: 'orders', numPartitions: -1, replicationFactor: -1, assignments }];
  const answer = cluster.ask(1, cluster.connect(1), CREATE, 7, { topics, timeoutMs: 5_000 });
  expect(answer.topics.map(({ errorCode }) => errorCode)).toEqual([0]);
  return cluster;
}

function partitionAt(cluster: ToyCluster, id: number): Partition | null {
  return cluster.node(id).topics.byName.get('orders')?.partitions[0] ?? null;
}

/** Asks `through` to move the partition; null takes the move back. */
function move(cluster: ToyCluster, replicas: readonly number[] | null, through = 1): void {
  const topics = [{ name: 'orders', partitions: [{ partitionIndex: 0, replicas }] }];
  const answer = cluster.ask(through, cluster.connect(through), MOVE, 1, { topics, timeoutMs: 5_000 });
  expect(answer.responses[0]?.partitions).toEqual([{ partitionIndex: 0, errorCode: 0, errorMessage: null }]);
}

/** Moves under way, as a node tells them: replicas, those that come, those that go. */
function moves(cluster: ToyCluster, through: number): (readonly number[])[][] {
  const { topics } = cluster.ask(through, cluster.connect(through), LIST, 0, { topics: null, timeoutMs: 5_000 });
  return topics.flatMap(({ partitions }) =>
    partitions.map(({ replicas, addingReplicas, removingReplicas }) => [replicas, addingReplicas, removingReplicas]),
  );
}

function imageAt(cluster: ToyCluster, id: number): PartitionImage | undefined {
  return topicByName(cluster.node(id).image, 'orders')?.partitions[0];
}

/** Time passes until the partition is where it is to be, as far as every living node knows. */
function untilAt(cluster: ToyCluster, replicas: readonly number[]): void {
  cluster.until(() => cluster.living.every((id) => imageAt(cluster, id)?.replicas.join() === replicas.join()), 60_000);
}

function send(cluster: ToyCluster, id: number, values: readonly string[]): number {
  const body = produceBody(0, batchOf(values), { acks: -1, timeoutMs: 5_000 });
  const answer = cluster.ask(id, cluster.connect(id), KEY.produce, 9, body);
  return answer.responses[0]?.partitionResponses[0]?.errorCode ?? -1;
}

function read(cluster: ToyCluster, id: number): string[] {
  const asked = fetchBody([wanted(0, 0)], { maxWaitMs: 0 });
  return valuesOf(cluster.ask(id, cluster.connect(id), KEY.fetch, 11, asked));
}

/** The folders of the partition at a node, by what their names end in. */
function foldersAt(cluster: ToyCluster, id: number): string[] {
  const found = [...cluster.world(id).folders].filter((name) => name.startsWith(FOLDER));
  return found.map((name) => name.slice(FOLDER.length).replace(/^\.[0-9a-f]{32}/, '')).sort();
}

describe('a partition that moves', () => {
  test('to one replica takes records with acks=all, whatever min.insync.replicas wants of more', () => {
    const cluster = placed([1, 2]);
    set(cluster, 2, 'orders', 'min.insync.replicas', '2');
    move(cluster, [2]);
    untilAt(cluster, [2]);
    expect(send(cluster, 2, ['a'])).toBe(0);
    move(cluster, [2, 3]);
    untilAt(cluster, [2, 3]);
    cluster.until(() => partitionAt(cluster, 2)?.leader.inSync?.isr.length === 2);
    expect(send(cluster, 2, ['b'])).toBe(0);
  });

  test('takes its records along, and leaves nothing behind once its time is over', () => {
    const cluster = placed([1]);
    expect(send(cluster, 1, ['a', 'b'])).toBe(0);
    move(cluster, [2], 3);
    untilAt(cluster, [2]);
    expect(send(cluster, 1, ['x'])).toBe(ErrorCode.NOT_LEADER_OR_FOLLOWER);
    expect(send(cluster, 2, ['c'])).toBe(0);
    expect(read(cluster, 2)).toEqual(['0:0=a', '0:1=b', '0:2=c']);
    expect(partitionAt(cluster, 1)).toBe(null);
    expect(foldersAt(cluster, 1)).toEqual(['-delete']);
    cluster.pass(61_000);
    expect(foldersAt(cluster, 1)).toEqual([]);
    expect(foldersAt(cluster, 2)).toEqual(['']);
  });

  test('gets followers under the epoch that it has, and waits for them from then on', () => {
    const cluster = placed([1]);
    expect(send(cluster, 1, ['a'])).toBe(0);
    const epoch = partitionAt(cluster, 1)?.leader.epoch;
    move(cluster, [1, 2, 3]);
    cluster.until(() => partitionAt(cluster, 1)?.leader.inSync?.isr.length === 3);
    expect(partitionAt(cluster, 1)?.leader.epoch).toBe(epoch);
    expect(moves(cluster, 2)).toEqual([]);
    const world = cluster.world(3);
    world.holdsSyncs = true;
    world.holdsOn = 'orders-0';
    const connection = cluster.connect(1);
    cluster.world(1).send(connection, KEY.produce, 9, produceBody(0, batchOf(['b']), { timeoutMs: 9_000 }));
    cluster.pass(500);
    expect(cluster.world(1).pending(connection)).toEqual([]);
    world.releaseSyncs();
    cluster.pass(500);
    expect(cluster.world(1).pending(connection).length).toBe(1);
    for (const id of [1, 2, 3]) expect(partitionAt(cluster, id)?.log.durable).toBe(2);
  });

  test('to fewer replicas goes on with those, and is led by one of them', () => {
    const cluster = placed([1, 2, 3]);
    expect(send(cluster, 1, ['a'])).toBe(0);
    move(cluster, [3]);
    untilAt(cluster, [3]);
    expect(send(cluster, 3, ['b'])).toBe(0);
    expect(read(cluster, 3)).toEqual(['0:0=a', '0:1=b']);
    for (const id of [1, 2]) expect(partitionAt(cluster, id)).toBe(null);
  });

  test('comes back to a node that has not yet deleted what it had, and begins there anew', () => {
    const cluster = placed([1]);
    expect(send(cluster, 1, ['a', 'b'])).toBe(0);
    move(cluster, [2]);
    untilAt(cluster, [2]);
    move(cluster, [1]);
    untilAt(cluster, [1]);
    expect(send(cluster, 1, ['c'])).toBe(0);
    expect(read(cluster, 1)).toEqual(['0:0=a', '0:1=b', '0:2=c']);
    expect(foldersAt(cluster, 1)).toEqual(['', '-delete']);
    cluster.kill(1, 'power');
    cluster.start(1);
    cluster.until(() => (partitionAt(cluster, 1)?.leader.epoch ?? -1) >= 0);
    expect(read(cluster, 1)).toEqual(['0:0=a', '0:1=b', '0:2=c']);
    expect(foldersAt(cluster, 1)).toEqual(['']);
  });

  test('waits for a target that is dead, and is taken back: what had come goes', () => {
    const cluster = placed([1]);
    expect(send(cluster, 1, ['a'])).toBe(0);
    cluster.kill(3);
    cluster.until(() => cluster.node(1).image.cluster.brokers.get(3)?.fenced === true);
    move(cluster, [2, 3]);
    cluster.until(() => partitionAt(cluster, 1)?.leader.inSync?.isr.length === 2);
    cluster.pass(5_000);
    expect(moves(cluster, 2)).toEqual([[[2, 3, 1], [2, 3], [1]]]);
    move(cluster, null, 2);
    untilAt(cluster, [1]);
    expect(foldersAt(cluster, 2)).toEqual(['-delete']);
    expect(send(cluster, 1, ['b'])).toBe(0);
    cluster.start(3);
    cluster.until(() => cluster.world(3).isReady);
    cluster.pass(2_000);
    expect(partitionAt(cluster, 3)).toBe(null);
  });

  test('keeps its files at a node that is cut off, until that hears of the end', () => {
    const cluster = placed([1]);
    expect(send(cluster, 1, ['a'])).toBe(0);
    move(cluster, [1, 2]);
    untilAt(cluster, [1, 2]);
    cluster.until(() => partitionAt(cluster, 1)?.leader.inSync?.isr.length === 2);
    cluster.alone.add(1);
    cluster.until(() => (partitionAt(cluster, 2)?.leader.epoch ?? -1) >= 0, 20_000);
    move(cluster, [2], 2);
    cluster.pass(5_000);
    expect(foldersAt(cluster, 1)).toEqual(['']);
    cluster.alone.delete(1);
    cluster.until(() => partitionAt(cluster, 1) === null, 20_000);
    expect(foldersAt(cluster, 1)).toEqual(['-delete']);
  });

  test('comes and goes before what it had is deleted: each time its folder gets a name of its own', () => {
    const cluster = placed([1]);
    expect(send(cluster, 1, ['a'])).toBe(0);
    for (const id of [2, 1, 2, 1]) {
      move(cluster, [id], 3);
      untilAt(cluster, [id]);
    }
    expect(foldersAt(cluster, 1)).toEqual(['', '-delete', '-delete']);
    expect(foldersAt(cluster, 2)).toEqual(['-delete', '-delete']);
    expect(read(cluster, 1)).toEqual(['0:0=a']);
    cluster.pass(61_000);
    expect(foldersAt(cluster, 1)).toEqual(['']);
    expect(foldersAt(cluster, 2)).toEqual([]);
  });

  test('is set aside by a node that was dead when it left, and fetched anew when it comes again', () => {
    const cluster = placed([1, 2]);
    expect(send(cluster, 1, ['a'])).toBe(0);
    cluster.kill(2);
    cluster.until(() => cluster.node(1).image.cluster.brokers.get(2)?.fenced === true);
    move(cluster, [1]);
    untilAt(cluster, [1]);
    expect(send(cluster, 1, ['b'])).toBe(0);
    cluster.start(2);
    cluster.until(() => cluster.world(2).isReady);
    expect(foldersAt(cluster, 2)).toEqual(['-stray']);
    move(cluster, [1, 2]);
    cluster.until(() => partitionAt(cluster, 1)?.leader.inSync?.isr.length === 2);
    expect(partitionAt(cluster, 2)?.log.end).toBe(2);
    cluster.kill(2);
    cluster.until(() => cluster.node(1).image.cluster.brokers.get(2)?.fenced === true);
    move(cluster, [1]);
    untilAt(cluster, [1]);
    cluster.start(2);
    cluster.until(() => cluster.world(2).isReady);
    expect(foldersAt(cluster, 2)).toEqual(['-stray', '-stray']);
  });
});

/** Sets a value for a broker, or for the topic. */
function set(cluster: ToyCluster, resourceType: number, resourceName: string, name: string, value: string): void {
  const configs = [{ name, configOperation: 0, value }];
  const resources = [{ resourceType, resourceName, configs }];
  const answer = cluster.ask(1, cluster.connect(1), SET, 1, { resources });
  expect(answer.responses[0]).toMatchObject({ errorCode: 0 });
}

/** Bytes of the partition on the disk of a node. */
function bytesAt(cluster: ToyCluster, id: number): number {
  return cluster.world(id).files.get(`${FOLDER}/00000000000000000000.log`)?.bytes.length ?? 0;
}

describe.each(['leader', 'follower'])('a bounded rate of the %s', (side) => {
  const BATCH_BYTES = 40_000;
  const BATCHES = 50;
  const RATE = 200_000;

  /** A partition of two replicas that moves to a third, at the rate. */
  function slowly(): ToyCluster {
    const cluster = placed([1, 2]);
    for (let i = 0; i < BATCHES; i++) expect(send(cluster, 1, ['x'.repeat(BATCH_BYTES)])).toBe(0);
    for (const id of [1, 2, 3]) set(cluster, 4, String(id), `${side}.replication.throttled.rate`, String(RATE));
    const pairs = side === 'leader' ? '0:1,0:2' : '0:3';
    set(cluster, 2, 'orders', `${side}.replication.throttled.replicas`, pairs);
    move(cluster, [1, 3]);
    return cluster;
  }

  test('is kept while the partition moves, and holds up nobody who is in sync', () => {
    const cluster = slowly();
    const startMs = cluster.nowMs;
    while (bytesAt(cluster, 3) < BATCH_BYTES * BATCHES) {
      cluster.pass(500);
      const passedMs = cluster.nowMs - startMs;
      // A burst of a second, and a batch.
      expect(bytesAt(cluster, 3)).toBeLessThan((RATE * (passedMs + 1000)) / 1000 + 2 * BATCH_BYTES);
      expect(passedMs).toBeLessThan(30_000);
    }
    expect(cluster.nowMs - startMs).toBeGreaterThan(((BATCH_BYTES * BATCHES) / RATE) * 1000 - 2_000);
    expect(cluster.nowMs - startMs).toBeLessThan(((BATCH_BYTES * BATCHES) / RATE) * 1000 + 3_000);
    untilAt(cluster, [1, 3]);
  });

  test('of a replica in sync does not hold up producers', () => {
    const cluster = slowly();
    cluster.pass(2_000);
    const startMs = cluster.nowMs;
    expect(send(cluster, 1, ['y'])).toBe(0);
    expect(cluster.nowMs - startMs).toBeLessThan(200);
    expect(moves(cluster, 1).length).toBe(1);
  });

  test('that is lifted holds up nobody any more', () => {
    const cluster = slowly();
    cluster.pass(1_000);
    expect(moves(cluster, 1).length).toBe(1);
    if (side === 'leader') set(cluster, 2, 'orders', 'leader.replication.throttled.replicas', '');
    else for (const id of [1, 2, 3]) set(cluster, 4, String(id), 'follower.replication.throttled.rate', '1000000000');
    cluster.until(() => moves(cluster, 1).length === 0, 2_000);
  });
});
