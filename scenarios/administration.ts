/** Topics come, grow, change and go under load, while the node dies and its connections break. */
import type { Scenario } from '../runtime-sim/scenario.ts';
import { BUSY_ADMINISTRATION, SMALL_FILES, SMALL_METADATA } from './parts.ts';

/** Administration under crashes and a bad network. */
export const ADMINISTRATION: Scenario = {
  name: 'administration',
  proves:
    'What an administrator was told holds for ever: every later answer fits it, and a topic that was made can be used.',
  durationMs: 60_000,
  weight: 3,
  workload: BUSY_ADMINISTRATION,
  settings: [...SMALL_FILES, ...SMALL_METADATA],
  troubles: [
    { family: 'crash', every: [2_000, 8_000] },
    { family: 'powerLoss', every: [4_000, 15_000] },
    { family: 'reset', every: [500, 3_000], always: true },
    { family: 'cut', every: [3_000, 10_000] },
    { family: 'slowDisk', every: [4_000, 12_000] },
    { family: 'fullDisk', every: [6_000, 20_000] },
    { family: 'failedSync', every: [8_000, 25_000] },
    { family: 'cleanStop', every: [6_000, 20_000] },
    { family: 'clientCrash', every: [5_000, 15_000] },
  ],
};
