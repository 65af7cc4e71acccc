/** Nodes of three die at any effect, one or several at once, by process or by power. */
import type { Scenario } from '../runtime-sim/scenario.ts';
import { SELDOM_ADMINISTERED_LOAD_ON_THREE, SMALL_FILES, SMALL_LAGS, THREE_NODES } from './parts.ts';

/** Crashes and power losses of nodes. */
export const THREE_CRASH: Scenario = {
  name: 'three-crash',
  proves: 'What was acknowledged outlives whoever led, and whoever came back holds what the others hold.',
  durationMs: 20_000,
  weight: 4,
  cluster: THREE_NODES,
  workload: SELDOM_ADMINISTERED_LOAD_ON_THREE,
  settings: [...SMALL_FILES, ...SMALL_LAGS],
  troubles: [
    { family: 'crash', every: [1_500, 6_000], always: true },
    { family: 'crash', every: [3_000, 10_000], on: 'leader' },
    { family: 'powerLoss', every: [3_000, 10_000] },
    { family: 'recoveryCrash', every: [10, 50] },
    { family: 'blackout', every: [8_000, 25_000] },
    { family: 'pause', every: [5_000, 15_000] },
    { family: 'slowDisk', every: [4_000, 12_000] },
    { family: 'cleanStop', every: [8_000, 20_000] },
    { family: 'reset', every: [2_000, 8_000] },
    { family: 'ambush', every: [1_000, 5_000] },
    { family: 'clog', every: [1_000, 4_000] },
  ],
};
