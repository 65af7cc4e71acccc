/** What a broker asks of a controller that is lost, or that does not know it. */
import { describe, expect, test } from 'vitest';
import { activeController } from '../../core/broker/control/controller-calls.ts';
import { ErrorCode } from '../../core/protocol/errors.ts';
import { ToyCluster } from './cluster.ts';
import { KEY } from './speaking.ts';

/** Another controller is known, and dead brokers are fenced, within this; the time-outs of calls are far longer. */
const TAKEN_OVER_MS = 8_000;
const CREATE = 19;
const UNREGISTER = 64;
const NO_TRANSACTIONS = { transactionalId: null, transactionTimeoutMs: -1 };

function controllerOf(cluster: ToyCluster): number {
  return cluster.living.find((id) => activeController(cluster.node(id)) === id) ?? -1;
}

/** Three nodes that serve, and take part by the word of all. */
function served(): ToyCluster {
  const cluster = new ToyCluster(3).start();
  const isIn = (id: number): boolean => {
    const brokers = [...cluster.node(id).image.cluster.brokers.values()];
    return cluster.world(id).isReady && brokers.length === 3 && brokers.every(({ fenced }) => !fenced);
  };
  cluster.until(() => cluster.living.every(isIn));
  return cluster;
}

/** A cluster whose controller has just fallen silent: nobody knows it yet. And another node of it. */
function deserted(): { cluster: ToyCluster; lost: number; other: number } {
  const cluster = served();
  const lost = controllerOf(cluster);
  const [other = 0] = cluster.living.filter((id) => id !== lost);
  // Both kinds of connection are up.
  const topics = [{ name: 'earlier', numPartitions: 1, replicationFactor: 1 }];
  cluster.ask(other, cluster.connect(other), CREATE, 7, { topics, timeoutMs: 5_000 });
  cluster.ask(other, cluster.connect(other), KEY.initProducerId, 3, NO_TRANSACTIONS);
  cluster.alone.add(lost);
  return { cluster, lost, other };
}

describe('what was asked of a controller that fell silent', () => {
  test('is not waited for: a client hears that its answer is lost, and asks the next one', () => {
    const { cluster, lost, other } = deserted();
    const topics = [{ name: 'orders', numPartitions: 1, replicationFactor: 1 }];
    const body = { topics, timeoutMs: 25_000 };
    const client = cluster.connect(other);
    const answer = cluster.ask(other, client, CREATE, 7, body, TAKEN_OVER_MS);
    expect(answer.topics.map(({ errorCode }) => errorCode)).toEqual([ErrorCode.NOT_CONTROLLER]);
    expect(activeController(cluster.node(other))).not.toBe(lost);
    const again = cluster.ask(other, client, CREATE, 7, body, TAKEN_OVER_MS);
    expect(again.topics.map(({ errorCode }) => errorCode)).toEqual([ErrorCode.NONE]);
  });

  test('goes to the next one, if it is the broker that asked', () => {
    const { cluster, other } = deserted();
    // The ids that it was given are used up.
    const ids = cluster.node(other).producerIds;
    ids.next = ids.end;
    const client = cluster.connect(other);
    // Before the call's own time is over.
    const untilMs = cluster.nowMs + cluster.node(other).config['broker.session.timeout.ms'] - 500;
    const ask = () => cluster.ask(other, client, KEY.initProducerId, 3, NO_TRANSACTIONS, untilMs - cluster.nowMs);
    let answer = ask();
    // The next one is known before it takes requests: the client comes again.
    while (answer.errorCode === ErrorCode.COORDINATOR_LOAD_IN_PROGRESS) {
      cluster.pass(50);
      answer = ask();
    }
    expect(answer).toMatchObject({ errorCode: ErrorCode.NONE, producerEpoch: 0 });
  });

  test('is answered once: what the old one says when it is heard again is passed over', () => {
    const { cluster, lost, other } = deserted();
    const topics = [{ name: 'orders', numPartitions: 1, replicationFactor: 1 }];
    const client = cluster.connect(other);
    cluster.ask(other, client, CREATE, 7, { topics, timeoutMs: 25_000 }, TAKEN_OVER_MS);
    cluster.alone.delete(lost);
    cluster.pass(40_000);
    expect(cluster.world(other).pending(client)).toEqual([]);
    expect(cluster.node(other).controllerCalls.calls.size).toBeLessThanOrEqual(1);
  });
});

test('a client whose time is over while a controller keeps silent is told so', () => {
  const cluster = served();
  const first = controllerOf(cluster);
  const [other = 0, third = 0] = cluster.living.filter((id) => id !== first);
  // Two of three are silent: nobody else is elected.
  cluster.alone.add(first);
  cluster.alone.add(third);
  const topics = [{ name: 'orders', numPartitions: 1, replicationFactor: 1 }];
  const answer = cluster.ask(other, cluster.connect(other), CREATE, 7, { topics, timeoutMs: 3_000 }, 5_000);
  expect(answer.topics.map(({ errorCode }) => errorCode)).toEqual([ErrorCode.REQUEST_TIMED_OUT]);
});

test('a broker that was unregistered while it lives registers anew and takes part again', () => {
  const cluster = served();
  const [asked = 0, other = 0] = cluster.living;
  const before = cluster.node(asked).image.cluster.brokers.get(other)?.epoch ?? -1;
  const gone = { brokerId: other };
  const answer = cluster.ask(asked, cluster.connect(asked), UNREGISTER, 0, gone);
  expect(answer.errorCode).toBe(ErrorCode.NONE);
  const brokerNow = () => cluster.node(asked).image.cluster.brokers.get(other);
  cluster.until(() => brokerNow()?.fenced === false && (brokerNow()?.epoch ?? -1) > before);
  expect(cluster.node(other).lifecycle.epoch).toBe(brokerNow()?.epoch);
  cluster.stop(other);
  expect(cluster.world(other).exit).toMatchObject({ code: 0, reason: 'stopped cleanly' });
});
