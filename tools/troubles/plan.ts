/**
 * Which troubles an episode has, drawn from its seed: pure, so that the same seed plans the same. What the processes
 * make of it is theirs: a real machine keeps no promise of that kind.
 *
 * A trouble strikes some nodes for a while. Two troubles may overlap, unless they strike the same node: then nobody
 * could say which of them a node recovers from. Lengths are drawn around what is waited for in such a cluster: shorter
 * and longer than a session, an election, a lag.
 */
import { createJitter, type Jitter, jitter } from '../../runtime-sim/workload/jitter.ts';

/** What can happen. */
export const FAMILIES = [
  /** SIGKILL, and a new process after a while. */
  'kill',
  /** SIGKILL for all nodes at once. */
  'killAll',
  /** SIGSTOP, and SIGCONT after a while. */
  'pause',
  /** SIGTERM, and a new process when it has ended, cleanly. */
  'restart',
  /** The same for all nodes, one after the other. */
  'rolling',
  /** Two nodes do not hear each other; clients hear both. */
  'cut',
  /** A node hears another one, which does not hear it. */
  'cutOneWay',
  /** A node hears no other node, and no client. */
  'isolate',
  /** The file system of a node has no room left. */
  'full',
  /** An operator moves the partitions of a topic about: fewer replicas, in another order; then back again. */
  'move',
] as const;
/** One of them. */
export type Family = (typeof FAMILIES)[number];

/** One trouble. */
export interface Trouble {
  readonly family: Family;
  /** When it strikes, ms from when troubles begin. */
  readonly atMs: number;
  /** How long it stays. */
  readonly forMs: number;
  /** Whom it strikes; of a cut from the first to the second, or both ways. */
  readonly nodes: readonly number[];
}

/** What an episode is made of. */
export interface EpisodePlan {
  readonly seed: number;
  readonly troubles: readonly Trouble[];
  /** The node whose directory lies in a small file system. */
  readonly smallNode: number;
  readonly settings: ReadonlyMap<string, string>;
  readonly producers: readonly ProducerPlan[];
}

/** How one process produces. */
export interface ProducerPlan {
  readonly isIdempotent: boolean;
  readonly everyMs: number;
  readonly burstMax: number;
  readonly codec: 0 | 1 | 2 | 3 | 4;
}

interface Shape {
  readonly weight: number;
  readonly shortMs: number;
  readonly longMs: number;
  /** How many nodes it strikes. */
  readonly nodes: number;
  /** What it may take beside its length: processes stop and start. */
  readonly moreMs: number;
}

const NODES = [1, 2, 3] as const;
const ALL = NODES.length;
const SHAPES: ReadonlyMap<Family, Shape> = new Map([
  ['kill', { weight: 5, shortMs: 0, longMs: 5_000, nodes: 1, moreMs: 1_000 }],
  ['killAll', { weight: 1, shortMs: 0, longMs: 1_000, nodes: ALL, moreMs: 1_000 }],
  ['pause', { weight: 3, shortMs: 200, longMs: 7_000, nodes: 1, moreMs: 0 }],
  ['restart', { weight: 3, shortMs: 0, longMs: 2_000, nodes: 1, moreMs: 5_000 }],
  ['rolling', { weight: 1, shortMs: 0, longMs: 500, nodes: ALL, moreMs: 15_000 }],
  ['cut', { weight: 2, shortMs: 500, longMs: 6_000, nodes: 2, moreMs: 0 }],
  ['cutOneWay', { weight: 3, shortMs: 500, longMs: 6_000, nodes: 2, moreMs: 0 }],
  ['isolate', { weight: 2, shortMs: 500, longMs: 6_000, nodes: 1, moreMs: 0 }],
  ['full', { weight: 2, shortMs: 500, longMs: 4_000, nodes: 1, moreMs: 500 }],
  ['move', { weight: 3, shortMs: 1_000, longMs: 10_000, nodes: 0, moreMs: 0 }],
]);
const GAP_MS_MIN = 300;
const GAP_MS_MAX = 4_000;
/** Of a node that was struck, before it is struck again. */
const REST_MS = 500;
const SETTINGS: readonly (readonly [name: string, values: readonly string[]])[] = [
  ['log.segment.bytes', ['1048576', '4194304']],
  ['replica.lag.time.max.ms', ['30000', '3000']],
  ['metadata.log.max.record.bytes.between.snapshots', ['20971520', '3000']],
];

/** The plan of a seed: troubles for so long, of these families. */
export function planEpisode(seed: number, forMs: number, families: readonly Family[]): EpisodePlan {
  const dice = createJitter(seed);
  // The first numbers of neighbouring seeds are alike.
  for (let i = 0; i < 8; i++) jitter(dice, 2);
  const smallNode = pick(dice, NODES);
  const settings = new Map(SETTINGS.map(([name, values]) => [name, pick(dice, values)]));
  const producers = Array.from({ length: 3 }, (_, index): ProducerPlan => {
    const codec = pick(dice, [0, 0, 0, 1, 2, 4] as const);
    return { isIdempotent: index !== 2, everyMs: 5 + jitter(dice, 30), burstMax: 1 + jitter(dice, 5), codec };
  });
  const troubles: Trouble[] = [];
  const freeAtMs = new Map<number, number>();
  let atMs = gap(dice);
  while (atMs < forMs) {
    const trouble = drawTrouble(dice, atMs, families, smallNode);
    const isFree = trouble.nodes.every((id) => (freeAtMs.get(id) ?? 0) <= atMs);
    if (isFree && atMs + trouble.forMs <= forMs) {
      troubles.push(trouble);
      const moreMs = SHAPES.get(trouble.family)?.moreMs ?? 0;
      for (const id of trouble.nodes) freeAtMs.set(id, atMs + trouble.forMs + moreMs + REST_MS);
    }
    atMs += gap(dice);
  }
  return { seed, troubles, smallNode, settings, producers };
}

function drawTrouble(dice: Jitter, atMs: number, families: readonly Family[], smallNode: number): Trouble {
  const shapes = families.flatMap((family) => {
    const shape = SHAPES.get(family);
    return shape === undefined ? [] : Array.from({ length: shape.weight }, () => ({ family, ...shape }));
  });
  const { family, shortMs, longMs, nodes } = pick(dice, shapes);
  const first = jitter(dice, ALL);
  const step = 1 + jitter(dice, ALL - 1);
  const struck = Array.from({ length: nodes }, (_, index) => NODES[(first + index * step) % ALL] ?? 1);
  const forMs = shortMs + jitter(dice, longMs - shortMs + 1);
  return { family, atMs, forMs, nodes: family === 'full' ? [smallNode] : struck };
}

function gap(dice: Jitter): number {
  return GAP_MS_MIN + jitter(dice, GAP_MS_MAX - GAP_MS_MIN);
}

function pick<T>(dice: Jitter, from: readonly T[]): T {
  return from[jitter(dice, from.length)] as T;
}

/** A trouble for people. */
export function troubleText({ family, atMs, forMs, nodes }: Trouble): string {
  const between = family === 'cutOneWay' ? ' → ' : ', ';
  const whom = nodes.length === 0 ? 'partitions' : nodes.join(between);
  return `${(atMs / 1000).toFixed(1)} s: ${family} ${whom} for ${(forMs / 1000).toFixed(1)} s`;
}
