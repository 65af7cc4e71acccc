/** Recovery is struck again and again, by process crashes and power losses, before it is through. */
import type { Scenario } from '../runtime-sim/scenario.ts';
import { SMALL_FILES, STEADY_LOAD } from './parts.ts';

/** Crash in recovery. */
export const CRASH_IN_RECOVERY: Scenario = {
  name: 'crash-in-recovery',
  proves: 'Recovery that is killed half way recovers again, however often, and tells nobody of what is not durable.',
  durationMs: 60_000,
  weight: 5,
  workload: STEADY_LOAD,
  settings: SMALL_FILES,
  troubles: [
    { family: 'powerLoss', every: [2_000, 6_000], always: true },
    { family: 'crash', every: [2_000, 6_000], always: true },
    { family: 'recoveryCrash', every: [50, 80], always: true },
    { family: 'slowDisk', every: [4_000, 12_000] },
  ],
};
