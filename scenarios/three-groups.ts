/** Groups of consumers on three nodes, whose coordinators die, stand still, or are not heard any more. */
import type { Scenario } from '../runtime-sim/scenario.ts';
import {
  FICKLE_TOPICS,
  QUICK_GROUPS,
  QUICK_SESSIONS,
  SMALL_FILES,
  SMALL_LAGS,
  SOME_GROUPS,
  STEADY_LOAD_ON_THREE,
  THREE_NODES,
} from './parts.ts';

/** Any node may be a coordinator, of several groups. */
export const THREE_GROUPS: Scenario = {
  name: 'three-groups',
  proves: 'A coordinator that moves leaves no member stuck, no partition with two owners and no offset lost.',
  durationMs: 20_000,
  weight: 4,
  cluster: THREE_NODES,
  workload: {
    ...STEADY_LOAD_ON_THREE,
    partitions: [1, 5],
    everyMs: [100, 300],
    administration: FICKLE_TOPICS,
    groups: SOME_GROUPS,
    moveGroupsEveryMs: [1_000, 5_000],
  },
  settings: [...SMALL_FILES, ...SMALL_LAGS, ...QUICK_GROUPS, ...QUICK_SESSIONS],
  troubles: [
    { family: 'crash', every: [2_000, 7_000], always: true },
    { family: 'powerLoss', every: [4_000, 12_000] },
    { family: 'pause', every: [3_000, 10_000] },
    { family: 'isolation', every: [3_000, 10_000] },
    { family: 'cleanStop', every: [5_000, 15_000] },
    { family: 'reset', every: [1_000, 5_000] },
    { family: 'clientCrash', every: [4_000, 12_000], always: true },
    { family: 'clog', every: [1_000, 4_000] },
    { family: 'isolation', every: [2_500, 8_000], on: 'coordinator' },
    { family: 'clockJump', every: [1_200, 5_000], always: true },
  ],
};
