/** A replica with damaged bytes on its disk: it stands down, is fetched anew, and leads only if nobody else can. */
import { expect, test } from 'vitest';
import { DirectoryId } from '../../core/metadata/describe-topics.ts';
import { type PartitionImage, topicByName } from '../../core/metadata/image.ts';
import { ErrorCode } from '../../core/protocol/errors.ts';
import { ToyCluster } from './cluster.ts';
import { batchOf, fetchBody, KEY, produceBody, valuesOf, wanted } from './speaking.ts';

const CREATE = 19;
const FETCH_VERSION = 11;
const FILE = '/orders-0/00000000000000000000.log';
const VALUES = ['a', 'b', 'c', 'd'];
/** Batches of one record each, of equal size. */
const DAMAGED = 1;

/** Nodes that keep nothing in memory for readers, and a partition on the first two, led by the first, with batches. */
function written(): ToyCluster {
  const cluster = new ToyCluster(3, () => ({ 'tidemark.ring.max.bytes': '0' })).start();
  cluster.until(() => cluster.living.every((id) => cluster.world(id).isReady));
  cluster.until(() => [...cluster.node(1).image.cluster.brokers.values()].every(({ fenced }) => !fenced));
  const assignments = [{ partitionIndex: 0, brokerIds: [1, 2] }];
  const topics = [{ name: 'orders', numPartitions: -1, replicationFactor: -1, assignments, configs: [] }];
  cluster.ask(1, cluster.connect(1), CREATE, 7, { topics, timeoutMs: 5_000 });
  for (const value of VALUES) send(cluster, 1, value);
  return cluster;
}

function send(cluster: ToyCluster, id: number, value: string): void {
  const body = produceBody(0, batchOf([value]), { acks: -1, timeoutMs: 5_000 });
  const answer = cluster.ask(id, cluster.connect(id), KEY.produce, 9, body);
  expect(answer.responses[0]?.partitionResponses[0]?.errorCode).toBe(ErrorCode.NONE);
}

function imageAt(cluster: ToyCluster, id: number): PartitionImage | undefined {
  return topicByName(cluster.node(id).image, 'orders')?.partitions[0];
}

function fileOn(cluster: ToyCluster, id: number): { bytes: Uint8Array } {
  for (const [path, file] of cluster.world(id).files) if (path.endsWith(FILE)) return file;
  throw new Error(`node ${id} has no such file`);
}

/** A bit flips in the second batch on the disk of a node. */
function damage(cluster: ToyCluster, id: number): void {
  damageAt(cluster, id, DAMAGED);
}

function damageAt(cluster: ToyCluster, id: number, offset: number): void {
  const file = fileOn(cluster, id);
  const bytes = file.bytes.slice();
  const batches = Math.max(VALUES.length, offset + 1);
  const at = (bytes.length / batches) * offset + 40;
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  file.bytes = bytes;
}

function fetchFrom(cluster: ToyCluster, id: number, offset: number): { error: number; values: string[] } {
  const body = fetchBody([wanted(0, offset)], { maxWaitMs: 0 });
  const answer = cluster.ask(id, cluster.connect(id), KEY.fetch, FETCH_VERSION, body);
  return { error: answer.responses[0]?.partitions[0]?.errorCode ?? -1, values: valuesOf(answer) };
}

const ALL = VALUES.map((value, offset) => `0:${offset}=${value}`);

/** All values, by as many fetches as it takes. */
function allOn(cluster: ToyCluster, id: number): string[] {
  const values: string[] = [];
  while (values.length < ALL.length) {
    const found = fetchFrom(cluster, id, values.length);
    if (found.values.length === 0) break;
    values.push(...found.values);
  }
  return values;
}

function isMended(cluster: ToyCluster): boolean {
  const image = imageAt(cluster, 3);
  return image?.isr.length === 2 && !image.directories.includes(DirectoryId.LOST);
}

