import { describe, expect, test } from 'vitest';
import { activeController } from '../../core/broker/control/controller-calls.ts';
import { ErrorCode } from '../../core/protocol/errors.ts';
import { ToyCluster } from './cluster.ts';
import { ToyWorld } from './toy-world.ts';

const SERVE_MS = 5_000;

/** The node that is the active controller, by its own word; -1 for none. */
function controllerOf(cluster: ToyCluster): number {
  return cluster.living.find((id) => activeController(cluster.node(id)) === id) ?? -1;
}

/** Three nodes of both roles that serve. */
function served(changes: Readonly<Record<string, string>> = {}): ToyCluster {
  const cluster = new ToyCluster(3, () => changes).start();
  cluster.until(() => cluster.living.every((id) => cluster.world(id).isReady), SERVE_MS);
  return cluster;
}

function fencedBrokers(cluster: ToyCluster, at: number): number[] {
  return [...cluster.node(at).image.cluster.brokers.values()].filter(({ fenced }) => fenced).map(({ id }) => id);
}

describe('three nodes', () => {
  test('elect one controller, register with it and serve', () => {
    const cluster = served();
    const controllerId = controllerOf(cluster);
    expect(controllerId).toBeGreaterThan(0);
    for (const id of cluster.living) {
      expect(activeController(cluster.node(id))).toBe(controllerId);
      expect([...cluster.node(id).image.cluster.brokers.keys()].sort()).toEqual([1, 2, 3]);
      expect([...cluster.node(id).image.cluster.controllers.keys()].sort()).toEqual([1, 2, 3]);
    }
    cluster.until(() => fencedBrokers(cluster, 1).length === 0);
  });

  test('take administration at any of them, and answer once every broker has applied it', () => {
    const cluster = served();
    for (const id of cluster.living) {
      const topics = [{ name: `made-at-${id}`, numPartitions: 1, replicationFactor: 1 }];
      const answer = cluster.ask(id, cluster.connect(id), 19, 7, { topics, timeoutMs: 5_000 });
      expect(answer.topics.map(({ errorCode }) => errorCode)).toEqual([ErrorCode.NONE]);
      for (const other of cluster.living) expect(cluster.node(other).topics.byName.has(`made-at-${id}`)).toBe(true);
    }
  });

  test('go on without the controller that died: another is elected, and the dead broker is fenced', () => {
    const cluster = served();
    const first = controllerOf(cluster);
    cluster.kill(first);
    cluster.until(() => controllerOf(cluster) > 0, 3_000);
    const second = controllerOf(cluster);
    expect(second).not.toBe(first);
    cluster.until(() => fencedBrokers(cluster, second).includes(first), 3_000);
    expect(fencedBrokers(cluster, second)).toEqual([first]);
    cluster.start(first);
    cluster.until(() => fencedBrokers(cluster, second).length === 0, SERVE_MS);
    expect(activeController(cluster.node(first))).toBe(second);
  });

  test('fence a broker at once that was killed, and one that is cut off when its session is over', () => {
    const cluster = served();
    const controllerId = controllerOf(cluster);
    const [killed = 0, cutOff = 0] = cluster.living.filter((id) => id !== controllerId);
    cluster.until(() => fencedBrokers(cluster, controllerId).length === 0);
    cluster.kill(killed);
    cluster.until(() => fencedBrokers(cluster, controllerId).includes(killed), 200);
    cluster.start(killed);
    cluster.until(() => fencedBrokers(cluster, controllerId).length === 0, SERVE_MS);
    cluster.alone.add(cutOff);
    cluster.pass(2_000);
    expect(fencedBrokers(cluster, controllerId)).toEqual([]);
    cluster.until(() => fencedBrokers(cluster, controllerId).includes(cutOff), 2_000);
    cluster.alone.delete(cutOff);
    cluster.until(() => fencedBrokers(cluster, controllerId).length === 0, SERVE_MS);
    expect(controllerOf(cluster)).toBe(controllerId);
  });

  test('do not fence a broker for one heartbeat that was lost, however short its session is', () => {
    const quick = { 'broker.session.timeout.ms': '1200', 'broker.heartbeat.interval.ms': '200' };
    const cluster = served(quick);
    const controllerId = controllerOf(cluster);
    const [cutOff = 0] = cluster.living.filter((id) => id !== controllerId);
    cluster.until(() => fencedBrokers(cluster, controllerId).length === 0, SERVE_MS);
    cluster.alone.add(cutOff);
    cluster.pass(250);
    cluster.alone.delete(cutOff);
    for (let passedMs = 0; passedMs < 3_000; passedMs += 100) {
      cluster.pass(100);
      expect(fencedBrokers(cluster, controllerId)).toEqual([]);
    }
  });

  test('elect another controller when theirs is cut off, which takes no requests any more', () => {
    const cluster = served();
    const first = controllerOf(cluster);
    cluster.alone.add(first);
    const others = cluster.living.filter((id) => id !== first);
    cluster.until(() => others.some((id) => activeController(cluster.node(id)) === id), 5_000);
    cluster.until(() => activeController(cluster.node(first)) !== first, 3_000);
    cluster.alone.delete(first);
    cluster.until(() => new Set(cluster.living.map((id) => activeController(cluster.node(id)))).size === 1, 3_000);
    expect(others).toContain(activeController(cluster.node(first)));
  });

  test('wait for the next controller with what a client asks meanwhile', () => {
    const cluster = served();
    const first = controllerOf(cluster);
    const [other = 0] = cluster.living.filter((id) => id !== first);
    cluster.kill(first);
    const topics = [{ name: 'late', numPartitions: 1, replicationFactor: 1 }];
    const answer = cluster.ask(other, cluster.connect(other), 19, 7, { topics, timeoutMs: 10_000 }, 10_000);
    expect(answer.topics.map(({ errorCode }) => errorCode)).toEqual([ErrorCode.NONE]);
  });

  test('make a topic wait for the slowest broker that is to serve it', () => {
    const cluster = served();
    const [slow = 0, asked = 0] = cluster.living;
    cluster.until(() => fencedBrokers(cluster, slow).length === 0);
    const topics = [{ name: 'wide', numPartitions: 1, replicationFactor: 3 }];
    cluster.world(slow).holdsSyncs = true;
    const client = cluster.connect(asked);
    cluster.world(asked).send(client, 19, 7, { topics, timeoutMs: 5_000 });
    cluster.pass(300);
    expect(cluster.world(asked).pending(client)).toEqual([]);
    cluster.world(slow).releaseSyncs();
    cluster.settle();
    cluster.until(() => cluster.world(asked).pending(client).length === 1, 1_000);
    expect(cluster.world(asked).take(client, 19, 7).topics[0]?.errorCode).toBe(ErrorCode.NONE);
    expect(cluster.node(slow).topics.byName.get('wide')?.opening).toBe(0);
  });

  test('let one of them stop: it is let go, and comes back', () => {
    const cluster = served();
    for (const id of [1, 2, 3]) {
      cluster.stop(id);
      expect(cluster.world(id).exit).toMatchObject({ code: 0, reason: 'stopped cleanly' });
      cluster.until(() => controllerOf(cluster) > 0, 3_000);
      cluster.start(id);
      cluster.until(() => cluster.world(id).isReady, SERVE_MS);
    }
  });

  test('say who votes and how far each has come, whichever is asked', () => {
    const cluster = served();
    for (const id of cluster.living) {
      const topics = [{ topicName: '__cluster_metadata', partitions: [{ partitionIndex: 0 }] }];
      for (const version of [0, 1, 2]) {
        const answer = cluster.ask(id, cluster.connect(id), 55, version, { topics });
        expect(answer.topics[0]?.partitions[0]).toMatchObject({ errorCode: 0, leaderId: controllerOf(cluster) });
        expect(answer.topics[0]?.partitions[0]?.currentVoters.map(({ replicaId }) => replicaId)).toEqual([1, 2, 3]);
        expect(answer.nodes.map(({ nodeId }) => nodeId)).toEqual(version < 2 ? [] : [1, 2, 3]);
      }
    }
  });
});

