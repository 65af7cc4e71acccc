/** Everything that may go wrong with three nodes, in a mixture that each seed draws anew. */
import type { Scenario } from '../runtime-sim/scenario.ts';
import { ADMINISTERED_LOAD_ON_THREE, SMALL_FILES, SMALL_LAGS, SMALL_METADATA, THREE_NODES } from './parts.ts';

/** A swarm: no family strikes in every seed, so that each is met with and without each other one. */
export const THREE_SWARM: Scenario = {
  name: 'three-swarm',
  proves: 'Whatever comes together, what was acknowledged stays, and three nodes that are well again serve.',
  durationMs: 20_000,
  weight: 4,
  cluster: THREE_NODES,
  workload: ADMINISTERED_LOAD_ON_THREE,
  settings: [...SMALL_FILES, ...SMALL_METADATA, ...SMALL_LAGS],
  troubles: [
    { family: 'crash', every: [1_500, 12_000] },
    { family: 'crash', every: [3_000, 12_000], on: 'leader' },
    { family: 'crash', every: [3_000, 12_000], on: 'controller' },
    { family: 'powerLoss', every: [2_000, 12_000] },
    { family: 'recoveryCrash', every: [10, 60] },
    { family: 'blackout', every: [6_000, 25_000] },
    { family: 'cleanStop', every: [4_000, 20_000] },
    { family: 'pause', every: [3_000, 15_000] },
    { family: 'pairCut', every: [1_500, 12_000] },
    { family: 'isolation', every: [3_000, 15_000] },
    { family: 'isolation', every: [4_000, 15_000], on: 'leader' },
    { family: 'keyCut', every: [2_000, 12_000] },
    { family: 'clog', every: [2_000, 12_000] },
    { family: 'cut', every: [3_000, 12_000] },
    { family: 'reset', every: [1_000, 8_000] },
    { family: 'clockJump', every: [3_000, 15_000] },
    { family: 'slowDisk', every: [3_000, 12_000] },
    { family: 'fullDisk', every: [4_000, 20_000] },
    { family: 'failedSync', every: [5_000, 25_000] },
    { family: 'failedAppend', every: [6_000, 25_000] },
    { family: 'failedRead', every: [6_000, 25_000] },
    { family: 'clientCrash', every: [4_000, 15_000] },
    { family: 'ambush', every: [1_000, 8_000] },
  ],
};
