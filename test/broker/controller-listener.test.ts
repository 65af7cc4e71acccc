/** What is served through which listener, and what a controller tells clients that ask it directly (KIP-919). */
import { describe, expect, test } from 'vitest';
import { servedApis } from '../../core/broker/api/table.ts';
import { activeController } from '../../core/broker/control/controller-calls.ts';
import { ErrorCode } from '../../core/protocol/errors.ts';
import type { ResponseOf } from '../../core/protocol/messages/index.ts';
import { ToyCluster } from './cluster.ts';

const CONTROLLER = 1;

/** Three nodes of both roles that have registered as brokers and as controllers. */
function served(): ToyCluster {
  const cluster = new ToyCluster(3).start();
  cluster.until(() => cluster.living.every((id) => cluster.world(id).isReady));
  cluster.until(() => cluster.living.every((id) => cluster.node(id).image.cluster.controllers.size === 3));
  return cluster;
}

function describeCluster(
  cluster: ToyCluster,
  id: number,
  listener: number,
  endpointType: number,
  version = 2,
): ResponseOf<60> {
  return cluster.ask(id, cluster.connect(id, listener), 60, version, { endpointType });
}

test.each([
  ['brokers', false, 'broker'],
  ['controllers', true, 'controller'],
] as const)(
  'of what is served at all, a listener for %s serves what it does in Apache Kafka',
  (_, isOfController, kind) => {
    const all = new Set([...servedApis(false), ...servedApis(true)].map(({ api }) => api));
    const wanted = [...all].filter(({ listeners }) => listeners.includes(kind)).sort((a, b) => a.key - b.key);
    expect(servedApis(isOfController).map(({ api }) => api.name)).toEqual(wanted.map(({ name }) => name));
  },
);

describe('DescribeCluster through a listener for controllers', () => {
  test('names the controllers, where they listen, and which is active, whichever is asked', () => {
    const cluster = served();
    for (const id of cluster.living) {
      const answer = describeCluster(cluster, id, CONTROLLER, 2);
      expect(answer).toMatchObject({ errorCode: 0, endpointType: 2, controllerId: activeController(cluster.node(id)) });
      const places = answer.brokers.map(({ brokerId, host, port }) => `${brokerId}@${host}:${port}`);
      const others = cluster.living.filter((one) => one !== id).map((one) => `${one}@node${one}:9093`);
      // The client reached this one by its address.
      expect(places).toEqual([`${id}@10.0.0.1:9093`, ...others]);
    }
  });

  test('names nobody active while nobody is known to be', () => {
    const cluster = new ToyCluster(3).start(1);
    cluster.pass(3_000);
    const answer = describeCluster(cluster, 1, CONTROLLER, 2);
    expect(answer).toMatchObject({ errorCode: 0, controllerId: -1 });
    expect(answer.brokers.map(({ brokerId }) => brokerId)).toEqual([1]);
  });

  test('is refused to whoever meant brokers, and the other way round', () => {
    const cluster = served();
    const errorOf = (...asked: [number, number, number?]) => describeCluster(cluster, 1, ...asked).errorCode;
    expect(errorOf(CONTROLLER, 1)).toBe(ErrorCode.MISMATCHED_ENDPOINT_TYPE);
    expect(errorOf(CONTROLLER, 1, 0)).toBe(ErrorCode.INVALID_REQUEST);
    expect(errorOf(CONTROLLER, 3)).toBe(ErrorCode.UNSUPPORTED_ENDPOINT_TYPE);
    expect(errorOf(0, 2)).toBe(ErrorCode.MISMATCHED_ENDPOINT_TYPE);
    expect(
      describeCluster(cluster, 1, 0, 1)
        .brokers.map(({ brokerId }) => brokerId)
        .sort(),
    ).toEqual([1, 2, 3]);
  });
});

test('a controller describes the configuration of its node, and who votes, to clients that ask it directly', () => {
  const cluster = served();
  for (const id of cluster.living) {
    const client = cluster.connect(id, CONTROLLER);
    const resources = [{ resourceType: 4, resourceName: String(id), configurationKeys: ['node.id'] }];
    const { results } = cluster.ask(id, client, 32, 4, { resources });
    expect(results[0]).toMatchObject({ errorCode: 0, configs: [{ name: 'node.id', value: String(id) }] });
    expect(cluster.ask(id, client, 29, 3, {})).toMatchObject({ errorCode: ErrorCode.SECURITY_DISABLED });
    const topics = [{ topicName: '__cluster_metadata', partitions: [{ partitionIndex: 0 }] }];
    const { errorCode } = cluster.ask(id, client, 55, 2, { topics }).topics[0]!.partitions[0]!;
    const isActive = activeController(cluster.node(id)) === id;
    expect(errorCode).toBe(isActive ? ErrorCode.NONE : ErrorCode.NOT_LEADER_OR_FOLLOWER);
    const moves = cluster.ask(id, client, 46, 0, { topics: null, timeoutMs: 1 });
    expect(moves).toMatchObject({ errorCode: isActive ? ErrorCode.NONE : ErrorCode.NOT_CONTROLLER, topics: [] });
  }
});
