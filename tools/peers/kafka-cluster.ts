/**
 * Apache Kafka as several nodes, each a broker and a controller in a process of its own, on 127.0.0.1 and one disk. It
 * is what three nodes of ours are compared with.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freshClusterId, type KafkaAddress, type KafkaBroker, serveKafkaNode, startKafkaNode } from './kafka-broker.ts';
import { freePort } from './process.ts';

/** Nodes that run together. */
export interface KafkaCluster {
  /** In the order of their ids, which begin at 1; a node that was started again is here anew. */
  readonly nodes: readonly Omit<KafkaBroker, 'stop'>[];
  /** Where the controllers listen, in the same order. */
  readonly controllerPorts: readonly number[];
  /** All of them, as clients want it. */
  readonly bootstrap: string;
  /** Starts a node again that has ended. */
  readonly restart: (nodeId: number) => Promise<void>;
  /** Ends the processes and removes their data. */
  readonly stop: () => Promise<void>;
}

/** What may be chosen for a cluster. */
export interface KafkaClusterOptions {
  /** Settings by Kafka's names, of every node. */
  readonly settings?: ReadonlyMap<string, string>;
  /** Java heap of each node; Kafka's own script gives 1g. */
  readonly heap?: string;
  /** Where a folder for the data is made. */
  readonly parentFolder?: string;
}

/** Starts so many nodes with empty log directories. Resolves when each accepts connections and owns its port. */
export async function startKafkaCluster(count: number, options: KafkaClusterOptions = {}): Promise<KafkaCluster> {
  const parent = options.parentFolder ?? tmpdir();
  mkdirSync(parent, { recursive: true });
  const folder = mkdtempSync(join(parent, 'kafka-cluster-'));
  const addresses: KafkaAddress[] = [];
  for (let nodeId = 1; nodeId <= count; nodeId++) {
    addresses.push({ nodeId, port: await freePort(), controllerPort: await freePort() });
  }
  const clusterId = freshClusterId();
  const settings = options.settings ?? new Map<string, string>();
  const folderOf = (nodeId: number): string => join(folder, `node${nodeId}`);
  // A node serves once the quorum has a leader, so none may wait for another.
  const started = await Promise.allSettled(
    addresses.map((address) => {
      const own = folderOf(address.nodeId);
      mkdirSync(own);
      return startKafkaNode(own, address, addresses, clusterId, settings, options.heap);
    }),
  );
  const nodes = started.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const stop = async (): Promise<void> => {
    await Promise.all(nodes.map(({ service }) => service.stop('SIGKILL')));
    rmSync(folder, { recursive: true, force: true });
  };
  const failed = started.find((one) => one.status === 'rejected');
  if (failed !== undefined) {
    await stop();
    throw failed.reason;
  }
  const restart = async (nodeId: number): Promise<void> => {
    const port = nodes[nodeId - 1]?.port;
    if (port === undefined) throw new Error(`there is no node ${nodeId}`);
    nodes[nodeId - 1] = await serveKafkaNode(folderOf(nodeId), port, options.heap);
  };
  const controllerPorts = addresses.map(({ controllerPort }) => controllerPort);
  return { nodes, controllerPorts, bootstrap: nodes.map(({ bootstrap }) => bootstrap).join(','), restart, stop };
}
