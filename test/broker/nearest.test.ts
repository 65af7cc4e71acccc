/** Reading from the replica in one's own rack (KIP-392): whom a leader names, and what a follower shows. */
import { describe, expect, test } from 'vitest';
import { highWatermarkOf } from '../../core/broker/partitions/partition-role.ts';
import { ErrorCode } from '../../core/protocol/errors.ts';
import type { ResponseOf } from '../../core/protocol/messages/index.ts';
import { ToyCluster } from './cluster.ts';
import { batchOf, fetchBody, KEY, produceBody, valuesOf, wanted } from './speaking.ts';
import type { Changes } from './toy-world.ts';

const SELECTOR = 'org.apache.kafka.common.replica.RackAwareReplicaSelector';
const CREATE = 19;
/** The first version that knows of it. */
const NEARBY = 11;

/** Three nodes, each in a rack of its own, and a topic with a replica on each, led by node 1. */
function racked(changes: Changes = {}): ToyCluster {
  const own = { 'replica.selector.class': SELECTOR, 'replica.lag.time.max.ms': '2000', ...changes };
  const cluster = new ToyCluster(3, (id) => ({ 'broker.rack': `rack${id}`, ...own })).start();
  cluster.until(() => cluster.living.every((id) => cluster.world(id).isReady));
  cluster.until(() => [...cluster.node(1).image.cluster.brokers.values()].every(({ fenced }) => !fenced));
  const topics = [{ name: 'orders', numPartitions: -1, replicationFactor: -1, assignments: [PLACED] }];
  const answer = cluster.ask(1, cluster.connect(1), CREATE, 7, { topics, timeoutMs: 5_000 });
  expect(answer.topics.map(({ errorCode }) => errorCode)).toEqual([0]);
  return cluster;
}

const PLACED = { partitionIndex: 0, brokerIds: [1, 2, 3] };

function send(cluster: ToyCluster, value: string): void {
  const answer = cluster.ask(1, cluster.connect(1), KEY.produce, 9, produceBody(0, batchOf([value])));
  expect(answer.responses[0]?.partitionResponses[0]?.errorCode).toBe(0);
}

interface Reading {
  readonly from: number;
  readonly rack?: string;
  readonly offset?: number;
  readonly version?: number;
}

function read(cluster: ToyCluster, { from, rack = '', offset = 0, version = NEARBY }: Reading): ResponseOf<1> {
  const asked = fetchBody([wanted(0, offset)], { maxWaitMs: 0, rackId: rack });
  return cluster.ask(from, cluster.connect(from), KEY.fetch, version, asked);
}

function preferred(cluster: ToyCluster, rack: string, offset = 0): number {
  const answer = read(cluster, { from: 1, rack, offset });
  const partition = answer.responses[0]?.partitions[0];
  expect(partition?.errorCode).toBe(0);
  // Whoever is sent away is given nothing.
  expect(valuesOf(answer).length > 0).toBe(partition?.preferredReadReplica === -1);
  return partition?.preferredReadReplica ?? -2;
}

describe('a leader', () => {
  test('sends a reader to the replica in its rack, and serves whoever has none', () => {
    const cluster = racked();
    send(cluster, 'a');
    cluster.pass(1_000);
    expect([1, 2, 3].map((rack) => preferred(cluster, `rack${rack}`))).toEqual([-1, 2, 3]);
    expect(preferred(cluster, 'elsewhere')).toBe(-1);
    expect(preferred(cluster, '')).toBe(-1);
  });

  test('serves everyone itself without the selector', () => {
    const cluster = racked({ 'replica.selector.class': '' });
    send(cluster, 'a');
    cluster.pass(1_000);
    expect(preferred(cluster, 'rack2')).toBe(-1);
  });

  test('names no replica that is not in sync, and names it again when it is', () => {
    const cluster = racked();
    send(cluster, 'a');
    const behind = cluster.world(2);
    behind.holdsSyncs = true;
    behind.holdsOn = 'orders-0';
    cluster.world(1).send(cluster.connect(1), KEY.produce, 9, produceBody(0, batchOf(['b'])));
    const inSync = () => cluster.node(1).topics.byName.get('orders')?.partitions[0]?.leader.inSync?.isr ?? [];
    cluster.until(() => !inSync().includes(2));
    expect(preferred(cluster, 'rack2')).toBe(-1);
    behind.releaseSyncs();
    cluster.until(() => inSync().includes(2));
    expect(preferred(cluster, 'rack2')).toBe(2);
  });

  test('names nobody who is dead', () => {
    const cluster = racked();
    send(cluster, 'a');
    cluster.kill(3);
    cluster.until(() => cluster.node(1).image.cluster.brokers.get(3)?.fenced === true);
    expect(preferred(cluster, 'rack3')).toBe(-1);
  });
});

describe('a follower', () => {
  test('shows what it knows to be committed, and answers who waits when that grows', () => {
    const cluster = racked();
    send(cluster, 'a');
    cluster.pass(1_000);
    expect(valuesOf(read(cluster, { from: 2, rack: 'rack2' }))).toEqual(['0:0=a']);
    const reader = cluster.connect(2);
    const asked = fetchBody([wanted(0, 1)], { maxWaitMs: 60_000, rackId: 'rack2' });
    cluster.world(2).send(reader, KEY.fetch, NEARBY, asked);
    cluster.world(3).holdsSyncs = true;
    cluster.world(3).holdsOn = 'orders-0';
    cluster.world(1).send(cluster.connect(1), KEY.produce, 9, produceBody(0, batchOf(['b'])));
    cluster.pass(500);
    // It is on the disks of two, and not committed.
    const partition = cluster.node(2).topics.byName.get('orders')?.partitions[0];
    expect(partition?.log.durable).toBe(2);
    expect(cluster.world(2).pending(reader)).toEqual([]);
    cluster.world(3).releaseSyncs();
    cluster.until(() => cluster.world(2).pending(reader).length > 0, 2_000);
    expect(valuesOf(cluster.world(2).take(reader, KEY.fetch, NEARBY))).toEqual(['0:1=b']);
    expect(partition === null || partition === undefined ? -1 : highWatermarkOf(partition)).toBe(2);
  });

  test('refuses who does not know that followers may be read, and offsets that it does not have', () => {
    const cluster = racked();
    send(cluster, 'a');
    cluster.pass(1_000);
    const errorOf = (asked: Reading) => read(cluster, asked).responses[0]?.partitions[0]?.errorCode;
    expect(errorOf({ from: 2, version: 10 })).toBe(ErrorCode.NOT_LEADER_OR_FOLLOWER);
    expect(errorOf({ from: 2, offset: 9 })).toBe(ErrorCode.OFFSET_OUT_OF_RANGE);
    expect(errorOf({ from: 2, offset: 1 })).toBe(0);
  });
});
