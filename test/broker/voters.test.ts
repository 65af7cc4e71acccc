/** Nodes that join the quorum of a running cluster and leave it, asked for as Kafka's tool asks a broker. */
import { describe, expect, test } from 'vitest';
import { activeController } from '../../core/broker/control/controller-calls.ts';
import { ErrorCode } from '../../core/protocol/errors.ts';
import type { ResponseOf } from '../../core/protocol/messages/index.ts';
import { ToyCluster } from './cluster.ts';

const SERVE_MS = 10_000;

/** The first node begins the cluster, the others find it by its address. */
function growing(count: number, changes: Record<string, string> = {}): ToyCluster {
  const cluster = new ToyCluster(count, () => ({
    'controller.quorum.voters': '',
    'controller.quorum.bootstrap.servers': 'node1:9093',
    ...changes,
  })).start();
  cluster.until(() => cluster.living.every((id) => cluster.world(id).isReady), SERVE_MS);
  return cluster;
}

/** Who votes, as a node knows it. */
function votersAt(cluster: ToyCluster, id: number): number[] {
  return (cluster.node(id).controller?.quorum.raft.quorum.voters ?? []).map((voter) => voter.id).sort();
}

function add(cluster: ToyCluster, via: number, id: number): ResponseOf<80> {
  return cluster.ask(via, cluster.connect(via), 80, 1, {
    clusterId: cluster.node(1).clusterId,
    timeoutMs: 5_000,
    voterId: id,
    voterDirectoryId: cluster.node(id).directoryId,
    listeners: [{ name: 'CONTROLLER', host: `node${id}`, port: 9093 }],
    ackWhenCommitted: true,
  });
}

function remove(cluster: ToyCluster, via: number, id: number): ResponseOf<81> {
  const { clusterId, directoryId } = cluster.node(id);
  return cluster.ask(via, cluster.connect(via), 81, 0, { clusterId, voterId: id, voterDirectoryId: directoryId });
}

const DONE = { throttleTimeMs: 0, errorCode: ErrorCode.NONE, errorMessage: null };

describe('a cluster of one controller', () => {
  test('grows to three voters and survives the loss of its first one', () => {
    const cluster = growing(3);
    expect(votersAt(cluster, 3)).toEqual([1]);
    // Whichever broker is asked: the leader of the quorum answers.
    expect(add(cluster, 3, 2)).toEqual(DONE);
    expect(add(cluster, 1, 3)).toEqual(DONE);
    expect(add(cluster, 2, 3)).toMatchObject({ errorCode: ErrorCode.DUPLICATE_VOTER });
    cluster.until(() => cluster.living.every((id) => votersAt(cluster, id).length === 3), SERVE_MS);
    cluster.kill(1);
    cluster.until(() => activeController(cluster.node(2)) > 1, SERVE_MS);
    expect(activeController(cluster.node(3))).toBe(activeController(cluster.node(2)));
  });

  test('hands everything over to the others and goes on as a broker', () => {
    const cluster = growing(3);
    add(cluster, 1, 2);
    add(cluster, 1, 3);
    expect(remove(cluster, 2, 1)).toEqual(DONE);
    cluster.until(() => activeController(cluster.node(1)) > 1, SERVE_MS);
    expect([1, 2, 3].map((id) => votersAt(cluster, id))).toEqual([
      [2, 3],
      [2, 3],
      [2, 3],
    ]);
    const topics = [{ name: 'orders', numPartitions: 3, replicationFactor: 3 }];
    const answer = cluster.ask(1, cluster.connect(1), 19, 7, { topics, timeoutMs: 5_000 });
    expect(answer.topics.map(({ errorCode }) => errorCode)).toEqual([ErrorCode.NONE]);
    // Nor does a restart make it a voter.
    cluster.stop(1);
    cluster.start(1);
    cluster.until(() => cluster.world(1).isReady, SERVE_MS);
    expect(votersAt(cluster, 1)).toEqual([2, 3]);
  });

  test('takes nodes as voters that ask for it themselves', () => {
    const cluster = growing(3, { 'controller.quorum.auto.join.enable': 'true' });
    cluster.until(() => cluster.living.every((id) => votersAt(cluster, id).length === 3), SERVE_MS);
  });

  test('has clients ask again when nobody leads', () => {
    const cluster = growing(3);
    cluster.kill(1);
    expect(add(cluster, 2, 3)).toEqual({ ...DONE, errorCode: ErrorCode.NOT_CONTROLLER });
  });
});
