/** A replica that comes back: after long, after its records were deleted, with an empty disk, with another leader. */
import { describe, expect, test } from 'vitest';
import { highWatermarkOf } from '../../core/broker/partitions/partition-role.ts';
import type { Partition } from '../../core/broker/state.ts';
import { epochAt } from '../../core/log/epochs.ts';
import { ToyCluster } from './cluster.ts';
import { batchOf, fetchBody, KEY, produceBody, valuesOf, wanted } from './speaking.ts';

const CREATE = 19;
const DELETE_RECORDS = 21;
const ELECT = 43;
const DELETE = 20;
const DESCRIBE = 75;
/** A segment of the smallest size has room for eleven. */
const VALUE = 'x'.repeat(90_000);
/** Long enough for every session, time-out and checkpoint to have passed. */
const AWAY_MS = 90_000;

/** Three nodes, and a topic with a replica on each, led by the first. */
function replicated(brokerIds: readonly number[] = [1, 2, 3]): ToyCluster {
  const cluster = new ToyCluster(3, () => ({ 'log.segment.bytes': '1048576' })).start();
  cluster.until(() => cluster.living.every((id) => cluster.world(id).isReady));
  cluster.until(() => [...cluster.node(1).image.cluster.brokers.values()].every(({ fenced }) => !fenced));
  create(cluster, brokerIds);
  return cluster;
}

function create(cluster: ToyCluster, brokerIds: readonly number[]): void {
  const assignments = [{ partitionIndex: 0, brokerIds }];
  const topics = [{ name: 'orders', numPartitions: -1, replicationFactor: -1, assignments }];
  const answer = cluster.ask(1, cluster.connect(1), CREATE, 7, { topics, timeoutMs: 5_000 });
  expect(answer.topics.map(({ errorCode }) => errorCode)).toEqual([0]);
}

function partitionAt(cluster: ToyCluster, id: number): Partition {
  return cluster.node(id).topics.byName.get('orders')!.partitions[0]!;
}

function send(cluster: ToyCluster, id: number, value: string): void {
  const answer = cluster.ask(id, cluster.connect(id), KEY.produce, 9, produceBody(0, batchOf([value])), 30_000);
  expect(answer.responses[0]?.partitionResponses[0]?.errorCode).toBe(0);
}

/** What a replica shows, the leader or not, from an offset on: an answer may hold a part of it. */
function read(cluster: ToyCluster, id: number, from: number): string[] {
  const client = cluster.connect(id);
  const values: string[] = [];
  for (;;) {
    const asked = fetchBody([wanted(0, from + values.length)], { maxWaitMs: 0 });
    const more = valuesOf(cluster.ask(id, client, KEY.fetch, 11, asked));
    if (more.length === 0) return values;
    values.push(...more.map((value) => value.slice(0, 20)));
  }
}

function isrAt(cluster: ToyCluster, id: number): number[] {
  return [...(partitionAt(cluster, id).leader.inSync?.isr ?? [])].sort();
}

/** All three are in sync and know it, and what each shows is the same. */
function expectAlike(cluster: ToyCluster, leader: number): void {
  cluster.until(() => isrAt(cluster, leader).length === 3, 60_000);
  cluster.until(() =>
    cluster.living.every((id) => highWatermarkOf(partitionAt(cluster, id)) === endOf(cluster, leader)),
  );
  const { start } = partitionAt(cluster, leader).log;
  for (const id of cluster.living) {
    expect(partitionAt(cluster, id).log.start, `where the log of node ${id} starts`).toBe(start);
    expect(read(cluster, id, start), `what node ${id} shows`).toEqual(read(cluster, leader, start));
    expect(epochsAt(cluster, id), `the leader epochs of node ${id}`).toEqual(epochsAt(cluster, leader));
  }
}

/** Under which epoch each record was appended, by what a replica remembers. */
function epochsAt(cluster: ToyCluster, id: number): number[] {
  const { start, end, epochs } = partitionAt(cluster, id).log;
  return Array.from({ length: end - start }, (_, i) => epochAt(epochs, start + i));
}

function endOf(cluster: ToyCluster, id: number): number {
  return partitionAt(cluster, id).log.end;
}

function deleteBelow(cluster: ToyCluster, id: number, offset: number): void {
  const topics = [{ name: 'orders', partitions: [{ partitionIndex: 0, offset }] }];
  const answer = cluster.ask(id, cluster.connect(id), DELETE_RECORDS, 2, { topics, timeoutMs: 5_000 });
  expect(answer.topics[0]?.partitions[0]).toMatchObject({ errorCode: 0, lowWatermark: offset });
}

