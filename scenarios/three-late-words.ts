/** What nodes say to each other comes late, twice, or is never answered. */
import type { Scenario } from '../runtime-sim/scenario.ts';
import { QUICK_TURNS, SELDOM_ADMINISTERED_LOAD_ON_THREE, SMALL_FILES, THREE_NODES } from './parts.ts';

/** Answers that do not come, and requests that come once more when all has changed. */
export const THREE_LATE_WORDS: Scenario = {
  name: 'three-late-words',
  proves: 'A vote, a heartbeat, an in-sync set that comes late or twice decides nothing that is over.',
  durationMs: 20_000,
  weight: 2,
  cluster: THREE_NODES,
  workload: { ...SELDOM_ADMINISTERED_LOAD_ON_THREE, repeatBetweenEveryMs: [20, 300] },
  settings: [
    ...SMALL_FILES,
    { name: 'replica.lag.time.max.ms', values: [500, 1_500] },
    { name: 'replica.fetch.wait.max.ms', values: [100, 300] },
    ...QUICK_TURNS,
  ],
  troubles: [
    { family: 'answerCut', every: [800, 4_000], always: true },
    { family: 'keyCut', every: [800, 4_000] },
    { family: 'clog', every: [1_000, 4_000] },
    { family: 'pairCut', every: [1_500, 6_000] },
    { family: 'isolation', every: [4_000, 12_000], on: 'leader' },
    { family: 'pause', every: [1_500, 6_000] },
    { family: 'pause', every: [3_000, 10_000], on: 'controller' },
    { family: 'reset', every: [500, 3_000] },
    { family: 'crash', every: [4_000, 12_000], on: 'controller' },
    { family: 'crash', every: [3_000, 12_000] },
    { family: 'slowDisk', every: [2_000, 8_000] },
  ],
};
