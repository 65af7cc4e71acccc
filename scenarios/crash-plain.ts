/** The process dies between any two effects while producers without idempotence retry as they please. */
import type { Scenario } from '../runtime-sim/scenario.ts';
import { SMALL_FILES, STEADY_LOAD } from './parts.ts';

/** Crash at any effect under load, idempotence off. */
export const CRASH_PLAIN: Scenario = {
  name: 'crash-plain',
  proves: 'Without idempotence every record acknowledged under acks=all is kept too, if perhaps twice.',
  durationMs: 60_000,
  weight: 2,
  workload: { ...STEADY_LOAD, idempotentPercent: 0 },
  settings: SMALL_FILES,
  troubles: [
    { family: 'crash', every: [1_500, 6_000], always: true },
    { family: 'recoveryCrash', every: [10, 50] },
    { family: 'reset', every: [1_000, 5_000] },
    { family: 'cut', every: [4_000, 12_000] },
    { family: 'clientCrash', every: [8_000, 20_000] },
  ],
};
