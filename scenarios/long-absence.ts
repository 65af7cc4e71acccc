/** A node is away for so long that the metadata log no longer reaches back to what it knew. */
import type { Scenario } from '../runtime-sim/scenario.ts';
import { ADMINISTERED_LOAD_ON_THREE, OFTEN_CUT_METADATA, SMALL_FILES, THREE_NODES } from './parts.ts';

/** The return of a member of the quorum that must fetch a snapshot. */
export const LONG_ABSENCE: Scenario = {
  name: 'long-absence',
  proves:
    'Whoever returns when the log was cut fetches a snapshot, whatever breaks meanwhile, and knows what all know.',
  durationMs: 60_000,
  weight: 2,
  cluster: THREE_NODES,
  workload: {
    ...ADMINISTERED_LOAD_ON_THREE,
    administration: {
      percent: 100,
      administrators: [1, 1],
      topics: [1, 2],
      partitionsMax: [1, 2],
      everyMs: [200, 500],
      deletePercent: [5, 20],
    },
  },
  settings: [...SMALL_FILES, ...OFTEN_CUT_METADATA],
  script: [
    { act: 'wait', ms: 1_000 },
    { act: 'crash', who: 'any', as: 'away' },
    { act: 'wait', ms: 4_000 },
    { act: 'start', as: 'away' },
    { act: 'wait', ms: 1_000 },
    { act: 'await', what: 'inSync', withinMs: 20_000 },
    { act: 'powerLoss', who: 'controller', as: 'away' },
    { act: 'wait', ms: 4_000 },
    { act: 'start', as: 'away' },
    { act: 'wait', ms: 1_000 },
    { act: 'await', what: 'inSync', withinMs: 20_000 },
    // Of one that is only not heard, the log is not opened anew: it asks from where it was.
    { act: 'cutOff', who: 'any', as: 'unheard' },
    { act: 'wait', ms: 4_000 },
    { act: 'heal', as: 'unheard' },
    { act: 'wait', ms: 1_000 },
    { act: 'await', what: 'inSync', withinMs: 20_000 },
  ],
  troubles: [
    { family: 'recoveryCrash', every: [20, 60] },
    { family: 'reset', every: [500, 3_000] },
    { family: 'slowDisk', every: [3_000, 10_000] },
    { family: 'clog', every: [3_000, 10_000] },
    { family: 'fullDisk', every: [6_000, 15_000] },
  ],
};
