/** Reads the values of `sim`'s flags: a wrong one is a sentence, never a stack. No state. */
import { InvalidArgumentError } from 'commander';
import type { Scenario } from '../../../runtime-sim/scenario.ts';
import { SCENARIOS, UNLIMITED_SCENARIOS, WAITING_SCENARIOS } from '../../../scenarios/list.ts';

/** Seeds from the first to the last, both included. */
export interface SeedRange {
  readonly first: number;
  readonly last: number;
}

/** The largest seed. */
export const SEED_MAX = 4_294_967_295;
/** Seeds of one sweep, at most. */
const SEEDS_MAX = 10_000_000;

/** A seed: an integer from 0 to SEED_MAX. */
export function readSeed(text: string): number {
  const seed = Number(text);
  if (!/^\d+$/.test(text) || seed > SEED_MAX) {
    throw new InvalidArgumentError(`A seed is an integer from 0 to ${SEED_MAX}.`);
  }
  return seed;
}

/** `7`, or `1..2000`. */
export function readSeeds(text: string): SeedRange {
  const parts = text.split('..');
  const first = readSeed(parts[0] ?? '');
  const last = parts.length === 1 ? first : readSeed(parts[1] ?? '');
  if (parts.length > 2 || last < first || last - first >= SEEDS_MAX) {
    throw new InvalidArgumentError(`Seeds are given as A..B, A not above B, at most ${SEEDS_MAX} of them.`);
  }
  return { first, last };
}

const UNITS = new Map([
  ['ms', 1],
  ['s', 1_000],
  ['m', 60_000],
]);

/** `500ms`, `60s`, `2m`: milliseconds of simulated time, from 100 ms to an hour. */
export function readDuration(text: string): number {
  const match = /^(\d+)(ms|s|m)$/.exec(text);
  const durationMs = Number(match?.[1] ?? -1) * (UNITS.get(match?.[2] ?? '') ?? 0);
  if (match === null || durationMs < 100 || durationMs > 3_600_000) {
    throw new InvalidArgumentError('A duration is like 500ms, 60s or 2m, from 100ms to 60m.');
  }
  return durationMs;
}

/** Those that are played by their names only included. */
export const EVERY_SCENARIO: readonly Scenario[] = [...SCENARIOS, ...UNLIMITED_SCENARIOS, ...WAITING_SCENARIOS];

/** Among which a seed draws: one, those within what is promised, or those in which nothing is spared. */
export function scenariosFor(name: string | null, isUnlimited: boolean): readonly Scenario[] {
  if (name !== null) return EVERY_SCENARIO.filter((scenario) => scenario.name === name);
  return isUnlimited ? UNLIMITED_SCENARIOS : SCENARIOS;
}

/** A scenario by its name; those that wait are found, though no list shows them. */
export function readScenario(text: string): Scenario {
  const scenario = EVERY_SCENARIO.find(({ name }) => name === text);
  if (scenario === undefined) {
    throw new InvalidArgumentError(`There is no scenario of that name; sim list shows: ${names()}.`);
  }
  return scenario;
}

function names(): string {
  return [...SCENARIOS, ...UNLIMITED_SCENARIOS].map(({ name }) => name).join(', ');
}

/** A number of worker threads. */
export function readWorkers(text: string): number {
  const count = Number(text);
  if (!/^\d+$/.test(text) || count < 1 || count > 256) {
    throw new InvalidArgumentError('The number of workers is an integer from 1 to 256.');
  }
  return count;
}
