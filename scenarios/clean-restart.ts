/** The operator stops and starts the node, again and again, under load. */
import type { Scenario } from '../runtime-sim/scenario.ts';
import { SMALL_FILES, STEADY_LOAD } from './parts.ts';

/** Clean restart. */
export const CLEAN_RESTART: Scenario = {
  name: 'clean-restart',
  proves: 'A clean stop needs no recovery, and nothing is lost, doubled or left unanswered across it.',
  durationMs: 60_000,
  weight: 1,
  workload: STEADY_LOAD,
  settings: SMALL_FILES,
  troubles: [
    { family: 'cleanStop', every: [1_500, 6_000], always: true },
    { family: 'reset', every: [2_000, 8_000] },
    { family: 'slowDisk', every: [4_000, 12_000] },
    { family: 'clockJump', every: [3_000, 10_000] },
  ],
};
