/** Writes of one replica land elsewhere or nowhere, and reads bring what was not asked for. */
import type { Scenario } from '../runtime-sim/scenario.ts';
import { SELDOM_ADMINISTERED_LOAD_ON_THREE, SMALL_FILES, SMALL_LAGS, THREE_NODES } from './parts.ts';

/** Fewer replicas of a partition are hit than must be in sync. */
export const THREE_STRAY_WRITES: Scenario = {
  name: 'three-stray-writes',
  proves: 'What one replica has damaged the others have, and nobody reads it for what it is not.',
  durationMs: 30_000,
  weight: 2,
  cluster: THREE_NODES,
  workload: SELDOM_ADMINISTERED_LOAD_ON_THREE,
  settings: [...SMALL_FILES, ...SMALL_LAGS],
  troubles: [
    { family: 'misdirectedWrite', every: [2_000, 8_000], always: true },
    { family: 'lostWrite', every: [2_000, 8_000] },
    { family: 'misdirectedRead', every: [1_000, 5_000] },
    { family: 'crash', every: [2_000, 10_000] },
    { family: 'crash', every: [3_000, 10_000], on: 'leader' },
    { family: 'powerLoss', every: [4_000, 12_000] },
    { family: 'cleanStop', every: [5_000, 15_000] },
  ],
};
