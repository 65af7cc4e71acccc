/** The only replica in sync goes down, and nobody leads until an operator asks for it and takes the loss. */
import type { Scenario } from '../runtime-sim/scenario.ts';
import { SMALL_FILES, STEADY_LOAD_ON_THREE, TWO_REPLICAS } from './parts.ts';

/** An unclean election that an operator asks for. */
export const ELECTION_ON_REQUEST: Scenario = {
  name: 'election-on-request',
  proves: 'Where a topic does not allow it nobody leads who lacks records, until an operator asks for just that.',
  durationMs: 60_000,
  weight: 1,
  cluster: TWO_REPLICAS,
  workload: STEADY_LOAD_ON_THREE,
  settings: SMALL_FILES,
  script: [
    { act: 'wait', ms: 2_000 },
    { act: 'await', what: 'inSync', withinMs: 10_000 },
    { act: 'crash', who: 'followers', as: 'behind' },
    { act: 'await', what: 'led', withinMs: 8_000 },
    { act: 'await', what: 'acknowledged', withinMs: 10_000 },
    // The one that is down is in sync no more by then: the leader acknowledges alone.
    { act: 'wait', ms: 5_000 },
    { act: 'powerLoss', who: 'leader', as: 'ahead' },
    { act: 'wait', ms: 2_500 },
    { act: 'start', as: 'behind' },
    { act: 'await', what: 'leaderless', withinMs: 15_000 },
    { act: 'wait', ms: 4_000 },
    { act: 'await', what: 'leaderless', withinMs: 100 },
    { act: 'electUncleanly' },
    { act: 'await', what: 'led', withinMs: 10_000 },
    { act: 'await', what: 'acknowledged', withinMs: 15_000 },
    { act: 'start', as: 'ahead' },
    { act: 'await', what: 'inSync', withinMs: 15_000 },
    { act: 'await', what: 'acknowledged', withinMs: 5_000 },
  ],
  troubles: [
    { family: 'slowDisk', every: [4_000, 12_000] },
    { family: 'reset', every: [2_000, 8_000] },
  ],
};
