/** What the others tell of a leader that has gone: nothing before it is replaced, and its address a while longer. */
import { describe, expect, test } from 'vitest';
import { activeController } from '../../core/broker/control/controller-calls.ts';
import { HOLD_MS, LINGER_MS } from '../../core/broker/partitions/absent.ts';
import { ToyCluster } from './cluster.ts';

const TOPIC = 'orders';
const METADATA = 3;
const VERSION = 9;
const ASKED = { topics: [{ name: TOPIC }], allowAutoTopicCreation: false };

/** Three nodes with a topic on all of them, led by the active controller: until that is replaced nothing is decided. */
function led(): { readonly cluster: ToyCluster; readonly leader: number; readonly others: number[] } {
  const cluster = new ToyCluster(3, () => ({ 'auto.leader.rebalance.enable': 'false' })).start();
  cluster.until(() => cluster.living.every((id) => cluster.world(id).isReady));
  const leader = cluster.living.find((id) => activeController(cluster.node(id)) === id) ?? -1;
  const others = cluster.living.filter((id) => id !== leader);
  cluster.until(() =>
    cluster.living.every((id) => [...cluster.node(id).image.cluster.brokers.values()].every((one) => !one.fenced)),
  );
  const assignments = [{ partitionIndex: 0, brokerIds: [leader, ...others] }];
  const topics = [{ name: TOPIC, numPartitions: -1, replicationFactor: -1, assignments }];
  const made = cluster.ask(leader, cluster.connect(leader), 19, 7, { topics, timeoutMs: 5_000 });
  expect(made.topics[0]?.errorCode).toBe(0);
  // The followers follow: their connections are how they learn of an end.
  cluster.pass(1_000);
  return { cluster, leader, others };
}

describe('a leader that has gone', () => {
  test('is not named again before it is replaced; then its follower is', () => {
    const { cluster, leader, others } = led();
    cluster.kill(leader);
    const clients = others.map((id) => ({ id, client: cluster.connect(id) }));
    for (const { id, client } of clients) cluster.world(id).send(client, METADATA, VERSION, ASKED);
    cluster.settle();
    for (const { id, client } of clients) expect(cluster.world(id).pending(client)).toEqual([]);
    for (const { id, client } of clients) {
      cluster.until(() => cluster.world(id).pending(client).length > 0, HOLD_MS - 100);
      const partition = cluster.world(id).take(client, METADATA, VERSION).topics[0]?.partitions[0];
      expect(partition?.errorCode).toBe(0);
      expect(others).toContain(partition?.leaderId);
      expect(cluster.node(id).followers.absent.nodes.size).toBe(0);
      expect(cluster.node(id).followers.absent.held.size).toBe(0);
    }
  });

  test('holds an answer no longer than HOLD_MS where nobody can replace it, and does so once', () => {
    const { cluster, leader, others } = led();
    const [asked = 0, second = 0] = others;
    const client = cluster.connect(asked);
    cluster.kill(second);
    cluster.kill(leader);
    const sinceMs = cluster.nowMs;
    const first = cluster.ask(asked, client, METADATA, VERSION, ASKED, HOLD_MS + 100);
    expect(cluster.nowMs - sinceMs).toBeGreaterThan(HOLD_MS / 2);
    expect(first.topics[0]?.partitions[0]?.leaderId).toBe(leader);
    cluster.ask(asked, client, METADATA, VERSION, ASKED, 10);
  });

  test('holds nothing of what is asked of other topics, or of all', () => {
    const { cluster, leader, others } = led();
    const [asked = 0] = others;
    const client = cluster.connect(asked);
    cluster.kill(leader);
    cluster.ask(asked, client, METADATA, VERSION, { ...ASKED, topics: [{ name: 'another' }] }, 1);
    cluster.ask(asked, client, METADATA, VERSION, { ...ASKED, topics: null }, 1);
  });

  test('is waited for no more once it has come back', () => {
    const { cluster, leader, others } = led();
    const [asked = 0] = others;
    cluster.kill(leader);
    cluster.until(() => cluster.node(asked).image.cluster.brokers.get(leader)?.fenced === true);
    cluster.start(leader);
    cluster.until(() => cluster.node(asked).image.cluster.brokers.get(leader)?.fenced === false);
    cluster.pass(2_000);
    expect(cluster.node(asked).followers.absent.nodes.size).toBe(0);
  });

  test('is named among the brokers for a while after it was fenced, and then no more', () => {
    const { cluster, leader, others } = led();
    const [asked = 0] = others;
    const client = cluster.connect(asked);
    const named = (): number[] => {
      const { brokers } = cluster.ask(asked, client, METADATA, VERSION, ASKED);
      return brokers.map(({ nodeId }) => nodeId).sort();
    };
    cluster.kill(leader);
    cluster.until(() => cluster.node(asked).image.cluster.brokers.get(leader)?.fenced === true);
    expect(named()).toEqual([1, 2, 3]);
    cluster.pass(LINGER_MS);
    expect(named()).toEqual([...others].sort());
  });
});
