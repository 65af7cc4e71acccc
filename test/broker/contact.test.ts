/** A leader that no controller hears: what it refuses, and what it goes on with. */
import { describe, expect, test } from 'vitest';
import type { CallOutcome } from '../../core/broker/control/controller-calls.ts';
import { answerHeartbeat } from '../../core/broker/control/lifecycle.ts';
import { mayBeContradicted, mayBeReplaced } from '../../core/broker/partitions/contact.ts';
import type { Env } from '../../core/lib/world.ts';
import { ErrorCode } from '../../core/protocol/errors.ts';
import { ToyCluster } from './cluster.ts';
import { batchOf, fetchBody, KEY, produceBody, valuesOf, wanted } from './speaking.ts';
import type { Changes } from './toy-world.ts';

const CREATE = 19;
/** broker.session.timeout.ms and a heartbeat. */
const SESSION_MS = 3_600;

/** Brokers that serve, with a topic on `replicas` of them; and who leads it. */
function replicated(count: number, changes?: (id: number) => Changes, replicas = 3, at = 1): [ToyCluster, number] {
  const cluster = new ToyCluster(count, changes).start();
  cluster.until(() => cluster.living.every((id) => cluster.world(id).isReady));
  cluster.until(() => [...cluster.node(at).image.cluster.brokers.values()].every(({ fenced }) => !fenced));
  const topics = [{ name: 'orders', numPartitions: 1, replicationFactor: replicas }];
  const answer = cluster.ask(at, cluster.connect(at), CREATE, 7, { topics, timeoutMs: 5_000 });
  expect(answer.topics.map(({ errorCode }) => errorCode)).toEqual([ErrorCode.NONE]);
  return [cluster, leaderOf(cluster)];
}

function leaderOf(cluster: ToyCluster): number {
  const leads = (id: number) => (cluster.node(id).topics.byName.get('orders')?.partitions[0]?.leader.epoch ?? -1) >= 0;
  return cluster.living.find(leads) ?? -1;
}

function produce(cluster: ToyCluster, id: number, value: string, acks: number): number {
  const body = produceBody(0, batchOf([value]), { acks, timeoutMs: 9_000 });
  const answer = cluster.ask(id, cluster.connect(id), KEY.produce, 9, body);
  return answer.responses[0]?.partitionResponses[0]?.errorCode ?? -1;
}

function read(cluster: ToyCluster, id: number, offset: number): { values: string[]; error: number } {
  const answer = cluster.ask(id, cluster.connect(id), KEY.fetch, 11, fetchBody([wanted(0, offset)], { maxWaitMs: 0 }));
  return { values: valuesOf(answer), error: answer.responses[0]?.partitions[0]?.errorCode ?? 0 };
}

