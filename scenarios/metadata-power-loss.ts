/** The machine loses its power while the cluster is administered, again and again, in recovery too. */
import type { Scenario } from '../runtime-sim/scenario.ts';
import { BUSY_ADMINISTRATION, SMALL_FILES, SMALL_METADATA } from './parts.ts';

/** Power loss under administration. */
export const METADATA_POWER_LOSS: Scenario = {
  name: 'metadata-power-loss',
  proves: 'The metadata log is torn and cut like any other file, and what was acknowledged is in it all the same.',
  durationMs: 60_000,
  weight: 4,
  workload: BUSY_ADMINISTRATION,
  settings: [...SMALL_FILES, ...SMALL_METADATA],
  troubles: [
    { family: 'powerLoss', every: [1_000, 4_000], always: true },
    { family: 'recoveryCrash', every: [20, 70] },
    { family: 'slowDisk', every: [3_000, 10_000] },
    { family: 'failedSync', every: [6_000, 20_000] },
    { family: 'failedAppend', every: [8_000, 25_000] },
    { family: 'cut', every: [4_000, 12_000] },
  ],
};
