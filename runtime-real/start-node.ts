/**
 * Starts a node of `core/broker` in the real world: takes its folders, runs it, gives the folders back.
 *
 * A node that cannot start leaves nothing behind: folders and lock files that were made for it are removed again.
 */
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { createNode, nodeDeadlineMs, stepNode } from '../core/broker/node.ts';
import type { NodeConfig } from '../core/config/settings.ts';
import type { Listener } from '../core/config/values.ts';
import { EXIT_CANNOT_RUN } from '../core/lib/exit-codes.ts';
import { realCodecs } from './codecs.ts';
import { createDisk } from './disk/disk.ts';
import { describeError, errorCode } from './disk/errors.ts';
import { createMemoryDisk } from './disk/memory.ts';
import { type Exit, type Host, type Listening, runMachine, type Say } from './host.ts';
import { type FolderLock, lockFolder } from './lock.ts';
import { collectStartGarbage } from './start-garbage.ts';

/** How a node is run. */
export interface NodeOptions {
  readonly say: Say;
  /** 'memory': nothing is written, the folders of the configuration are made up. */
  readonly disk: 'files' | 'memory';
  /** Whether the node alone keeps the process running. */
  readonly keepsProcessAlive: boolean;
  /** Takes the host as soon as it runs, long before it serves if it must recover: so that it can be stopped. */
  readonly running?: (host: Host) => void;
}

/** A node that serves, or why it does not. */
export type Started =
  | { readonly kind: 'started'; readonly host: Host; readonly listening: readonly Listening[] }
  | { readonly kind: 'failed'; readonly exit: Exit };

/** Of the file handles that the system grants, connections may take this share: logs must never lack them. */
const CONNECTIONS_SHARE = 0.75;

/** Runs a node until it serves. The relative paths of `log.dirs` are resolved from the working directory. */
export async function startHost(config: NodeConfig, options: NodeOptions): Promise<Started> {
  const busy = await findBusyListener(config.listeners);
  if (busy !== null) return { kind: 'failed', exit: { code: EXIT_CANNOT_RUN, reason: busy } };
  const folders = config['log.dirs'].map((folder) => path.resolve(folder));
  const node = createNode({ ...config, 'log.dirs': folders });
  const taken = options.disk === 'files' ? takeFolders(folders) : { kind: 'taken' as const, release: () => {} };
  if (taken.kind === 'refused') return { kind: 'failed', exit: { code: EXIT_CANNOT_RUN, reason: taken.reason } };
  const host = runMachine(
    { step: (env, input, out) => stepNode(node, env, input, out), deadlineMs: () => nodeDeadlineMs(node) },
    {
      createDisk: (complete, loans) =>
        options.disk === 'files' ? createDisk(complete, undefined, loans) : createMemoryDisk(complete),
      codecs: realCodecs((text) => options.say('warn', text, new Map())),
      say: options.say,
      frameBudgetBytes: config['tidemark.frames.max.bytes'],
      connectionsMax: Math.min(config['max.connections'], Math.floor(fileHandlesMax() * CONNECTIONS_SHARE)),
      keepsProcessAlive: options.keepsProcessAlive,
    },
  );
  options.running?.(host);
  const outcome = await host.ready;
  if ('code' in outcome) {
    taken.release(true);
    return { kind: 'failed', exit: outcome };
  }
  collectStartGarbage();
  const exited = host.exited.then((exit) => {
    taken.release(false);
    return exit;
  });
  return { kind: 'started', host: { ...host, exited }, listening: outcome };
}

/**
 * Why one of the listeners cannot be listened on, or null. Asked before anything is touched; between the question and
 * the node's own listening another program may still come first, and then the node says so.
 */
async function findBusyListener(listeners: readonly Listener[]): Promise<string | null> {
  for (const { host, port } of listeners) {
    if (port === 0) continue;
    const error = await tryToListen(host, port);
    if (error === null) continue;
    const where = `${host === '' ? 'every interface' : host}, port ${port}`;
    if (errorCode(error) === 'EADDRINUSE') return `Another program listens on ${where} already.`;
    return `This node cannot listen on ${where}: ${describeError(error)}.`;
  }
  return null;
}

function tryToListen(host: string, port: number): Promise<unknown> {
  return new Promise((resolve) => {
    const server = net.createServer();
    server.once('error', resolve);
    server.listen({ port, ...(host === '' ? {} : { host }) }, () => server.close(() => resolve(null)));
  });
}

/** The file handles that this process may have, Infinity where the system does not say. */
function fileHandlesMax(): number {
  try {
    const limit = /^Max open files\s+(\d+)/m.exec(fs.readFileSync('/proc/self/limits', 'utf8'))?.[1];
    return limit === undefined ? Number.POSITIVE_INFINITY : Number(limit);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

type Taken =
  | { readonly kind: 'taken'; readonly release: (unused: boolean) => void }
  | { readonly kind: 'refused'; readonly reason: string };

function takeFolders(folders: readonly string[]): Taken {
  const made: string[] = [];
  const locks: FolderLock[] = [];
  const release = (unused: boolean): void => {
    for (const lock of locks) lock.release(unused);
    if (unused) for (const folder of made.reverse()) removeIfEmpty(folder);
  };
  for (const folder of folders) {
    try {
      const first = fs.mkdirSync(folder, { recursive: true });
      if (first !== undefined) made.push(...madeBetween(first, folder));
    } catch (error) {
      release(true);
      return { kind: 'refused', reason: `The data folder ${folder} cannot be made: ${describeError(error)}.` };
    }
    const locking = lockFolder(folder);
    if (locking.kind === 'refused') {
      release(true);
      return { kind: 'refused', reason: `The data folder ${folder} ${locking.reason}.` };
    }
    locks.push(locking.lock);
  }
  return { kind: 'taken', release };
}

/** The folders from the first that was made down to the last. */
function madeBetween(first: string, last: string): string[] {
  const all = [last];
  while (all[0] !== first && all[0] !== path.dirname(all[0] as string)) all.unshift(path.dirname(all[0] as string));
  return all;
}

function removeIfEmpty(folder: string): void {
  try {
    fs.rmdirSync(folder);
  } catch {} // Somebody has put something there.
}
