/** A follower all of whose records were deleted at its leader begins anew, whatever a crash leaves of that. */
import { expect, test } from 'vitest';
import type { Partition } from '../../core/broker/state.ts';
import { ToyCluster } from './cluster.ts';
import { batchOf, KEY, produceBody } from './speaking.ts';

const CREATE = 19;
const DELETE_RECORDS = 21;
const MARKS = 'replication-offset-checkpoint';
const STARTS = 'log-start-offset-checkpoint';
const POINTS = 'recovery-point-offset-checkpoint';

interface Scene {
  readonly cluster: ToyCluster;
  readonly leader: number;
  /** Has two records, and was away when all below offset 5 was deleted. */
  readonly behind: number;
}

function partitionAt(cluster: ToyCluster, id: number): Partition {
  return cluster.node(id).topics.byName.get('orders')!.partitions[0]!;
}

function leaderOf(cluster: ToyCluster): number {
  const leads = (id: number) => (cluster.node(id).topics.byName.get('orders')?.partitions[0]?.leader.epoch ?? -1) >= 0;
  return cluster.living.find(leads) ?? -1;
}

function send(cluster: ToyCluster, id: number, value: string): void {
  const body = produceBody(0, batchOf([value]), { acks: -1, timeoutMs: 5_000 });
  const answer = cluster.ask(id, cluster.connect(id), KEY.produce, 9, body);
  expect(answer.responses[0]?.partitionResponses[0]?.errorCode).toBe(0);
}

function linesOf({ cluster, behind }: Scene, file: string): string {
  return new TextDecoder().decode(cluster.world(behind).files.get(`/data/node/${file}`)?.bytes);
}

function isWhole(cluster: ToyCluster): boolean {
  const leader = leaderOf(cluster);
  return leader > 0 && partitionAt(cluster, leader).leader.inSync?.isr.length === 3;
}

function deleted(): Scene {
  const cluster = new ToyCluster(3, () => ({ 'replica.lag.time.max.ms': '2000' })).start();
  cluster.until(() => cluster.living.every((id) => cluster.world(id).isReady));
  cluster.until(() => [...cluster.node(1).image.cluster.brokers.values()].every(({ fenced }) => !fenced));
  const topics = [{ name: 'orders', numPartitions: 1, replicationFactor: 3 }];
  cluster.ask(1, cluster.connect(1), CREATE, 7, { topics, timeoutMs: 5_000 });
  const leader = leaderOf(cluster);
  send(cluster, leader, 'a');
  send(cluster, leader, 'b');
  const [behind = 0] = cluster.living.filter((id) => id !== leader);
  cluster.alone.add(behind);
  for (const value of ['c', 'd', 'e', 'f']) send(cluster, leader, value);
  const partitions = [{ partitionIndex: 0, offset: 5 }];
  const body = { topics: [{ name: 'orders', partitions }], timeoutMs: 5_000 };
  const answer = cluster.ask(leader, cluster.connect(leader), DELETE_RECORDS, 2, body);
  expect(answer.topics[0]?.partitions[0]).toMatchObject({ errorCode: 0, lowWatermark: 5 });
  return { cluster, leader, behind };
}

/** The node that was behind loses its power and comes back; what it says. */
function restarted({ cluster, behind }: Scene): string[] {
  cluster.kill(behind, 'power');
  cluster.start(behind);
  cluster.until(() => isWhole(cluster), 60_000);
  cluster.pass(1_000);
  const { log } = partitionAt(cluster, behind);
  expect([log.start, log.end]).toEqual([5, 6]);
  return cluster.world(behind).said;
}

test('that its log was to begin anew is known to a start that finds the log as it was: nothing is wrong', () => {
  const scene = deleted();
  const { cluster, behind } = scene;
  const world = cluster.world(behind);
  world.diesAfter = `replace /data/node/${STARTS}`;
  cluster.alone.delete(behind);
  cluster.until(() => world.effectsLeft === 0, 60_000);
  expect(linesOf(scene, POINTS)).toContain('orders 0 0');
  expect(linesOf(scene, MARKS)).toContain('orders 0 0');
  expect(linesOf(scene, STARTS)).toContain('orders 0 5');
  const said = restarted(scene);
  expect(said.filter((line) => line.startsWith('error'))).toEqual([]);
  expect(said.join('\n')).toContain('warn: the log ends at offset 2 and was to begin anew at 5');
});

test.each([POINTS, MARKS])('its new start is not written down before %s says 0', (file) => {
  const scene = deleted();
  const { cluster, behind } = scene;
  cluster.world(behind).fault = { kind: 'replace', on: file, error: 'noSpace' };
  cluster.alone.delete(behind);
  cluster.until(() => partitionAt(cluster, behind).lowered !== null, 60_000);
  cluster.pass(3_000);
  expect(linesOf(scene, STARTS)).not.toContain('orders 0 5');
  expect(restarted(scene).filter((line) => line.startsWith('error'))).toEqual([]);
});

test('given up for another leader, it follows only when no start is claimed that its log does not have', () => {
  const scene = deleted();
  const { cluster, leader, behind } = scene;
  cluster.world(behind).fault = { kind: 'replace', on: STARTS, error: 'noSpace' };
  cluster.alone.delete(behind);
  const kindOf = () => partitionAt(cluster, behind).lowered?.kind;
  cluster.until(() => kindOf() === 'reset', 60_000);
  cluster.pass(2_000);
  const before = partitionAt(cluster, behind).leaderEpoch;
  cluster.kill(leader);
  cluster.until(() => kindOf() === 'correction', 60_000);
  cluster.pass(3_000);
  expect(partitionAt(cluster, behind)).toMatchObject({ followed: null, leaderEpoch: before });
  cluster.world(behind).fault = null;
  cluster.until(() => partitionAt(cluster, behind).leaderEpoch > before, 60_000);
  cluster.start(leader);
  expect(restarted(scene).filter((line) => line.startsWith('error'))).toEqual([]);
});
