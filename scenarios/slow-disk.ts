/** Everything on the disk takes up to a hundred times as long, and now and then the process dies meanwhile. */
import type { Scenario } from '../runtime-sim/scenario.ts';
import { SMALL_FILES, STEADY_LOAD } from './parts.ts';

/** Slow disk. */
export const SLOW_DISK: Scenario = {
  name: 'slow-disk',
  proves: 'Syncs that take long hold back answers, never order; back-pressure bounds what waits.',
  durationMs: 60_000,
  weight: 1,
  workload: { ...STEADY_LOAD, burstMax: [2, 10] },
  settings: SMALL_FILES,
  troubles: [
    { family: 'slowDisk', every: [800, 3_000], always: true },
    { family: 'powerLoss', every: [3_000, 9_000] },
    { family: 'crash', every: [3_000, 9_000] },
    { family: 'reset', every: [2_000, 8_000] },
  ],
};
