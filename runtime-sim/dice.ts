/**
 * Keyed dice: one `alea` stream for each (seed, site, entity), made at its first use.
 *
 * A site is a place in the simulator that draws, an entity is what it draws for (a node, a connection, a client). As
 * each pair has a stream of its own, taking one event away leaves every other draw as it was. Only integers leave
 * this file: the one float is alea's, whose bits are the same on every engine.
 */
import seedrandom from 'seedrandom';

/** The places that draw. Numbers are part of the streams' keys: never renumber, only add. */
export const SITE = {
  plan: 1,
  diskLatency: 2,
  diskError: 3,
  diskCrash: 4,
  diskRot: 5,
  netLatency: 6,
  netChunk: 7,
  netLoss: 8,
  nodeCrash: 9,
  nodeSeed: 10,
  entropy: 11,
  trouble: 12,
  workload: 13,
  clock: 14,
  settings: 15,
  client: 16,
  netTail: 17,
  pairs: 18,
  betrayal: 19,
  flip: 20,
} as const;

/** One of SITE. */
export type Site = (typeof SITE)[keyof typeof SITE];

type Stream = seedrandom.PRNG;

/** All streams of one run. Entities are below ENTITY_MAX. */
export interface Dice {
  readonly seed: number;
  readonly streams: Map<number, Stream>;
}

/** Entities are numbered below this within a site. */
export const ENTITY_MAX = 1 << 24;

/** No stream is made yet. */
export function createDice(seed: number): Dice {
  return { seed, streams: new Map() };
}

function streamOf(dice: Dice, site: Site, entity: number): Stream {
  const key = site * ENTITY_MAX + entity;
  const known = dice.streams.get(key);
  if (known !== undefined) return known;
  const made = seedrandom.alea(`${dice.seed}/${site}/${entity}`);
  dice.streams.set(key, made);
  return made;
}

/** An unsigned 32-bit integer. */
export function draw(dice: Dice, site: Site, entity: number): number {
  return streamOf(dice, site, entity).int32() >>> 0;
}

/** An integer from 0 to `limit` - 1; 0 when `limit` is 0 or 1. The bias below 2^32 is of no matter here. */
export function below(dice: Dice, site: Site, entity: number, limit: number): number {
  return limit <= 1 ? 0 : draw(dice, site, entity) % limit;
}

/** An integer from `low` to `high`, both included. */
export function between(dice: Dice, site: Site, entity: number, low: number, high: number): number {
  return low + below(dice, site, entity, high - low + 1);
}

/** True so many times in a million. */
export function chance(dice: Dice, site: Site, entity: number, perMillion: number): boolean {
  return perMillion > 0 && below(dice, site, entity, 1_000_000) < perMillion;
}

/** One of the values. */
export function pick<T>(dice: Dice, site: Site, entity: number, values: readonly T[]): T {
  const value = values[below(dice, site, entity, values.length)];
  if (value === undefined) throw new Error('picked from an empty list');
  return value;
}

/**
 * Exponentially spread around `mean`: quantiles of the exponential distribution in thousandths of its mean, so that
 * no logarithm is taken while a run goes on. Capped near five means; at least 1.
 */
export function around(dice: Dice, site: Site, entity: number, mean: number): number {
  const quantile = EXPONENTIAL[below(dice, site, entity, EXPONENTIAL.length)] as number;
  return Math.max(1, Math.floor((mean * quantile) / 1000));
}

const EXPONENTIAL: readonly number[] = [
  8, 24, 40, 56, 73, 91, 109, 127, 146, 165, 185, 205, 226, 248, 270, 293, 317, 341, 367, 393, 420, 448, 477, 508, 540,
  573, 608, 644, 682, 722, 764, 808, 855, 904, 957, 1013, 1073, 1137, 1207, 1282, 1364, 1455, 1555, 1668, 1797, 1946,
  2123, 2341, 2622, 3022, 3720, 4852,
];
