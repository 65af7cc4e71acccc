/** Five nodes fall apart into two sides, and come together again one by one. */
import type { Scenario } from '../runtime-sim/scenario.ts';
import { FIVE_NODES, QUICK_TURNS, SMALL_FILES, SMALL_LAGS, STEADY_LOAD_ON_THREE } from './parts.ts';

/** The smaller side goes on for a while with whoever led there, and clients reach both. */
export const TWO_SIDES: Scenario = {
  name: 'two-sides',
  proves:
    'What a few nodes went on with among themselves gives way to what the others decided, however late they hear it.',
  durationMs: 20_000,
  weight: 2,
  cluster: FIVE_NODES,
  workload: {
    ...STEADY_LOAD_ON_THREE,
    partitions: [1, 2],
    idempotentPercent: 40,
    acks: [-1, 1, 1, 0],
    everyMs: [100, 300],
    administration: {
      percent: 100,
      administrators: [1, 1],
      topics: [3, 4],
      partitionsMax: [1, 3],
      everyMs: [100, 250],
      deletePercent: [5, 20],
    },
  },
  settings: [
    ...SMALL_FILES,
    // Whoever was away has to fetch a snapshot, and sees only what came of it all.
    { name: 'metadata.log.max.record.bytes.between.snapshots', values: [300, 1_000] },
    { name: 'metadata.log.segment.bytes', values: [2_000, 4_000] },
    ...SMALL_LAGS,
    ...QUICK_TURNS,
  ],
  troubles: [
    { family: 'split', every: [3_000, 7_000], on: 'leader', always: true },
    { family: 'split', every: [4_000, 10_000], on: 'controller' },
    { family: 'pairCut', every: [2_000, 8_000] },
    { family: 'clog', every: [1_500, 6_000] },
    { family: 'reset', every: [1_000, 5_000] },
    { family: 'crash', every: [5_000, 15_000] },
    { family: 'powerLoss', every: [6_000, 20_000] },
    { family: 'slowDisk', every: [3_000, 10_000] },
  ],
};
