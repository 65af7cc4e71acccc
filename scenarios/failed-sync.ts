/** The device refuses a sync, an append or a read: the log directory is not to be trusted again until a restart. */
import type { Scenario } from '../runtime-sim/scenario.ts';
import { SMALL_FILES, STEADY_LOAD } from './parts.ts';

/** Failed sync, append or read. */
export const FAILED_SYNC: Scenario = {
  name: 'failed-sync',
  proves: 'After a failed sync nothing of its round is acknowledged, and the node stops rather than try again.',
  durationMs: 60_000,
  weight: 2,
  workload: STEADY_LOAD,
  settings: SMALL_FILES,
  troubles: [
    { family: 'failedSync', every: [3_000, 9_000], always: true },
    { family: 'failedAppend', every: [5_000, 15_000] },
    { family: 'failedRead', every: [5_000, 15_000] },
    { family: 'crash', every: [5_000, 15_000] },
    { family: 'reset', every: [3_000, 10_000] },
  ],
};
