/**
 * Three nodes of Apache Kafka and three of Tidemark, each a broker and a controller in a process of its own, on one
 * disk: every topic on all three, acknowledged by two at least, with Kafka's own defaults for the rest. Kafka's nodes
 * have the heap and the flags of its own start script.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { startKafkaCluster } from '../peers/kafka-cluster.ts';
import { runKafkaTool } from '../peers/kafka-tools.ts';
import { pause, processorMs, residentBytes } from '../peers/process.ts';
import { NEVER } from '../peers/tidemark.ts';
import { startTidemarkCluster } from '../peers/tidemark-cluster.ts';
import type { SideName } from './sides.ts';

/** Who is measured: nothing else replicates. */
export type ClusterSideName = Exclude<SideName, 'null'>;

/** A cluster under measurement. */
export interface ClusterSide {
  readonly name: ClusterSideName;
  /** All nodes, as clients want it. */
  readonly bootstrap: string;
  /** Processor time that all nodes have used, ms. */
  readonly processorMs: () => number;
  /** Resident memory of all nodes together. */
  readonly residentBytes: () => number;
  readonly stop: () => Promise<void>;
}

const NODES = 3;
const CREATE_TIMEOUT_MS = 60_000;
const CREATE_AGAIN_MS = 500;

/**
 * Starts a cluster with empty disks. `synced`: every replica in sync has a batch on its disk before it is acknowledged;
 * otherwise no node ever asks for that.
 */
export async function startClusterSide(
  name: ClusterSideName,
  synced: boolean,
  parentFolder: string,
): Promise<ClusterSide> {
  const settings = new Map([
    ['log.flush.interval.messages', synced ? '1' : NEVER],
    ['default.replication.factor', String(NODES)],
    ['min.insync.replicas', '2'],
  ]);
  if (name === 'kafka') {
    const { nodes, bootstrap, stop } = await startKafkaCluster(NODES, { settings, parentFolder });
    return sideOf(name, bootstrap, () => nodes.map(({ pid }) => pid), stop);
  }
  const folder = mkdtempSync(join(parentFolder, 'tidemark-cluster-'));
  const cluster = await startTidemarkCluster(NODES, folder, { settings });
  const stop = async (): Promise<void> => {
    await cluster.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  return sideOf(name, cluster.bootstrap, () => cluster.nodes.map(({ pid }) => pid), stop);
}

function sideOf(
  name: ClusterSideName,
  bootstrap: string,
  pids: () => number[],
  stop: () => Promise<void>,
): ClusterSide {
  const sum = (of: (pid: number) => number): number => pids().reduce((total, pid) => total + of(pid), 0);
  return { name, bootstrap, processorMs: () => sum(processorMs), residentBytes: () => sum(residentBytes), stop };
}

/** Creates a topic on all nodes, once all of them are there. */
export async function createReplicated(
  { name, bootstrap }: ClusterSide,
  topic: string,
  partitions: number,
): Promise<void> {
  const untilMs = performance.now() + CREATE_TIMEOUT_MS;
  const what = ['--topic', topic, '--partitions', String(partitions), '--replication-factor', String(NODES)];
  for (;;) {
    const finished = await runKafkaTool('topics', ['--bootstrap-server', bootstrap, '--create', ...what]);
    if (finished.code === 0) return;
    const said = `${finished.stdout}\n${finished.stderr}`.slice(0, 3000);
    if (performance.now() > untilMs) throw new Error(`${name} did not create a topic on ${NODES} nodes: ${said}`);
    await pause(CREATE_AGAIN_MS);
  }
}
