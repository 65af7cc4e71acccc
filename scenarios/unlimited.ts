/**
 * Stories in which disks and network break their word without regard to what is promised. What is found wrong is held
 * against what was done (`core/verify/excuses.ts`): it is a bug, or beyond the contract.
 *
 * How often each strikes is chosen so that most runs stay within the contract, or just leave it: a run in which nothing
 * is promised any more shows nothing.
 */
import type { Scenario, TroubleRange } from '../runtime-sim/scenario.ts';
import {
  ADMINISTERED_LOAD_ON_THREE,
  FIVE_NODES,
  SELDOM_ADMINISTERED_LOAD_ON_THREE,
  SMALL_FILES,
  SMALL_LAGS,
  SMALL_METADATA,
  STEADY_LOAD,
  THREE_NODES,
} from './parts.ts';

/** What else goes wrong beside the disks. */
const USUAL: readonly TroubleRange[] = [
  { family: 'crash', every: [3_000, 12_000] },
  { family: 'powerLoss', every: [3_000, 12_000] },
  { family: 'cleanStop', every: [6_000, 20_000] },
  { family: 'pause', every: [5_000, 15_000] },
  { family: 'pairCut', every: [3_000, 12_000] },
  { family: 'isolation', every: [5_000, 20_000] },
  { family: 'reset', every: [2_000, 8_000] },
];

/** Disks that are lost, and older ones in their places: any number, and all at once. */
export const UNLIMITED_SWAPS: Scenario = {
  name: 'unlimited-swaps',
  proves: 'However many disks are lost or set back, no more is lost than they held, and whoever is whole serves.',
  durationMs: 30_000,
  weight: 3,
  isUnlimited: true,
  cluster: { ...THREE_NODES, mayNameDirectories: true },
  workload: SELDOM_ADMINISTERED_LOAD_ON_THREE,
  settings: [...SMALL_FILES, ...SMALL_LAGS, ...SMALL_METADATA],
  troubles: [
    { family: 'diskLoss', every: [5_000, 30_000] },
    { family: 'diskRestore', every: [3_000, 15_000] },
    { family: 'ruin', every: [20_000, 90_000] },
    ...USUAL,
  ],
};

/** Writes and reads that go astray, syncs that are lies, rot in any file. */
export const UNLIMITED_WRITES: Scenario = {
  name: 'unlimited-writes',
  proves: 'Whatever disks do with what they were given, nobody reads a record that was not sent.',
  durationMs: 30_000,
  weight: 3,
  isUnlimited: true,
  cluster: THREE_NODES,
  workload: ADMINISTERED_LOAD_ON_THREE,
  settings: [...SMALL_FILES, ...SMALL_LAGS, ...SMALL_METADATA],
  troubles: [
    { family: 'misdirectedWrite', every: [8_000, 40_000] },
    { family: 'misdirectedRead', every: [5_000, 20_000] },
    { family: 'lostWrite', every: [8_000, 40_000] },
    { family: 'lyingSync', every: [8_000, 40_000] },
    { family: 'rotAnywhere', every: [8_000, 40_000] },
    ...USUAL,
  ],
};

/** The same, and all of it together, on five nodes of which three have each partition. */
export const UNLIMITED_FIVE: Scenario = {
  name: 'unlimited-five',
  proves: 'Five nodes lose what their disks lose, and two that are damaged hold up nobody.',
  durationMs: 30_000,
  weight: 2,
  isUnlimited: true,
  cluster: { ...FIVE_NODES, mayNameDirectories: true },
  workload: SELDOM_ADMINISTERED_LOAD_ON_THREE,
  settings: [...SMALL_FILES, ...SMALL_LAGS, ...SMALL_METADATA],
  troubles: [
    { family: 'diskLoss', every: [5_000, 25_000] },
    { family: 'diskRestore', every: [3_000, 15_000] },
    { family: 'misdirectedWrite', every: [6_000, 30_000] },
    { family: 'lostWrite', every: [6_000, 30_000] },
    { family: 'lyingSync', every: [8_000, 40_000] },
    { family: 'rotAnywhere', every: [6_000, 30_000] },
    { family: 'ruin', every: [30_000, 120_000] },
    ...USUAL,
  ],
};

/** A wire that alters what it carries, in batches and elsewhere. */
export const UNLIMITED_WIRE: Scenario = {
  name: 'unlimited-wire',
  proves: 'What arrives altered is refused, or taken for what it seems; no record is read that was not sent.',
  durationMs: 20_000,
  weight: 1,
  isUnlimited: true,
  cluster: THREE_NODES,
  workload: SELDOM_ADMINISTERED_LOAD_ON_THREE,
  settings: [...SMALL_FILES, ...SMALL_LAGS],
  troubles: [
    { family: 'flip', every: [200, 2_000], always: true },
    { family: 'headerFlip', every: [2_000, 20_000] },
    ...USUAL,
  ],
};

/** One node, whose disk has no other. */
export const UNLIMITED_ALONE: Scenario = {
  name: 'unlimited-alone',
  proves: 'A node that is alone loses what its disk loses, and serves nothing that was not sent.',
  durationMs: 30_000,
  weight: 1,
  isUnlimited: true,
  workload: STEADY_LOAD,
  settings: [...SMALL_FILES, ...SMALL_METADATA],
  troubles: [
    { family: 'misdirectedWrite', every: [10_000, 60_000] },
    { family: 'misdirectedRead', every: [5_000, 20_000] },
    { family: 'lostWrite', every: [10_000, 60_000] },
    { family: 'lyingSync', every: [10_000, 60_000] },
    { family: 'rotAnywhere', every: [10_000, 60_000] },
    { family: 'diskLoss', every: [20_000, 120_000] },
    { family: 'crash', every: [4_000, 12_000] },
    { family: 'powerLoss', every: [4_000, 12_000] },
  ],
};
