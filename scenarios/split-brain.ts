/** The leader is cut off from the other nodes while clients still reach it; then it is let back. */
import type { Scenario } from '../runtime-sim/scenario.ts';
import { SMALL_FILES, STEADY_LOAD_ON_THREE, THREE_NODES } from './parts.ts';

/** A leader that nobody but its clients hears. */
export const SPLIT_BRAIN: Scenario = {
  name: 'split-brain',
  proves: 'What a leader takes while it is cut off is never acknowledged, and is gone when it is back.',
  durationMs: 60_000,
  weight: 1,
  cluster: THREE_NODES,
  workload: STEADY_LOAD_ON_THREE,
  settings: SMALL_FILES,
  script: [
    { act: 'wait', ms: 3_000 },
    { act: 'cutOff', who: 'leader', as: 'alone' },
    { act: 'await', what: 'led', withinMs: 10_000 },
    // Until they give up a request, producers go on asking the leader that they know.
    { act: 'await', what: 'acknowledged', withinMs: 20_000 },
    { act: 'heal', as: 'alone' },
    { act: 'await', what: 'inSync', withinMs: 15_000 },
    { act: 'cutOff', who: 'controller', as: 'unheard' },
    { act: 'await', what: 'led', withinMs: 10_000 },
    { act: 'wait', ms: 4_000 },
    { act: 'heal', as: 'unheard' },
    { act: 'await', what: 'inSync', withinMs: 15_000 },
  ],
  troubles: [
    { family: 'slowDisk', every: [4_000, 12_000] },
    { family: 'clientCrash', every: [8_000, 20_000] },
  ],
};
