/** Bits of batches flip on the wire. */
import type { Scenario } from '../runtime-sim/scenario.ts';
import { SELDOM_ADMINISTERED_LOAD_ON_THREE, SMALL_FILES, SMALL_LAGS, THREE_NODES } from './parts.ts';

/** Under the checksum of a batch, between nodes and on the way from and to clients. */
export const THREE_BIT_FLIPS: Scenario = {
  name: 'three-bit-flips',
  proves: 'A batch in which a bit has flipped is taken by nobody, and comes once more.',
  durationMs: 20_000,
  weight: 1,
  cluster: THREE_NODES,
  workload: SELDOM_ADMINISTERED_LOAD_ON_THREE,
  settings: [...SMALL_FILES, ...SMALL_LAGS],
  troubles: [
    { family: 'flip', every: [100, 1_000], always: true },
    { family: 'crash', every: [3_000, 12_000] },
    { family: 'reset', every: [1_000, 8_000] },
    { family: 'pairCut', every: [3_000, 12_000] },
  ],
};
