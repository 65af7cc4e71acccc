/** Everything that may go wrong with three nodes, in a mixture that each seed draws anew. */
import type { Scenario } from '../runtime-sim/scenario.ts';
import { ADMINISTERED_LOAD_ON_THREE, SMALL_FILES, SMALL_LAGS, SMALL_METADATA, SWARM, THREE_NODES } from './parts.ts';

/** A swarm of troubles. */
export const THREE_SWARM: Scenario = {
  name: 'three-swarm',
  proves: 'Whatever comes together, what was acknowledged stays, and three nodes that are well again serve.',
  durationMs: 20_000,
  weight: 4,
  cluster: THREE_NODES,
  workload: ADMINISTERED_LOAD_ON_THREE,
  settings: [...SMALL_FILES, ...SMALL_METADATA, ...SMALL_LAGS],
  troubles: [
    ...SWARM,
    { family: 'failedRead', every: [6_000, 25_000] },
    { family: 'clientCrash', every: [4_000, 15_000] },
    { family: 'ambush', every: [1_000, 8_000] },
  ],
};
