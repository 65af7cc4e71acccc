/**
 * Which troubles an episode has, drawn from its seed: pure, so that the same seed plans the same. What the processes
 * make of it is theirs: a real machine keeps no promise of that kind.
 *
 * A trouble strikes some nodes for a while. Two troubles may overlap, unless they strike the same node: then nobody
 * could say which of them a node recovers from. Nor do two overlap that change the same thing about the cluster.
 * Lengths are drawn around what is waited for in such a cluster: shorter and longer than a session, an election, a lag.
 */
import { createJitter, type Jitter, jitter } from '../../runtime-sim/workload/jitter.ts';
import type { Thing } from './hands.ts';

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
  /** An operator takes voters out of the quorum, the leader too, and adds them again. */
  'voters',
  /** A node is killed and comes back with an empty disk: the vote of the old one is taken, the new one gets one. */
  'swap',
  /** A fourth broker comes, is given partitions, is struck like the others, is drained, and goes for good. */
  'brokers',
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
  /** What else is drawn for it. */
  readonly seed: number;
}

/** How it is said who votes: for good by the configuration, by a list that all are formatted with, or one by one. */
export type Quorum = 'static' | 'founders' | 'standalone';

/** What an episode is made of. */
export interface EpisodePlan {
  readonly seed: number;
  readonly troubles: readonly Trouble[];
  /** The node whose directory lies in a small file system. */
  readonly smallNode: number;
  readonly quorum: Quorum;
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
  /** In Kafka's words the feature kraft.version 1: voters can change. */
  readonly needsChangingVoters?: boolean;
  /** No two troubles of one such matter overlap. */
  readonly matter?: string;
  readonly weight: number;
  readonly shortMs: number;
  readonly longMs: number;
  /** How many nodes it strikes. */
  readonly nodes: number;
  /** What it may take beside its length: processes stop and start. */
  readonly moreMs: number;
}

/** Those that are always there; each votes, unless it is taken out. */
export const NODES = [1, 2, 3] as const;
/** The broker that comes and goes. */
export const GUEST = 4;
/** It takes so long until it can be struck. */
const ARRIVAL_MS = 4_000;
const ALL = NODES.length;
const CHANGES_VOTERS = { needsChangingVoters: true, matter: 'voters' } as const;
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
  ['voters', { weight: 3, shortMs: 2_000, longMs: 10_000, nodes: 0, moreMs: 3_000, ...CHANGES_VOTERS }],
  ['swap', { weight: 3, shortMs: 0, longMs: 4_000, nodes: 1, moreMs: 8_000, ...CHANGES_VOTERS }],
  ['brokers', { weight: 3, shortMs: 8_000, longMs: 20_000, nodes: 0, moreMs: 6_000, matter: 'brokers' }],
]);
const GAP_MS_MIN = 300;
const GAP_MS_MAX = 4_000;
/** Of a node that was struck, before it is struck again. */
const REST_MS = 500;
/** Of a hundred troubles that strike one or two nodes while there is a guest, so many strike it. */
const GUEST_PERCENT = 30;
const SEEDS = 1_000_000;
/** Whether nodes ask for a vote by themselves. */
export const AUTO_JOIN = 'controller.quorum.auto.join.enable';
const SETTINGS: readonly (readonly [name: string, values: readonly string[]])[] = [
  ['log.segment.bytes', ['1048576', '4194304']],
  ['replica.lag.time.max.ms', ['30000', '3000']],
  ['metadata.log.max.record.bytes.between.snapshots', ['20971520', '3000']],
  [AUTO_JOIN, ['false', 'false', 'true']],
];

