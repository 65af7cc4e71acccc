/** The only replica in sync goes down, and one that lacks records leads in its place, because the topic allows it. */
import type { Scenario } from '../runtime-sim/scenario.ts';
import { SMALL_FILES, STEADY_LOAD_ON_THREE, TWO_REPLICAS } from './parts.ts';

/** An unclean election, and the return of whoever had more. */
export const UNCLEAN_ELECTION: Scenario = {
  name: 'unclean-election',
  proves: 'A topic that allows it is led by whoever is left, and loses what that one lacked, and nothing else.',
  durationMs: 60_000,
  weight: 1,
  cluster: { ...TWO_REPLICAS, allowsUnclean: true },
  workload: STEADY_LOAD_ON_THREE,
  settings: SMALL_FILES,
  script: [
    { act: 'wait', ms: 2_000 },
    { act: 'await', what: 'inSync', withinMs: 10_000 },
    { act: 'stop', who: 'followers', as: 'behind' },
    { act: 'await', what: 'led', withinMs: 8_000 },
    { act: 'await', what: 'acknowledged', withinMs: 10_000 },
    // The leader is the only one in sync by now, and acknowledges alone.
    { act: 'wait', ms: 2_000 },
    { act: 'crash', who: 'leader', as: 'ahead' },
    // What it has answered is heard by then, or never will be.
    { act: 'wait', ms: 2_500 },
    { act: 'start', as: 'behind' },
    { act: 'await', what: 'led', withinMs: 15_000 },
    { act: 'await', what: 'acknowledged', withinMs: 15_000 },
    { act: 'wait', ms: 1_500 },
    { act: 'start', as: 'ahead' },
    { act: 'await', what: 'inSync', withinMs: 15_000 },
    { act: 'await', what: 'acknowledged', withinMs: 5_000 },
  ],
  troubles: [
    { family: 'slowDisk', every: [4_000, 12_000] },
    { family: 'reset', every: [2_000, 8_000] },
    { family: 'clientCrash', every: [6_000, 15_000] },
  ],
};