describe('roles', () => {
  test('of controllers apart from brokers', () => {
    const cluster = new ToyCluster(4, (id) => {
      const isController = id <= 3;
      const name = isController ? 'CONTROLLER' : 'PLAINTEXT';
      return {
        'process.roles': isController ? 'controller' : 'broker',
        listeners: `${name}://node${id}:${isController ? 9093 : 9092}`,
        'controller.quorum.voters': '1@node1:9093,2@node2:9093,3@node3:9093',
      };
    }).start();
    cluster.until(() => cluster.living.every((id) => cluster.world(id).isReady), SERVE_MS);
    expect([...cluster.node(4).image.cluster.brokers.keys()]).toEqual([4]);
    const topics = [{ name: 'orders', numPartitions: 1, replicationFactor: 1 }];
    const answer = cluster.ask(4, cluster.connect(4), 19, 7, { topics, timeoutMs: 5_000 });
    expect(answer.topics.map(({ errorCode }) => errorCode)).toEqual([ErrorCode.NONE]);
  });

  test('of a broker that finds the voter of a cluster of one by its address', () => {
    const cluster = new ToyCluster(2, (id) => ({
      'controller.quorum.voters': '',
      'controller.quorum.bootstrap.servers': 'node1:9093',
      ...(id === 2 && { 'process.roles': 'broker', listeners: 'PLAINTEXT://node2:9092' }),
    })).start();
    cluster.until(() => cluster.living.every((id) => cluster.world(id).isReady), SERVE_MS);
    expect([...cluster.node(2).image.cluster.brokers.keys()].sort()).toEqual([1, 2]);
    expect(activeController(cluster.node(2))).toBe(1);
    cluster.stop(2);
    expect(cluster.world(2).exit).toMatchObject({ code: 0, reason: 'stopped cleanly' });
    cluster.start(2);
    cluster.until(() => cluster.world(2).isReady, SERVE_MS);
  });

  test('of one of several need to be told the id of their cluster', () => {
    const world = new ToyWorld({
      listeners: 'PLAINTEXT://node1:9092,CONTROLLER://node1:9093',
      'controller.listener.names': 'CONTROLLER',
      'controller.quorum.voters': '1@node1:9093,2@node2:9093,3@node3:9093',
    }).start();
    expect(world.exit?.reason).toContain('set cluster.id, the same for all of them');
    expect([...world.files.keys()]).toEqual([]);
  });
});
