/** The process dies between any two effects, and idempotent producers must not notice but for the time. */
import type { Scenario } from '../runtime-sim/scenario.ts';
import { SMALL_FILES, STEADY_LOAD } from './parts.ts';

/** Crash at any effect under load, idempotence on. */
export const CRASH_IDEMPOTENT: Scenario = {
  name: 'crash-idempotent',
  proves: 'A process that dies between any two effects keeps every acknowledged record, once and in order.',
  durationMs: 60_000,
  weight: 3,
  workload: { ...STEADY_LOAD, idempotentPercent: 100 },
  settings: SMALL_FILES,
  troubles: [
    { family: 'crash', every: [1_500, 6_000], always: true },
    { family: 'recoveryCrash', every: [10, 50] },
    { family: 'reset', every: [1_000, 5_000] },
    { family: 'cut', every: [4_000, 12_000] },
    { family: 'slowDisk', every: [5_000, 15_000] },
    { family: 'clientCrash', every: [8_000, 20_000] },
  ],
};
