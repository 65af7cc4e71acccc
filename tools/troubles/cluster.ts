/**
 * Three daemons, and a broker that comes and goes, set up by properties files as `docs/cluster.md` shows them, each at
 * its own place in the network. What was done to a node is noted, so that one that ends by itself is told from one that
 * was made to.
 */
import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { META_PROPERTIES, randomUuid } from '../../core/broker/checkpoints/files.ts';
import { UUID_BYTES } from '../../core/lib/uuid.ts';
import { pause, runOrThrow, type Service, serve } from '../peers/process.ts';
import { tidemarkProgram } from '../peers/tidemark.ts';
import { CLUSTER_ID, type NodeAddress, writePropertiesOf } from '../peers/tidemark-cluster.ts';
import type { Network } from './network.ts';
import { GUEST, NODES, type Quorum } from './plan.ts';

/** A process that has ended without having been asked to. */
export interface SuddenEnd {
  readonly nodeId: number;
  readonly code: number;
  /** The end of what it said. */
  readonly said: string;
}

/** One node of the cluster, through all its processes. */
export interface Daemon {
  readonly nodeId: number;
  readonly host: string;
  readonly port: number;
  readonly folder: string;
  /** Everything that its processes have said. */
  readonly said: () => string;
  readonly isRunning: () => boolean;
  /** Starts a process, unless one runs. */
  readonly start: () => void;
  /** Sends a signal that does not end the process. */
  readonly signal: (signal: 'SIGSTOP' | 'SIGCONT') => void;
  /** Ends the process and waits until it has ended: its exit code, 0 if none ran. */
  readonly end: (signal: 'SIGTERM' | 'SIGKILL') => Promise<number>;
  /** The processes that have ended by themselves since the last question. */
  readonly takeSuddenEnds: () => SuddenEnd[];
  /** Of a node that does not run: its disk is empty again, and formatted as that of a node which joins a cluster. */
  readonly swapDisk: () => Promise<void>;
  /** The id of its disk, as it stands there. */
  readonly directoryId: () => string;
}

/** All nodes there can be. */
export interface Cluster {
  /** Those that are always there. */
  readonly daemons: readonly Daemon[];
  /** The broker that comes and goes: not even formatted. */
  readonly guest: Daemon;
}

/** Ports are free in a network of one's own. */
const PORT = 9092;
/** Where controllers listen. */
export const CONTROLLER_PORT = 9093;
/** What their listener is called. */
export const CONTROLLER_LISTENER = 'CONTROLLER';
const END_TIMEOUT_MS = 45_000;
const SAID_MAX = 200_000;
/** The exit code of a process that SIGTERM ended without its doing. */
const BY_SIGTERM = 143;

/** The nodes, those that vote formatted, none started. Their directories and properties lie in `folder`. */
export async function createCluster(
  network: Network,
  folder: string,
  settings: ReadonlyMap<string, string>,
  quorum: Quorum,
): Promise<Cluster> {
  const addressOf = (nodeId: number): NodeAddress => {
    return { nodeId, host: network.hostOf(nodeId), port: PORT, controllerPort: CONTROLLER_PORT };
  };
  const all = NODES.map(addressOf);
  const shape = quorum === 'static' ? [] : changingVoters(all);
  const make = (nodeId: number): { readonly daemon: Daemon; readonly file: string } => {
    const own = join(folder, `node${nodeId}`);
    mkdirSync(own, { recursive: true });
    const role = nodeId === GUEST ? brokerAlone(network.hostOf(nodeId)) : settings;
    const file = writePropertiesOf(addressOf(nodeId), all, folder, new Map([...shape, ...role]));
    const command = [...network.wrapperOf(nodeId), process.execPath];
    return { daemon: createDaemon(nodeId, network.hostOf(nodeId), own, command, file), file };
  };
  const made = NODES.map(make);
  if (quorum !== 'static')
    await formatAll(
      made.map(({ file }) => file),
      all,
      quorum,
    );
  return { daemons: made.map(({ daemon }) => daemon), guest: make(GUEST).daemon };
}

/** Any controller tells who votes. */
function changingVoters(all: readonly NodeAddress[]): [string, string][] {
  const servers = all.map(({ host, controllerPort }) => `${host}:${controllerPort}`);
  return [
    ['controller.quorum.voters', ''],
    ['controller.quorum.bootstrap.servers', servers.join(',')],
  ];
}

function brokerAlone(host: string): [string, string][] {
  return [
    ['process.roles', 'broker'],
    ['listeners', `PLAINTEXT://${host}:${PORT}`],
  ];
}

/** Those that begin the cluster: all, by one list, or the first, which the others join. */
async function formatAll(files: readonly string[], all: readonly NodeAddress[], quorum: Quorum): Promise<void> {
  const voters = all.map(({ nodeId, host, controllerPort }) => {
    return `${nodeId}@${host}:${controllerPort}:${randomUuid(randomBytes(UUID_BYTES), 0)}`;
  });
  const founding = ['--initial-controllers', voters.join(',')];
  const [alone, joining] = [['--standalone'], ['--no-initial-controllers']];
  for (const [index, file] of files.entries()) {
    await format(file, quorum === 'founders' ? founding : index === 0 ? alone : joining);
  }
}

async function format(file: string, how: readonly string[]): Promise<void> {
  const args = [tidemarkProgram(), 'format', '--config', file, '--cluster-id', CLUSTER_ID, ...how];
  await runOrThrow(process.execPath, args);
}

function createDaemon(
  nodeId: number,
  host: string,
  folder: string,
  [program = '', ...first]: readonly string[],
  file: string,
): Daemon {
  let service: Service | null = null;
  let isAsked = false;
  let said = '';
  const suddenEnds: SuddenEnd[] = [];
  const start = (): void => {
    if (service !== null) return;
    const started = serve(program, [...first, tidemarkProgram(), 'start', '--config', file]);
    service = started;
    isAsked = false;
    void started.ended.then((code) => {
      said = `${said}${started.output()}`.slice(-SAID_MAX);
      if (service !== started) return;
      service = null;
      if (!isAsked) suddenEnds.push({ nodeId, code, said: started.output().slice(-2000) });
    });
  };
  const end = async (signal: 'SIGTERM' | 'SIGKILL'): Promise<number> => {
    const ending = service;
    if (ending === null) return 0;
    isAsked = true;
    process.kill(ending.pid, signal);
    const code = await Promise.race([ending.ended, pause(END_TIMEOUT_MS).then(() => null)]);
    if (code === BY_SIGTERM && ending.output() === '') return 0; // It had not begun to listen to signals.
    if (code !== null) return code;
    suddenEnds.push({ nodeId, code: -1, said: `did not end within ${END_TIMEOUT_MS} ms of ${signal}` });
    return ending.stop('SIGKILL');
  };
  return {
    nodeId,
    host,
    port: PORT,
    folder,
    said: () => `${said}${service?.output() ?? ''}`,
    isRunning: () => service !== null,
    start,
    signal: (signal) => {
      if (service !== null) process.kill(service.pid, signal);
    },
    end,
    takeSuddenEnds: () => suddenEnds.splice(0),
    swapDisk: async () => {
      // The folder itself may be where a file system is mounted.
      for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true });
      await format(file, ['--no-initial-controllers']);
    },
    directoryId: () => /^directory\.id=(.*)$/m.exec(readFileSync(join(folder, META_PROPERTIES), 'utf8'))?.[1] ?? '',
  };
}
