/** The active controller is lost again and again: it dies, stands still, or is not heard any more. */
import type { Scenario } from '../runtime-sim/scenario.ts';
import { SMALL_FILES, SMALL_METADATA, STEADY_LOAD_ON_THREE, THREE_NODES } from './parts.ts';

/** Whoever is the active controller. */
export const THREE_CONTROLLER_LOSS: Scenario = {
  name: 'three-controller-loss',
  proves: 'Another controller takes over, knows what was decided, and nothing is decided twice.',
  durationMs: 20_000,
  weight: 2,
  cluster: THREE_NODES,
  workload: STEADY_LOAD_ON_THREE,
  settings: [...SMALL_FILES, ...SMALL_METADATA],
  troubles: [
    { family: 'crash', every: [2_000, 7_000], on: 'controller', always: true },
    { family: 'powerLoss', every: [4_000, 12_000], on: 'controller' },
    { family: 'pause', every: [3_000, 10_000], on: 'controller' },
    { family: 'isolation', every: [3_000, 10_000], on: 'controller' },
    { family: 'cleanStop', every: [5_000, 15_000], on: 'controller' },
    { family: 'crash', every: [4_000, 12_000], on: 'leader' },
    { family: 'recoveryCrash', every: [10, 40] },
    { family: 'slowDisk', every: [4_000, 12_000] },
    { family: 'ambush', every: [1_000, 5_000] },
    { family: 'blackout', every: [4_000, 12_000] },
    { family: 'clog', every: [1_000, 4_000] },
    { family: 'slowElection', every: [300, 3_000] },
  ],
};
