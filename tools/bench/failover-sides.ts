/**
 * Three nodes of which one can be taken away and given back: by SIGKILL, SIGSTOP or SIGTERM, and by a new process in
 * the same folder on the same ports.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type AskedNode, ask, askController, askPartitions } from '../peers/ask.ts';
import { startKafkaCluster } from '../peers/kafka-cluster.ts';
import { pause, type Service } from '../peers/process.ts';
import { startTidemarkCluster } from '../peers/tidemark-cluster.ts';
import type { ClusterSideName } from './cluster-sides.ts';

/** A cluster that loses nodes. */
export interface FailoverSide {
  readonly name: ClusterSideName;
  readonly bootstrap: string;
  readonly leaderOf: (topic: string) => Promise<number>;
  readonly controller: () => Promise<number>;
  /** Sends the signal to a node. */
  readonly signal: (nodeId: number, signal: NodeJS.Signals) => void;
  /** Resolves to the exit code of a node's process once it has ended. */
  readonly ended: (nodeId: number) => Promise<number>;
  /** Starts a node again whose process has ended. */
  readonly restart: (nodeId: number) => Promise<void>;
  /** Waits until every replica of every partition is in sync, on the word of every node. */
  readonly whole: () => Promise<void>;
  readonly createTopic: (topic: string) => Promise<void>;
  readonly stop: () => Promise<void>;
}

interface Running {
  readonly port: number;
  readonly pid: number;
  readonly service: Service;
}

/** Of either kind. A node that was started again is there anew. */
interface Cluster {
  readonly nodes: readonly Running[];
  readonly bootstrap: string;
  readonly restart: (nodeId: number) => Promise<unknown>;
}

const NODES = 3;
/** Of a Kafka node: three of them, and the clients, share the machine. */
const HEAP = '512m';
const WHOLE_TIMEOUT_MS = 120_000;
const LOOK_EVERY_MS = 100;
const CREATE_TOPICS = 19;

/** Starts three with their defaults, but for what a topic of three replicas needs; `ours` are settings of our nodes. */
export async function startFailoverSide(
  name: ClusterSideName,
  parentFolder: string,
  ours: ReadonlyMap<string, string>,
): Promise<FailoverSide> {
  if (name === 'kafka') {
    const settings = new Map([
      ['default.replication.factor', String(NODES)],
      ['min.insync.replicas', '2'],
    ]);
    const cluster = await startKafkaCluster(NODES, { settings, parentFolder, heap: HEAP });
    return sideOf(name, cluster, cluster.stop);
  }
  const folder = mkdtempSync(join(parentFolder, 'tidemark-failover-'));
  const cluster = await startTidemarkCluster(NODES, folder, { settings: ours });
  return sideOf(name, cluster, async () => {
    await cluster.stop();
    rmSync(folder, { recursive: true, force: true });
  });
}

function sideOf(name: ClusterSideName, cluster: Cluster, stop: () => Promise<void>): FailoverSide {
  const node = (nodeId: number): Running => {
    const found = cluster.nodes[nodeId - 1];
    if (found === undefined) throw new Error(`there is no node ${nodeId}`);
    return found;
  };
  const any = async <T>(question: (asked: AskedNode) => Promise<T>): Promise<T> => {
    for (let id = 1; id < NODES; id++) {
      const answer = await question(node(id)).catch(() => null);
      if (answer !== null) return answer;
    }
    return question(node(NODES));
  };
  return {
    name,
    bootstrap: cluster.bootstrap,
    leaderOf: async (topic) => (await any((asked) => askPartitions(asked, [topic])))[0]?.leader ?? -1,
    controller: () => any(askController),
    signal: (nodeId, signal) => void process.kill(node(nodeId).pid, signal),
    ended: (nodeId) => node(nodeId).service.ended,
    restart: async (nodeId) => void (await cluster.restart(nodeId)),
    whole: () => untilWhole(cluster.nodes),
    createTopic: (topic) => createTopic(any, topic),
    stop,
  };
}

async function createTopic(
  any: <T>(question: (asked: AskedNode) => Promise<T>) => Promise<T>,
  topic: string,
): Promise<void> {
  const topics = [{ name: topic, numPartitions: 1, replicationFactor: NODES, assignments: [], configs: [] }];
  const untilMs = performance.now() + WHOLE_TIMEOUT_MS;
  for (;;) {
    const answer = await any((asked) =>
      ask(asked, CREATE_TOPICS, 5, { topics, timeoutMs: 10_000, validateOnly: false }),
    ).catch(() => null);
    if (answer?.topics[0]?.errorCode === 0) return;
    if (performance.now() > untilMs) throw new Error(`${topic} was not created: ${JSON.stringify(answer)}`);
    await pause(LOOK_EVERY_MS);
  }
}

async function untilWhole(nodes: readonly AskedNode[]): Promise<void> {
  const untilMs = performance.now() + WHOLE_TIMEOUT_MS;
  for (;;) {
    const standings = await Promise.all(nodes.map((node) => askPartitions(node, null).catch(() => null)));
    const isWhole = standings.every(
      (all) => all?.every(({ leader, inSync, replicas }) => leader >= 0 && inSync.length === replicas.length) === true,
    );
    if (isWhole) return;
    if (performance.now() > untilMs) throw new Error(`the cluster did not become whole: ${JSON.stringify(standings)}`);
    await pause(LOOK_EVERY_MS);
  }
}
