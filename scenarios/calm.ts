/** Nothing goes wrong: what a healthy node does, for comparison and for measuring the simulator. */
import type { Scenario } from '../runtime-sim/scenario.ts';
import { SMALL_FILES, STEADY_LOAD } from './parts.ts';

/** No troubles at all. */
export const CALM: Scenario = {
  name: 'calm',
  proves: 'On a good day everything is served.',
  durationMs: 60_000,
  weight: 1,
  workload: STEADY_LOAD,
  settings: SMALL_FILES,
  troubles: [],
};
