/**
 * Three daemons, set up by properties files as `docs/cluster.md` shows them, each at its own place in the network. What
 * was done to a node is noted, so that one that ends by itself is told from one that was made to.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { pause, type Service, serve } from '../peers/process.ts';
import { tidemarkProgram } from '../peers/tidemark.ts';
import { type NodeAddress, writePropertiesOf } from '../peers/tidemark-cluster.ts';
import type { Network } from './network.ts';

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
}

/** Ports are free in a network of one's own. */
const PORT = 9092;
const CONTROLLER_PORT = 9093;
const END_TIMEOUT_MS = 45_000;
const SAID_MAX = 200_000;
/** The exit code of a process that SIGTERM ended without its doing. */
const BY_SIGTERM = 143;

/** The nodes, not started. Their directories and properties lie in `folder`. */
export function createDaemons(
  network: Network,
  nodeIds: readonly number[],
  folder: string,
  settings: ReadonlyMap<string, string>,
): Daemon[] {
  const addressOf = (nodeId: number): NodeAddress => {
    return { nodeId, host: network.hostOf(nodeId), port: PORT, controllerPort: CONTROLLER_PORT };
  };
  const all = nodeIds.map(addressOf);
  return nodeIds.map((nodeId) => {
    const own = join(folder, `node${nodeId}`);
    mkdirSync(own, { recursive: true });
    const file = writePropertiesOf(addressOf(nodeId), all, folder, settings);
    const command = [...network.wrapperOf(nodeId), process.execPath];
    return createDaemon(nodeId, network.hostOf(nodeId), own, command, file);
  });
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
  };
}