test('a leader that finds its log damaged gives up the lead, tells readers to ask again, and is fetched anew', () => {
  const cluster = written();
  damage(cluster, 1);
  expect(fetchFrom(cluster, 1, DAMAGED).error).toBe(ErrorCode.KAFKA_STORAGE_ERROR);
  cluster.until(() => imageAt(cluster, 3)?.leader === 2);
  expect(allOn(cluster, 2)).toEqual(ALL);
  cluster.until(() => isMended(cluster));
  expect(fileOn(cluster, 1).bytes).toEqual(fileOn(cluster, 2).bytes);
  const said = cluster.world(1).said.join('\n');
  expect(said).toMatch(/error: this replica is damaged: it stands down.* partition=orders-0 offset=1/);
  expect(said).toMatch(/a damaged replica is whole again/);
  // It may lead again, with all of it.
  cluster.kill(2);
  cluster.until(() => imageAt(cluster, 3)?.leader === 1);
  expect(allOn(cluster, 1)).toEqual(ALL);
});

test('the last one in sync leads on, damaged, and has readers ask again while one that is away may have more', () => {
  const cluster = written();
  cluster.kill(2);
  cluster.until(() => imageAt(cluster, 3)?.isr.length === 1);
  damage(cluster, 1);
  expect(fetchFrom(cluster, 1, DAMAGED).error).toBe(ErrorCode.KAFKA_STORAGE_ERROR);
  cluster.pass(3_000);
  expect(imageAt(cluster, 3)?.leader).toBe(1);
  expect(fetchFrom(cluster, 1, DAMAGED + 1).values).toEqual(ALL.slice(DAMAGED + 1));
  expect(fetchFrom(cluster, 1, DAMAGED).error).toBe(ErrorCode.KAFKA_STORAGE_ERROR);
  cluster.start(2);
  cluster.until(() => imageAt(cluster, 3)?.leader === 2);
  expect(allOn(cluster, 2)).toEqual(ALL);
  cluster.until(() => isMended(cluster));
});

test('a new leader that is damaged says nothing for good before the others have fetched from it', () => {
  const cluster = written();
  cluster.kill(2);
  cluster.until(() => imageAt(cluster, 3)?.isr.length === 1);
  cluster.stop(1);
  damage(cluster, 1);
  cluster.start(1);
  cluster.until(() => cluster.world(1).isReady && fetchFrom(cluster, 1, 0).values.length > 0);
  expect(imageAt(cluster, 1)?.isr).toEqual([1]);
  expect(fetchFrom(cluster, 1, DAMAGED).error).toBe(ErrorCode.KAFKA_STORAGE_ERROR);
});

test('a leader that had more than anybody else is whole once it has what the next leader has', () => {
  const cluster = written();
  cluster.alone.add(2);
  const body = produceBody(0, batchOf(['e']), { acks: 1, timeoutMs: 1_000 });
  cluster.ask(1, cluster.connect(1), KEY.produce, 9, body);
  damageAt(cluster, 1, VALUES.length);
  // Whoever follows comes to read it, and the leader gives up its lead.
  cluster.alone.delete(2);
  cluster.until(() => imageAt(cluster, 3)?.leader === 2);
  cluster.until(() => isMended(cluster));
  expect(allOn(cluster, 2)).toEqual(ALL);
});

test('what is damaged on all replicas is out of service for good', () => {
  const cluster = written();
  damage(cluster, 1);
  damage(cluster, 2);
  fetchFrom(cluster, 1, DAMAGED);
  cluster.until(() => imageAt(cluster, 2)?.leader === 2 && imageAt(cluster, 2)?.directories[0] === DirectoryId.LOST);
  cluster.pass(3_000);
  expect(fetchFrom(cluster, 2, DAMAGED).error).toBe(ErrorCode.CORRUPT_MESSAGE);
  expect(fetchFrom(cluster, 2, DAMAGED + 1).values).toEqual(ALL.slice(DAMAGED + 1));
});

test('a crash forgets where the damage was: the next life fetches all of a replica that was called lost', () => {
  const cluster = written();
  damage(cluster, 1);
  // The cut does not come to its end.
  Object.assign(cluster.world(1), { holdsSyncs: true, holdsOn: '/orders-0' });
  fetchFrom(cluster, 1, DAMAGED);
  cluster.until(() => imageAt(cluster, 3)?.directories[0] === DirectoryId.LOST);
  cluster.kill(1, 'power');
  cluster.start(1);
  cluster.until(() => isMended(cluster));
  expect(fileOn(cluster, 1).bytes).toEqual(fileOn(cluster, 2).bytes);
});
