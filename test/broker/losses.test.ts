/** What a node says when something was lost, or may have been: which partition, from where, and why. */
import { describe, expect, test } from 'vitest';
import { type PartitionImage, topicByName } from '../../core/metadata/image.ts';
import { ToyCluster } from './cluster.ts';
import { batchOf, KEY, produceBody } from './speaking.ts';

const CREATE = 19;
const ELECT = 43;
const UNCLEAN = 1;

/** Three nodes, and a partition on the first two, led by the first. */
function placed(configs: readonly { name: string; value: string }[] = []): ToyCluster {
  const cluster = new ToyCluster(3).start();
  cluster.until(() => cluster.living.every((id) => cluster.world(id).isReady));
  cluster.until(() => [...cluster.node(1).image.cluster.brokers.values()].every(({ fenced }) => !fenced));
  const assignments = [{ partitionIndex: 0, brokerIds: [1, 2] }];
  const topics = [{ name: 'orders', numPartitions: -1, replicationFactor: -1, assignments, configs: [...configs] }];
  const answer = cluster.ask(1, cluster.connect(1), CREATE, 7, { topics, timeoutMs: 5_000 });
  expect(answer.topics.map(({ errorCode }) => errorCode)).toEqual([0]);
  return cluster;
}

function send(cluster: ToyCluster, id: number, values: readonly string[]): number {
  const body = produceBody(0, batchOf(values), { acks: -1, timeoutMs: 5_000 });
  const answer = cluster.ask(id, cluster.connect(id), KEY.produce, 9, body);
  return answer.responses[0]?.partitionResponses[0]?.errorCode ?? -1;
}

function imageAt(cluster: ToyCluster, id: number): PartitionImage | undefined {
  return topicByName(cluster.node(id).image, 'orders')?.partitions[0];
}

function errorsOf(cluster: ToyCluster, id: number): string[] {
  return cluster.world(id).said.filter((line) => line.startsWith('error: '));
}

/** The second misses what the first then commits alone, and the first dies. */
function deserted(cluster: ToyCluster): void {
  expect(send(cluster, 1, ['a'])).toBe(0);
  cluster.kill(2);
  cluster.until(() => imageAt(cluster, 1)?.isr.length === 1);
  expect(send(cluster, 1, ['b', 'c'])).toBe(0);
  // That they are committed is written down.
  cluster.pass(6_000);
  cluster.kill(1, 'power');
}

describe('an unclean election', () => {
  test('that an operator asks for says which partition may lack what from which offset on; so does who cuts it', () => {
    const cluster = placed();
    deserted(cluster);
    cluster.start(2);
    cluster.until(() => cluster.world(2).isReady);
    expect(imageAt(cluster, 2)?.leader).toBe(-1);
    const body = { electionType: UNCLEAN, topicPartitions: [{ topic: 'orders', partitions: [0] }], timeoutMs: 5_000 };
    const answer = cluster.ask(3, cluster.connect(3), ELECT, 2, body);
    expect(answer.replicaElectionResults[0]?.partitionResult[0]?.errorCode).toBe(0);
    cluster.until(() => errorsOf(cluster, 2).length > 0);
    expect(errorsOf(cluster, 2)).toEqual([
      expect.stringMatching(/unclean election.* is lost partition=orders-0 leaderEpoch=\d+ offset=1 inSyncBefore= /),
    ]);
    expect(send(cluster, 2, ['d'])).toBe(0);
    cluster.start(1);
    cluster.until(() => errorsOf(cluster, 1).length > 0);
    const cut = /are cut.* are lost partition=orders-0 from=1 to=3 leader=2 leaderEpoch=\d+$/;
    expect(errorsOf(cluster, 1)).toEqual([expect.stringMatching(cut)]);
  });

  test('that the topic allows says the same, without being asked for', () => {
    const cluster = placed([{ name: 'unclean.leader.election.enable', value: 'true' }]);
    deserted(cluster);
    cluster.start(2);
    cluster.until(() => imageAt(cluster, 3)?.leader === 2);
    cluster.until(() => errorsOf(cluster, 2).length > 0);
    expect(errorsOf(cluster, 2)[0]).toContain('offset=1');
  });
});

test('who led last and lost its tail leads again, and says that something may be lost', () => {
  const cluster = placed();
  deserted(cluster);
  cluster.start(1);
  cluster.until(() => imageAt(cluster, 3)?.leader === 1);
  cluster.until(() => cluster.world(1).isReady);
  expect(errorsOf(cluster, 1)).toEqual([
    expect.stringMatching(/who led last leads again.* may be lost partition=orders-0 leaderEpoch=\d+ offset=3 /),
  ]);
});

test('a clean election, and a restart, say nothing of the kind', () => {
  const cluster = placed();
  expect(send(cluster, 1, ['a'])).toBe(0);
  cluster.kill(1, 'power');
  cluster.until(() => imageAt(cluster, 3)?.leader === 2);
  cluster.start(1);
  cluster.until(() => imageAt(cluster, 3)?.isr.length === 2, 20_000);
  for (const id of [1, 2, 3]) expect(errorsOf(cluster, id)).toEqual([]);
});

test('a node whose disk was swapped for an empty one says that its replicas begin anew', () => {
  const cluster = placed();
  expect(send(cluster, 1, ['a'])).toBe(0);
  cluster.kill(2, 'power');
  const { files, folders } = cluster.world(2);
  files.clear();
  folders.clear();
  for (const folder of ['/', '/data']) folders.add(folder);
  cluster.start(2);
  cluster.until(() => imageAt(cluster, 3)?.isr.length === 2, 20_000);
  expect(errorsOf(cluster, 2)).toEqual([expect.stringMatching(/begin anew here.* replicas=1$/)]);
});
