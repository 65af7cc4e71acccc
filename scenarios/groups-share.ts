/** Groups of consumers share a topic on one node, which dies now and then, as its clients do. */
import type { Scenario } from '../runtime-sim/scenario.ts';
import { FICKLE_TOPICS, QUICK_GROUPS, SMALL_FILES, SOME_GROUPS, STEADY_LOAD } from './parts.ts';

/** Both protocols, every way to commit, members that come, go, stall and stand still. */
export const GROUPS_SHARE: Scenario = {
  name: 'groups-share',
  proves: 'Members share the work, keep their place, and never own a partition twice.',
  durationMs: 40_000,
  weight: 3,
  workload: {
    ...STEADY_LOAD,
    partitions: [1, 6],
    everyMs: [100, 300],
    administration: FICKLE_TOPICS,
    groups: SOME_GROUPS,
  },
  settings: [...SMALL_FILES, ...QUICK_GROUPS],
  troubles: [
    { family: 'crash', every: [4_000, 15_000] },
    { family: 'powerLoss', every: [8_000, 25_000] },
    { family: 'cleanStop', every: [8_000, 25_000] },
    { family: 'reset', every: [1_000, 5_000] },
    { family: 'cut', every: [4_000, 12_000] },
    { family: 'clientCrash', every: [4_000, 15_000], always: true },
    { family: 'clockJump', every: [1_500, 6_000], always: true },
  ],
};
