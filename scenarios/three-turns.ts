/** Leads change hands again and again, between nodes that live on: who led follows, who followed leads, and back. */
import type { Scenario } from '../runtime-sim/scenario.ts';
import { QUICK_TURNS, SMALL_FILES, STEADY_LOAD_ON_THREE, THREE_NODES } from './parts.ts';

/** Silence and pauses that are longer than sessions, of the leader above all, and hardly any crash. */
export const THREE_TURNS: Scenario = {
  name: 'three-turns',
  proves: 'Whoever leads again, or follows again, in one life goes by what is so now and not by what it knew before.',
  durationMs: 20_000,
  weight: 3,
  cluster: THREE_NODES,
  workload: { ...STEADY_LOAD_ON_THREE, acks: [-1, 1, 1, 0] },
  settings: [
    ...SMALL_FILES,
    { name: 'replica.lag.time.max.ms', values: [500, 1_500, 30_000] },
    { name: 'replica.fetch.wait.max.ms', values: [100, 500] },
    ...QUICK_TURNS,
  ],
  troubles: [
    { family: 'isolation', every: [1_500, 5_000], on: 'leader', always: true },
    { family: 'standstill', every: [2_500, 8_000], on: 'leader' },
    { family: 'standstill', every: [2_500, 8_000] },
    { family: 'pairCut', every: [1_000, 4_000] },
    { family: 'answerCut', every: [1_000, 5_000] },
    { family: 'keyCut', every: [2_000, 8_000] },
    { family: 'clog', every: [800, 3_000] },
    { family: 'isolation', every: [3_000, 10_000], on: 'controller' },
    { family: 'slowDisk', every: [2_000, 8_000] },
    { family: 'reset', every: [1_000, 5_000] },
    { family: 'crash', every: [6_000, 20_000] },
  ],
};
