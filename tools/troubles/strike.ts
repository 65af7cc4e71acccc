/**
 * Lets troubles strike, each for its time, and takes them back. What cannot go wrong by promise is complained about: a
 * process that ends by itself while its disk has room, one that does not stop cleanly when asked to.
 */
import { closeSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { pause } from '../peers/process.ts';
import type { Daemon } from './cluster.ts';
import type { Network } from './network.ts';
import type { Trouble } from './plan.ts';

/** What is struck. */
export interface Struck {
  readonly network: Network;
  readonly daemons: readonly Daemon[];
  /** Notes what happened, for the story. */
  readonly say: (line: string) => void;
  readonly complain: (sentence: string) => void;
  /** Moves partitions for so long, and puts them back. */
  readonly move: (forMs: number) => Promise<void>;
}

const FILLER = 'filler';
const FILL_BYTES = 1024 * 1024;
/** A process that has ended by itself is started again after so long. */
const AGAIN_MS = 300;
const ROLLING_PAUSE_MS = 3_000;

/** Lets one trouble strike. Resolves when it is taken back. */
export async function strike(struck: Struck, trouble: Trouble): Promise<void> {
  const { network } = struck;
  const { family, forMs, nodes } = trouble;
  const daemons = nodes.map((id) => daemonOf(struck, id));
  const [from = 0, to = 0] = nodes;
  switch (family) {
    case 'kill':
    case 'killAll':
      await Promise.all(daemons.map((daemon) => daemon.end('SIGKILL')));
      await pause(forMs);
      for (const daemon of daemons) daemon.start();
      return;
    case 'pause':
      for (const daemon of daemons) daemon.signal('SIGSTOP');
      await pause(forMs);
      for (const daemon of daemons) daemon.signal('SIGCONT');
      return;
    case 'restart':
    case 'rolling':
      for (const daemon of daemons) await restart(struck, daemon, forMs, family === 'rolling' ? ROLLING_PAUSE_MS : 0);
      return;
    case 'cut':
      return cut(
        network,
        [
          [from, to],
          [to, from],
        ],
        forMs,
      );
    case 'cutOneWay':
      return cut(network, [[from, to]], forMs);
    case 'isolate': {
      const others = [...struck.daemons.map(({ nodeId }) => nodeId).filter((id) => id !== from), 'clients' as const];
      return cut(
        network,
        others.flatMap((other) => [[from, other] as const, [other, from] as const]),
        forMs,
      );
    }
    case 'full':
      for (const daemon of daemons) await fill(struck, daemon, forMs);
      return;
    case 'move':
      return struck.move(forMs);
  }
}

function daemonOf({ daemons }: Struck, nodeId: number): Daemon {
  const daemon = daemons.find((one) => one.nodeId === nodeId);
  if (daemon === undefined) throw new Error(`there is no node ${nodeId}`);
  return daemon;
}

type Pair = Parameters<Network['cut']>;

async function cut(network: Network, pairs: readonly (readonly [...Pair])[], forMs: number): Promise<void> {
  for (const [from, to] of pairs) await network.cut(from, to);
  await pause(forMs);
  for (const [from, to] of pairs) await network.join(from, to);
}

async function restart(struck: Struck, daemon: Daemon, forMs: number, thenMs: number): Promise<void> {
  const code = await daemon.end('SIGTERM');
  if (code !== 0) struck.complain(`node ${daemon.nodeId} ended with ${code} when it was asked to stop`);
  await pause(forMs);
  daemon.start();
  await pause(thenMs);
}

/** Takes all room on the node's file system, and again what becomes free, and gives it back. */
async function fill(struck: Struck, daemon: Daemon, forMs: number): Promise<void> {
  const path = join(daemon.folder, FILLER);
  const file = openSync(path, 'a');
  const untilMs = performance.now() + forMs;
  try {
    while (performance.now() < untilMs) {
      fillUp(file);
      await pause(50);
    }
    fsyncSync(file);
  } finally {
    closeSync(file);
    rmSync(path);
  }
  // A node may stop for want of room, and then it says so; it comes back like one that was stopped.
  for (const { nodeId, code } of daemon.takeSuddenEnds())
    struck.say(`node ${nodeId} ended with ${code} for want of room`);
  if (!daemon.isRunning()) daemon.start();
}

function fillUp(file: number): void {
  for (let sizeBytes = FILL_BYTES; sizeBytes >= 1; ) {
    try {
      writeSync(file, Buffer.alloc(sizeBytes));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      sizeBytes = Math.floor(sizeBytes / 2);
    }
  }
}

/** Looks after processes that end by themselves, until it is over: they are complained about, and started again. */
export async function watchOver(
  struck: Struck,
  isOver: () => boolean,
  isExcused: (nodeId: number) => boolean,
): Promise<void> {
  while (!isOver()) {
    await pause(AGAIN_MS);
    for (const daemon of struck.daemons) {
      if (isExcused(daemon.nodeId)) continue;
      for (const { nodeId, code, said } of daemon.takeSuddenEnds()) {
        struck.complain(`node ${nodeId} ended by itself with ${code}: ${said.slice(-600)}`);
        if (!daemon.isRunning()) daemon.start();
      }
    }
  }
}