/** The plan of a seed: troubles for so long, of these families. */
export function planEpisode(seed: number, forMs: number, families: readonly Family[]): EpisodePlan {
  const dice = createJitter(seed);
  // The first numbers of neighbouring seeds are alike.
  for (let i = 0; i < 8; i++) jitter(dice, 2);
  const smallNode = pick(dice, NODES);
  const quorum = drawQuorum(dice, families);
  const settings = new Map(SETTINGS.map(([name, values]) => [name, pick(dice, values)]));
  // A node asks to be made a voter where voters can change.
  if (quorum === 'static') settings.delete(AUTO_JOIN);
  const producers = Array.from({ length: 3 }, (_, index): ProducerPlan => {
    const codec = pick(dice, [0, 0, 0, 1, 2, 4] as const);
    return { isIdempotent: index !== 2, everyMs: 5 + jitter(dice, 30), burstMax: 1 + jitter(dice, 5), codec };
  });
  const possible = families.filter((family) => quorum !== 'static' || SHAPES.get(family)?.needsChangingVoters !== true);
  const troubles = drawTroubles(dice, forMs, possible, smallNode);
  return { seed, troubles, smallNode, quorum, settings, producers };
}

/** Voters that never change are drawn where that leaves something to happen. */
function drawQuorum(dice: Jitter, families: readonly Family[]): Quorum {
  const quorum = pick(dice, ['static', 'founders', 'founders', 'standalone'] as const);
  const isEmpty = families.every((family) => SHAPES.get(family)?.needsChangingVoters === true);
  return isEmpty && quorum === 'static' ? 'founders' : quorum;
}

function drawTroubles(dice: Jitter, forMs: number, families: readonly Family[], smallNode: number): Trouble[] {
  const troubles: Trouble[] = [];
  /** Of nodes, and of what may be changed about the cluster. */
  const freeAtMs = new Map<Thing, number>();
  let guest = { fromMs: 0, toMs: 0 };
  for (let atMs = gap(dice); atMs < forMs; atMs += gap(dice)) {
    const isGuestThere = guest.fromMs <= atMs && atMs < guest.toMs;
    const trouble = drawTrouble(dice, atMs, families, smallNode, isGuestThere);
    const moreMs = SHAPES.get(trouble.family)?.moreMs ?? 0;
    const takes = takesOf(trouble);
    const endsMs = atMs + trouble.forMs;
    if (endsMs > forMs || takes.some((one) => (freeAtMs.get(one) ?? 0) > atMs)) continue;
    troubles.push(trouble);
    for (const one of takes) freeAtMs.set(one, endsMs + moreMs + REST_MS);
    if (trouble.family === 'brokers') guest = { fromMs: atMs + ARRIVAL_MS, toMs: endsMs };
  }
  return troubles;
}

/** What a trouble must have for itself: the nodes that it strikes, and what it changes about the cluster. */
export function takesOf({ family, nodes }: Pick<Trouble, 'family' | 'nodes'>): Thing[] {
  const matter = SHAPES.get(family)?.matter;
  return matter === undefined ? [...nodes] : [...nodes, matter];
}

function drawTrouble(
  dice: Jitter,
  atMs: number,
  families: readonly Family[],
  smallNode: number,
  isGuestThere: boolean,
): Trouble {
  const shapes = families.flatMap((family) => {
    const shape = SHAPES.get(family);
    return shape === undefined ? [] : Array.from({ length: shape.weight }, () => ({ family, ...shape }));
  });
  const { family, shortMs, longMs, nodes } = pick(dice, shapes);
  const first = jitter(dice, ALL);
  const step = 1 + jitter(dice, ALL - 1);
  const struck = Array.from({ length: nodes }, (_, index): number => NODES[(first + index * step) % ALL] ?? 1);
  const mayBeGuest = nodes > 0 && nodes < ALL && family !== 'swap';
  const place = jitter(dice, nodes);
  if (jitter(dice, 100) < GUEST_PERCENT && isGuestThere && mayBeGuest) struck[place] = GUEST;
  const forMs = shortMs + jitter(dice, longMs - shortMs + 1);
  const seed = jitter(dice, SEEDS);
  return { family, atMs, forMs, nodes: family === 'full' ? [smallNode] : struck, seed };
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
  const whom = nodes.length === 0 ? '' : ` ${nodes.join(between)}`;
  return `${(atMs / 1000).toFixed(1)} s: ${family}${whom} for ${(forMs / 1000).toFixed(1)} s`;
}