describe('a follower that was away for long', () => {
  test('fetches all that it missed, through many segments', () => {
    const cluster = replicated();
    send(cluster, 1, 'before');
    cluster.kill(3);
    for (let i = 0; i < 40; i++) send(cluster, 1, `${i} ${VALUE}`);
    cluster.pass(AWAY_MS);
    expect(partitionAt(cluster, 1).log.segments.length).toBeGreaterThan(3);
    cluster.start(3);
    expectAlike(cluster, 1);
    expect(endOf(cluster, 3)).toBe(41);
  });

  test('begins at the start of the log where what it has was deleted meanwhile', () => {
    const cluster = replicated();
    for (let i = 0; i < 3; i++) send(cluster, 1, `old ${i}`);
    cluster.kill(3, 'power');
    for (let i = 0; i < 40; i++) send(cluster, 1, `${i} ${VALUE}`);
    cluster.pass(AWAY_MS);
    deleteBelow(cluster, 1, 30);
    cluster.start(3);
    expectAlike(cluster, 1);
    expect(partitionAt(cluster, 3).log.start).toBe(30);
    // What it has now outlives it.
    cluster.kill(3, 'power');
    cluster.start(3);
    expectAlike(cluster, 1);
    expect(partitionAt(cluster, 3).log.start).toBe(30);
  });

  test('begins behind everything where all was deleted', () => {
    const cluster = replicated();
    send(cluster, 1, 'old');
    cluster.kill(3);
    for (let i = 0; i < 4; i++) send(cluster, 1, `gone ${i}`);
    deleteBelow(cluster, 1, 5);
    cluster.start(3);
    cluster.until(() => isrAt(cluster, 1).length === 3, 60_000);
    expect(partitionAt(cluster, 3).log).toMatchObject({ start: 5, end: 5 });
    send(cluster, 1, 'new');
    expectAlike(cluster, 1);
  });

  test('and whose topic was made anew under the same name has nothing of the old one', () => {
    const cluster = replicated();
    send(cluster, 1, 'of the old topic');
    cluster.kill(3);
    const topics = [{ name: 'orders', topicId: 'AAAAAAAAAAAAAAAAAAAAAA' }];
    const answer = cluster.ask(1, cluster.connect(1), DELETE, 6, { topics, timeoutMs: 5_000 });
    expect(answer.responses[0]?.errorCode).toBe(0);
    create(cluster, [1, 2, 3]);
    send(cluster, 1, 'of the new one');
    cluster.start(3);
    expectAlike(cluster, 1);
    expect(read(cluster, 3, 0)).toEqual(['0:0=of the new one']);
  });
});

describe('a node whose disk was swapped for an empty one', () => {
  /** Node 3, whom the partition prefers, has lost everything, its directory id too. Node 1 leads meanwhile. */
  function swapped(): ToyCluster {
    const cluster = replicated([3, 1, 2]);
    for (let i = 0; i < 20; i++) send(cluster, 3, `${i} ${VALUE}`);
    const before = cluster.node(3).directoryId;
    cluster.kill(3, 'power');
    cluster.until(() => partitionAt(cluster, 1).leader.epoch >= 0);
    const { files, folders } = cluster.world(3);
    files.clear();
    for (const name of [...folders]) if (name.startsWith('/data/')) folders.delete(name);
    cluster.start(3);
    cluster.until(() => cluster.world(3).isReady);
    expect(cluster.node(3).directoryId).not.toBe(before);
    return cluster;
  }

  test('fetches everything again from the start of the log', () => {
    const cluster = swapped();
    expectAlike(cluster, 1);
    expect(endOf(cluster, 3)).toBe(20);
  });

  test('says in which directory its replicas are now: it is not taken for offline, and may lead again', () => {
    const cluster = swapped();
    expectAlike(cluster, 1);
    const asked = { topics: [{ name: 'orders' }], responsePartitionLimit: 10, cursor: null };
    const offline = () =>
      cluster.ask(1, cluster.connect(1), DESCRIBE, 0, asked).topics[0]?.partitions[0]?.offlineReplicas;
    cluster.until(() => offline()?.length === 0, 2_000);
    expect(cluster.node(3).inSync.directories.misplaced.size).toBe(0);
    const body = { electionType: 0, topicPartitions: null, timeoutMs: 5_000 };
    expect(cluster.ask(2, cluster.connect(2), ELECT, 2, body)).toMatchObject({
      errorCode: 0,
      replicaElectionResults: [{ topic: 'orders', partitionResult: [{ partitionId: 0, errorCode: 0 }] }],
    });
    cluster.until(() => partitionAt(cluster, 3).leader.epoch >= 0);
    send(cluster, 3, 'led by the swapped one');
    expectAlike(cluster, 3);
  });
});
