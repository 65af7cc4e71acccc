/**
 * Our own daemon as several nodes, each a broker and a controller in a process of its own, set up by properties files
 * as `docs/cluster.md` shows them. Their data outlives a kill: a node can be started again in its folder, on its ports.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort, mustOwnPort, type Service, serve, waitForPort } from './process.ts';
import { tidemarkProgram } from './tidemark.ts';

/** One node that runs. */
export interface ClusterNode {
  readonly nodeId: number;
  readonly pid: number;
  readonly port: number;
  readonly controllerPort: number;
  /** `host:port`, as clients want it. */
  readonly bootstrap: string;
  readonly service: Service;
}

/** Nodes that belong together. */
export interface TidemarkCluster {
  /** In the order of their ids, which begin at 1; a node that was started again is here anew. */
  readonly nodes: ClusterNode[];
  /** All of them, as clients want it. */
  readonly bootstrap: string;
  /** Starts a node again that has ended. */
  readonly restart: (nodeId: number) => Promise<ClusterNode>;
  /** Ends all that run, one after the other; SIGTERM by default. */
  readonly stop: (signal?: NodeJS.Signals) => Promise<void>;
}

/** What may be chosen for a cluster. */
export interface TidemarkClusterOptions {
  /** Settings by Kafka's names, of every node, on top of those of `docs/cluster.md`. */
  readonly settings?: ReadonlyMap<string, string>;
  /** The first node alone votes, and the others find it and follow: voters can be added. Default: all vote for good. */
  readonly isGrowing?: boolean;
  /** More settings, of one node each. */
  readonly settingsOf?: (nodeId: number) => ReadonlyMap<string, string>;
}

/** Of every cluster that is set up here. */
export const CLUSTER_ID = 'MkU3OEVBNTcwNTJENDM2Qg';
const LOCALHOST = '127.0.0.1';
const START_TIMEOUT_MS = 60_000;

/** Where a node of a cluster is found. */
export interface NodeAddress {
  readonly nodeId: number;
  /** 127.0.0.1 by default. */
  readonly host?: string;
  readonly port: number;
  readonly controllerPort: number;
}

/** Starts so many nodes, their data in `folder`. Resolves when each accepts connections and owns its port. */
export async function startTidemarkCluster(
  count: number,
  folder: string,
  options: TidemarkClusterOptions = {},
): Promise<TidemarkCluster> {
  const addresses: NodeAddress[] = [];
  for (let nodeId = 1; nodeId <= count; nodeId++) {
    addresses.push({ nodeId, port: await freePort(), controllerPort: await freePort() });
  }
  mkdirSync(folder, { recursive: true });
  for (const address of addresses) {
    const shape = options.isGrowing === true ? growing(addresses[0]?.controllerPort ?? 0) : [];
    const own = new Map([...shape, ...(options.settings ?? []), ...(options.settingsOf?.(address.nodeId) ?? [])]);
    writePropertiesOf(address, addresses, folder, own);
  }
  // A node serves once it is told so by a quorum, so none may wait for another.
  const started = await Promise.allSettled(addresses.map((address) => startNode(address, folder)));
  const nodes = started.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const stop = async (signal: NodeJS.Signals = 'SIGTERM'): Promise<void> => {
    for (const { service } of nodes) await service.stop(signal);
  };
  const failed = started.find((one) => one.status === 'rejected');
  if (failed !== undefined) {
    await stop('SIGKILL');
    throw failed.reason;
  }
  const restart = async (nodeId: number): Promise<ClusterNode> => {
    const place = nodes.findIndex((node) => node.nodeId === nodeId);
    const address = addresses[place];
    if (address === undefined) throw new Error(`there is no node ${nodeId}`);
    const node = await startNode(address, folder);
    nodes[place] = node;
    return node;
  };
  return { nodes, bootstrap: addresses.map(({ port }) => `127.0.0.1:${port}`).join(','), restart, stop };
}

function growing(controllerPort: number): [string, string][] {
  return [
    ['controller.quorum.voters', ''],
    ['controller.quorum.bootstrap.servers', `${LOCALHOST}:${controllerPort}`],
  ];
}

async function startNode(address: NodeAddress, folder: string): Promise<ClusterNode> {
  const { nodeId, port } = address;
  const service = serve(process.execPath, [tidemarkProgram(), 'start', '--config', fileOf(folder, nodeId)]);
  try {
    await waitForPort(service, port, START_TIMEOUT_MS);
    await mustOwnPort(service.pid, port);
  } catch (error) {
    await service.stop('SIGKILL');
    throw error;
  }
  return { ...address, pid: service.pid, bootstrap: `127.0.0.1:${port}`, service };
}

/** The file that a node is started with. */
export function fileOf(folder: string, nodeId: number): string {
  return join(folder, `node${nodeId}.properties`);
}

/** Writes the file that a node of these is started with, its log directory `nodeN` beside it. Returns its path. */
export function writePropertiesOf(
  { nodeId, host = LOCALHOST, port, controllerPort }: NodeAddress,
  all: readonly NodeAddress[],
  folder: string,
  own: ReadonlyMap<string, string>,
): string {
  const voters = all.map((one) => `${one.nodeId}@${one.host ?? LOCALHOST}:${one.controllerPort}`);
  const settings = new Map([
    ['node.id', String(nodeId)],
    ['listeners', `PLAINTEXT://${host}:${port},CONTROLLER://${host}:${controllerPort}`],
    ['log.dirs', join(folder, `node${nodeId}`)],
    ['process.roles', 'broker,controller'],
    ['cluster.id', CLUSTER_ID],
    ['controller.listener.names', 'CONTROLLER'],
    ['controller.quorum.voters', voters.join(',')],
    ['inter.broker.listener.name', 'PLAINTEXT'],
    ['listener.security.protocol.map', 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT'],
    ['default.replication.factor', String(all.length)],
    ['min.insync.replicas', String(Math.min(all.length, 2))],
    ...own,
  ]);
  const file = fileOf(folder, nodeId);
  writeFileSync(file, [...settings].map(([name, value]) => `${name}=${value}\n`).join(''));
  return file;
}
