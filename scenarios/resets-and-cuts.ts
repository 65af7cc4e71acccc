/** The network breaks connections, falls silent, and delivers frames in crumbs; the node itself is well. */
import type { Scenario } from '../runtime-sim/scenario.ts';
import { SMALL_FILES, STEADY_LOAD } from './parts.ts';

/** Resets and cuts. */
export const RESETS_AND_CUTS: Scenario = {
  name: 'resets-and-cuts',
  proves: 'Retries over broken connections duplicate nothing, reorder nothing and are answered in the end.',
  durationMs: 60_000,
  weight: 3,
  workload: { ...STEADY_LOAD, idempotentPercent: 85 },
  settings: SMALL_FILES,
  troubles: [
    { family: 'reset', every: [150, 1_000], always: true },
    { family: 'cut', every: [1_500, 6_000] },
    { family: 'slowDisk', every: [3_000, 10_000] },
    { family: 'clientCrash', every: [5_000, 15_000] },
  ],
};
