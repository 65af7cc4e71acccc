/** Disks of three nodes are lost, or set back to an older copy, one at a time. */
import type { Scenario } from '../runtime-sim/scenario.ts';
import { SELDOM_ADMINISTERED_LOAD_ON_THREE, SMALL_FILES, SMALL_LAGS, SMALL_METADATA, THREE_NODES } from './parts.ts';

/** One disk of three, while the others have all that is committed. */
export const THREE_DISK_SWAPS: Scenario = {
  name: 'three-disk-swaps',
  proves:
    'Whoever comes back with an empty disk, or an older one, costs nothing that was acknowledged, and catches up.',
  durationMs: 30_000,
  weight: 2,
  cluster: { ...THREE_NODES, mayNameDirectories: true },
  workload: SELDOM_ADMINISTERED_LOAD_ON_THREE,
  settings: [...SMALL_FILES, ...SMALL_LAGS, ...SMALL_METADATA],
  troubles: [
    { family: 'diskLoss', every: [3_000, 10_000], always: true },
    { family: 'diskLoss', every: [4_000, 12_000], on: 'leader' },
    { family: 'diskRestore', every: [1_500, 6_000], always: true },
    { family: 'crash', every: [3_000, 12_000] },
    { family: 'powerLoss', every: [4_000, 12_000] },
    { family: 'cleanStop', every: [6_000, 15_000] },
    { family: 'pause', every: [5_000, 15_000] },
    { family: 'pairCut', every: [3_000, 12_000] },
    { family: 'reset', every: [2_000, 8_000] },
    { family: 'diskLoss', every: [4_000, 12_000], on: 'controller' },
  ],
};
