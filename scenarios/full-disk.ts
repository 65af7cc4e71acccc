/** The disk fills up under load, and space is freed later. */
import type { Scenario } from '../runtime-sim/scenario.ts';
import { SMALL_FILES, STEADY_LOAD } from './parts.ts';

/** Full disk, freed later. */
export const FULL_DISK: Scenario = {
  name: 'full-disk',
  proves: 'A full disk refuses records and loses none; once there is space the node goes on by itself.',
  durationMs: 60_000,
  weight: 4,
  workload: STEADY_LOAD,
  settings: SMALL_FILES,
  troubles: [
    { family: 'fullDisk', every: [3_000, 9_000], always: true },
    { family: 'crash', every: [3_000, 12_000] },
    { family: 'powerLoss', every: [5_000, 15_000] },
    { family: 'reset', every: [2_000, 8_000] },
    { family: 'slowDisk', every: [5_000, 15_000] },
  ],
};
