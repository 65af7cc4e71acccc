/**
 * Lets troubles strike, each for its time, and takes them back. What cannot go wrong by promise is complained about: a
 * process that ends by itself while its disk has room, one that does not stop cleanly when asked to.
 */
import { closeSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { pause } from '../peers/process.ts';
import type { Daemon } from './cluster.ts';
import type { Network } from './network.ts';
import { changeVoters, lendBroker, movePartitions, type Scene, swapDisk } from './operations.ts';
import type { Family, Trouble } from './plan.ts';

/** What is struck. */
export interface Struck extends Scene {
  readonly network: Network;
}

const FILLER = 'filler';
const FILL_BYTES = 1024 * 1024;
/** A process that has ended by itself is started again after so long. */
const AGAIN_MS = 300;
const ROLLING_PAUSE_MS = 3_000;

/** Lets one trouble strike. Resolves when it is taken back: whether it struck. */
export async function strike(struck: Struck, trouble: Trouble): Promise<boolean> {
  const { family, forMs, nodes, seed } = trouble;
  switch (family) {
    case 'swap':
      return swapDisk(struck, daemonOf(struck, nodes[0] ?? 0), forMs);
    case 'move':
      await movePartitions(struck, forMs, seed);
      return true;
    case 'voters':
      await changeVoters(struck, forMs, seed);
      return true;
    case 'brokers':
      await lendBroker(struck, forMs, seed);
      return true;
    default:
      await strikeNodes(struck, family, trouble);
      return true;
  }
}

type OfOperators = 'swap' | 'move' | 'voters' | 'brokers';

async function strikeNodes(
  struck: Struck,
  family: Exclude<Family, OfOperators>,
  { forMs, nodes }: Trouble,
): Promise<void> {
  const { network } = struck;
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
      const others = [
        ...allOf(struck)
          .map(({ nodeId }) => nodeId)
          .filter((id) => id !== from),
        'clients' as const,
      ];
      return cut(
        network,
        others.flatMap((other) => [[from, other] as const, [other, from] as const]),
        forMs,
      );
    }
    case 'full':
      for (const daemon of daemons) await fill(struck, daemon, forMs);
      return;
  }
}

/** A process did what none may. */
export function complain({ say, accuse }: Struck, sentence: string): void {
  say(sentence);
  accuse('node', 6, sentence);
}

function allOf({ cluster }: Struck): Daemon[] {
  return [...cluster.daemons, cluster.guest];
}

function daemonOf(struck: Struck, nodeId: number): Daemon {
  const daemon = allOf(struck).find((one) => one.nodeId === nodeId);
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
  if (code !== 0) complain(struck, `node ${daemon.nodeId} ended with ${code} when it was asked to stop`);
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
    for (const daemon of allOf(struck)) {
      if (isExcused(daemon.nodeId)) continue;
      for (const { nodeId, code, said } of daemon.takeSuddenEnds()) {
        complain(struck, `node ${nodeId} ended by itself with ${code}: ${said.slice(-600)}`);
        if (!daemon.isRunning()) daemon.start();
      }
    }
  }
}
