/** Bits of batches flip on the wire, connections are closed by halves, and links are narrow. */
import type { Scenario } from '../runtime-sim/scenario.ts';
import { SELDOM_ADMINISTERED_LOAD_ON_THREE, SMALL_FILES, SMALL_LAGS, THREE_NODES } from './parts.ts';

/** Between nodes, and on the way from and to clients. */
export const THREE_POOR_WIRE: Scenario = {
  name: 'three-poor-wire',
  proves: 'A batch in which a bit has flipped is taken by nobody, and comes once more; a slow wire costs only time.',
  durationMs: 20_000,
  weight: 1,
  cluster: THREE_NODES,
  workload: SELDOM_ADMINISTERED_LOAD_ON_THREE,
  settings: [...SMALL_FILES, ...SMALL_LAGS],
  troubles: [
    { family: 'flip', every: [100, 1_000], always: true },
    { family: 'halfClose', every: [300, 3_000] },
    { family: 'narrow', every: [1_500, 8_000] },
    { family: 'clog', every: [2_000, 12_000] },
    { family: 'crash', every: [3_000, 12_000] },
    { family: 'reset', every: [1_000, 8_000] },
    { family: 'pairCut', every: [3_000, 12_000] },
  ],
};
