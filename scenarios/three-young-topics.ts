/** Topics come and go on three nodes, and their leaders with them: hardly any log is older than a few seconds. */
import type { Scenario } from '../runtime-sim/scenario.ts';
import { QUICK_TURNS, SMALL_LAGS, SMALL_METADATA, THREE_NODES, YOUNG_TOPICS_ON_THREE } from './parts.ts';

/** Administrators who never rest, while leaders are lost before anything of theirs is committed. */
export const THREE_YOUNG_TOPICS: Scenario = {
  name: 'three-young-topics',
  proves: 'The first records of a topic, and the last that are left of it, are kept and cut like all others.',
  durationMs: 20_000,
  weight: 2,
  cluster: THREE_NODES,
  workload: YOUNG_TOPICS_ON_THREE,
  settings: [...SMALL_METADATA, ...SMALL_LAGS, ...QUICK_TURNS],
  troubles: [
    { family: 'isolation', every: [1_500, 6_000], always: true },
    { family: 'pairCut', every: [1_000, 4_000] },
    { family: 'crash', every: [1_500, 6_000] },
    { family: 'powerLoss', every: [3_000, 10_000] },
    { family: 'pause', every: [2_000, 8_000] },
    { family: 'keyCut', every: [1_500, 6_000] },
    { family: 'clog', every: [1_000, 4_000] },
    { family: 'slowDisk', every: [2_000, 8_000] },
    { family: 'reset', every: [1_000, 5_000] },
  ],
};
