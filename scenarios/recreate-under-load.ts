/** Topics are deleted and made again under one name while they are written and read, by several at once. */
import type { Scenario } from '../runtime-sim/scenario.ts';
import { BUSY_ADMINISTRATION, SMALL_FILES, SMALL_METADATA } from './parts.ts';

/** Topics that come again, in every kind of trouble. */
export const RECREATE_UNDER_LOAD: Scenario = {
  name: 'recreate-under-load',
  proves:
    'A topic that came anew holds nothing of the one before, and nothing that it holds is lost by deleting that one.',
  durationMs: 60_000,
  weight: 3,
  workload: {
    ...BUSY_ADMINISTRATION,
    administration: {
      percent: 100,
      administrators: [1, 2],
      topics: [2, 2],
      partitionsMax: [1, 2],
      everyMs: [50, 150],
      deletePercent: [30, 50],
    },
  },
  settings: [...SMALL_FILES, ...SMALL_METADATA],
  troubles: [
    { family: 'crash', every: [1_500, 6_000], always: true },
    { family: 'powerLoss', every: [2_000, 8_000] },
    { family: 'recoveryCrash', every: [10, 50] },
    { family: 'reset', every: [1_000, 5_000] },
    { family: 'slowDisk', every: [3_000, 10_000] },
    { family: 'fullDisk', every: [6_000, 20_000] },
    { family: 'cleanStop', every: [5_000, 15_000] },
  ],
};
