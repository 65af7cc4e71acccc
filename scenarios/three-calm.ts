/** Three nodes on a good day: what healthy replication does, for comparison and for measuring. */
import type { Scenario } from '../runtime-sim/scenario.ts';
import { SMALL_FILES, STEADY_LOAD_ON_THREE, THREE_NODES } from './parts.ts';

/** No troubles at all. */
export const THREE_CALM: Scenario = {
  name: 'three-calm',
  proves: 'Three nodes form a cluster, and everything is served by it and is the same on all of them.',
  durationMs: 20_000,
  weight: 1,
  cluster: THREE_NODES,
  workload: STEADY_LOAD_ON_THREE,
  settings: SMALL_FILES,
  troubles: [],
};
