/** Requests that were answered long ago arrive once more, across crashes and on connections of their own. */
import type { Scenario } from '../runtime-sim/scenario.ts';
import { SMALL_FILES, STEADY_LOAD } from './parts.ts';

/** Late duplicates beside everything that may make a node forget a producer. */
export const LATE_DUPLICATES: Scenario = {
  name: 'late-duplicates',
  proves: 'A batch that was acknowledged is not appended again when its request comes a second time, however late.',
  durationMs: 60_000,
  weight: 2,
  workload: { ...STEADY_LOAD, idempotentPercent: 100, repeatEveryMs: [60, 400] },
  settings: SMALL_FILES,
  troubles: [
    { family: 'crash', every: [2_000, 7_000], always: true },
    { family: 'powerLoss', every: [2_000, 8_000] },
    { family: 'recoveryCrash', every: [10, 40] },
    { family: 'cleanStop', every: [4_000, 12_000] },
    { family: 'reset', every: [2_000, 8_000] },
    { family: 'slowDisk', every: [4_000, 12_000] },
    { family: 'fullDisk', every: [8_000, 20_000] },
    { family: 'clientCrash', every: [6_000, 20_000] },
  ],
};