describe('a leader that is cut off from the others', () => {
  test('refuses to be one once a session is over, but shows what is committed', () => {
    const [cluster, leader] = replicated(3);
    expect(produce(cluster, leader, 'a', -1)).toBe(ErrorCode.NONE);
    cluster.alone.add(leader);
    cluster.pass(2_000);
    expect(produce(cluster, leader, 'b', 1)).toBe(ErrorCode.NONE);
    cluster.pass(SESSION_MS - 2_000);
    expect(produce(cluster, leader, 'c', 1)).toBe(ErrorCode.NOT_LEADER_OR_FOLLOWER);
    expect(produce(cluster, leader, 'd', -1)).toBe(ErrorCode.NOT_LEADER_OR_FOLLOWER);
    expect(read(cluster, leader, 0)).toEqual({ values: ['0:0=a'], error: ErrorCode.NONE });
    expect(read(cluster, leader, 1)).toEqual({ values: [], error: ErrorCode.NOT_LEADER_OR_FOLLOWER });
    const body = { topics: [{ name: 'orders' }], allowAutoTopicCreation: false };
    const told = cluster.ask(leader, cluster.connect(leader), KEY.metadata, 9, body).topics[0]?.partitions[0];
    expect(told).toMatchObject({ leaderId: -1, errorCode: ErrorCode.LEADER_NOT_AVAILABLE });
    cluster.alone.delete(leader);
    cluster.until(() => produce(cluster, leaderOf(cluster), 'e', -1) === ErrorCode.NONE);
  });

  test('tells those who wait for a commit that it may not come, and readers at once', () => {
    const [cluster, leader] = replicated(3);
    const writer = cluster.connect(leader);
    const reader = cluster.connect(leader);
    cluster.alone.add(leader);
    const world = cluster.world(leader);
    world.send(writer, KEY.produce, 9, produceBody(0, batchOf(['a']), { timeoutMs: 60_000 }));
    world.send(reader, KEY.fetch, 11, fetchBody([wanted(0, 0)], { maxWaitMs: 60_000 }));
    cluster.pass(SESSION_MS);
    const made = world.take(writer, KEY.produce, 9).responses[0]?.partitionResponses[0];
    expect(made?.errorCode).toBe(ErrorCode.NOT_LEADER_OR_FOLLOWER);
    const seen = world.take(reader, KEY.fetch, 11).responses[0]?.partitions[0];
    expect(seen?.errorCode).toBe(ErrorCode.NOT_LEADER_OR_FOLLOWER);
  });

  test('counts from when it asked, however late it is answered', () => {
    const [cluster, leader] = replicated(3);
    cluster.alone.add(leader);
    const { lifecycle, contact } = cluster.node(leader);
    cluster.until(() => lifecycle.isCalling);
    const { attempt, askedMs } = lifecycle;
    cluster.pass(300);
    const env = { nowMs: cluster.nowMs, wallMs: 0, reached: () => {} } as unknown as Env;
    const response = { errorCode: 0, isCaughtUp: true, isFenced: false, shouldShutDown: false };
    answerHeartbeat(cluster.node(leader), env, attempt, { response } as CallOutcome, []);
    expect(contact.answeredMs).toBe(askedMs);
  });

  test('is no coordinator of groups any more as soon as a replica that does not fetch may be one', () => {
    const [cluster, leader] = replicated(3);
    const node = cluster.node(leader);
    const { contact, nowMs } = { contact: node.contact, nowMs: cluster.nowMs };
    const partition = node.topics.byName.get('orders')?.partitions[0];
    if (partition == null) throw new Error('the leader has the partition');
    const sessionMs = node.config['broker.session.timeout.ms'];
    contact.answeredMs = nowMs - sessionMs;
    for (const id of contact.fetchedMs.keys()) contact.fetchedMs.set(id, nowMs - 10);
    expect(mayBeContradicted(node, nowMs, partition.leader)).toBe(false);
    const waitMs = node.config['replica.fetch.wait.max.ms'];
    for (const id of contact.fetchedMs.keys()) contact.fetchedMs.set(id, nowMs - 2 * waitMs);
    expect(mayBeContradicted(node, nowMs, partition.leader)).toBe(true);
    expect(mayBeReplaced(node, nowMs, partition.leader)).toBe(false);
    contact.answeredMs = nowMs - sessionMs + 1;
    expect(mayBeContradicted(node, nowMs, partition.leader)).toBe(false);
  });

  test('goes on where no other replica is', () => {
    const [cluster, leader] = replicated(3, undefined, 1);
    cluster.alone.add(leader);
    cluster.pass(2 * SESSION_MS);
    expect(produce(cluster, leader, 'a', -1)).toBe(ErrorCode.NONE);
    expect(read(cluster, leader, 1)).toEqual({ values: [], error: ErrorCode.NONE });
  });
});

test('brokers that have lost all controllers go on with what they lead, as long as they hear each other', () => {
  const [cluster, leader] = replicated(
    6,
    (id) => {
      const isController = id <= 3;
      return {
        'process.roles': isController ? 'controller' : 'broker',
        listeners: isController ? `CONTROLLER://node${id}:9093` : `PLAINTEXT://node${id}:9092`,
        'controller.quorum.voters': '1@node1:9093,2@node2:9093,3@node3:9093',
      };
    },
    3,
    4,
  );
  for (const id of [1, 2, 3]) cluster.kill(id);
  cluster.pass(4 * SESSION_MS);
  expect(produce(cluster, leader, 'a', -1)).toBe(ErrorCode.NONE);
  expect(produce(cluster, leader, 'b', 1)).toBe(ErrorCode.NONE);
  cluster.pass(1_000);
  expect(read(cluster, leader, 0).values).toEqual(['0:0=a', '0:1=b']);
  expect(read(cluster, leader, 2)).toEqual({ values: [], error: ErrorCode.NONE });
});
