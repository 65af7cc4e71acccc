/** The machine loses its power: what was not synced is lost, torn, or there by chance. */
import type { Scenario } from '../runtime-sim/scenario.ts';
import { SMALL_FILES, STEADY_LOAD } from './parts.ts';

/** Power loss at any effect under load. */
export const POWER_LOSS: Scenario = {
  name: 'power-loss',
  proves: 'Nothing is acknowledged or shown to a reader before it is durable, names of files included.',
  durationMs: 60_000,
  weight: 4,
  workload: STEADY_LOAD,
  settings: SMALL_FILES,
  troubles: [
    { family: 'powerLoss', every: [1_500, 6_000], always: true },
    { family: 'crash', every: [3_000, 10_000] },
    { family: 'recoveryCrash', every: [10, 60] },
    { family: 'reset', every: [2_000, 8_000] },
    { family: 'slowDisk', every: [4_000, 12_000] },
    { family: 'cleanStop', every: [8_000, 20_000] },
  ],
};
