/** An operator moves partitions among five nodes while everything that may go wrong with them does. */
import type { Scenario } from '../runtime-sim/scenario.ts';
import { MOVED_LOAD_ON_FIVE, SMALL_FILES, SMALL_LAGS, SMALL_METADATA } from './parts.ts';

/** Moves in a swarm of troubles. */
export const PARTITIONS_MOVE: Scenario = {
  name: 'partitions-move',
  proves:
    'Wherever partitions are sent, and whoever dies on the way, what was acknowledged arrives, and nothing stays.',
  durationMs: 20_000,
  weight: 3,
  cluster: { nodes: 5, replicas: 3, inSyncMin: 2, tailPpm: [0, 200, 3_000] },
  workload: MOVED_LOAD_ON_FIVE,
  settings: [
    ...SMALL_FILES,
    ...SMALL_METADATA,
    ...SMALL_LAGS,
    { name: 'log.segment.delete.delay.ms', values: [0, 300, 60_000] },
  ],
  troubles: [
    { family: 'crash', every: [1_500, 12_000] },
    { family: 'crash', every: [3_000, 12_000], on: 'leader' },
    { family: 'crash', every: [3_000, 12_000], on: 'controller' },
    { family: 'powerLoss', every: [2_000, 12_000] },
    { family: 'recoveryCrash', every: [10, 60] },
    { family: 'blackout', every: [6_000, 25_000] },
    { family: 'cleanStop', every: [4_000, 20_000] },
    { family: 'pause', every: [3_000, 15_000] },
    { family: 'pairCut', every: [1_500, 12_000] },
    { family: 'isolation', every: [3_000, 15_000] },
    { family: 'isolation', every: [4_000, 15_000], on: 'leader' },
    { family: 'keyCut', every: [2_000, 12_000] },
    { family: 'clog', every: [2_000, 12_000] },
    { family: 'cut', every: [3_000, 12_000] },
    { family: 'reset', every: [1_000, 8_000] },
    { family: 'clockJump', every: [3_000, 15_000] },
    { family: 'slowDisk', every: [3_000, 12_000] },
    { family: 'fullDisk', every: [4_000, 20_000] },
    { family: 'failedSync', every: [5_000, 25_000] },
    { family: 'failedAppend', every: [6_000, 25_000] },
    { family: 'clientCrash', every: [4_000, 15_000] },
  ],
};
