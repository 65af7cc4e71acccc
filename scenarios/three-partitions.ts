/** The network between three nodes falls silent in every way that there is; the nodes themselves are well. */
import type { Scenario } from '../runtime-sim/scenario.ts';
import { SELDOM_ADMINISTERED_LOAD_ON_THREE, SMALL_FILES, SMALL_LAGS, THREE_NODES } from './parts.ts';

/** Cuts, clogs and pauses. */
export const THREE_PARTITIONS: Scenario = {
  name: 'three-partitions',
  proves: 'No two nodes ever lead one epoch, nobody reads what is not committed, and silence ends in service.',
  durationMs: 20_000,
  weight: 4,
  cluster: THREE_NODES,
  workload: SELDOM_ADMINISTERED_LOAD_ON_THREE,
  settings: [...SMALL_FILES, ...SMALL_LAGS],
  troubles: [
    { family: 'pairCut', every: [1_500, 6_000], always: true },
    { family: 'isolation', every: [3_000, 10_000] },
    { family: 'isolation', every: [4_000, 12_000], on: 'leader' },
    { family: 'keyCut', every: [2_000, 8_000] },
    { family: 'clog', every: [2_000, 8_000] },
    { family: 'pause', every: [3_000, 10_000] },
    { family: 'cut', every: [3_000, 10_000] },
    { family: 'reset', every: [1_000, 5_000] },
    { family: 'clockJump', every: [5_000, 15_000] },
    { family: 'ambush', every: [2_000, 8_000] },
  ],
};
