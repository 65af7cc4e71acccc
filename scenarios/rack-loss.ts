/** All nodes of a rack go at once, and later nobody in the others hears them. */
import type { Scenario } from '../runtime-sim/scenario.ts';
import { FIVE_NODES, SMALL_FILES, STEADY_LOAD_ON_THREE } from './parts.ts';

/** The loss of a rack: five nodes stand in three, so that two of them may stand together. */
export const RACK_LOSS: Scenario = {
  name: 'rack-loss',
  proves: 'No two replicas share a rack, so that a rack may be lost, or not be heard, and the others go on without it.',
  durationMs: 60_000,
  weight: 1,
  cluster: { ...FIVE_NODES, racks: 3 },
  workload: STEADY_LOAD_ON_THREE,
  settings: SMALL_FILES,
  script: [
    { act: 'await', what: 'spread', withinMs: 1_000 },
    { act: 'wait', ms: 2_000 },
    { act: 'powerLoss', who: 'rackOfLeader', as: 'rack' },
    { act: 'await', what: 'led', withinMs: 8_000 },
    { act: 'await', what: 'acknowledged', withinMs: 5_000 },
    { act: 'wait', ms: 2_000 },
    { act: 'start', as: 'rack' },
    { act: 'await', what: 'inSync', withinMs: 15_000 },
    { act: 'cutOff', who: 'rackOfLeader', as: 'unheard' },
    { act: 'await', what: 'led', withinMs: 10_000 },
    // Until they give up a request, producers go on asking the leader that they know.
    { act: 'await', what: 'acknowledged', withinMs: 20_000 },
    { act: 'heal', as: 'unheard' },
    { act: 'await', what: 'inSync', withinMs: 15_000 },
  ],
  troubles: [
    { family: 'slowDisk', every: [4_000, 12_000] },
    { family: 'reset', every: [4_000, 12_000] },
  ],
};
