/** One of three brokers goes down and returns, step by step. */
import type { Scenario } from '../runtime-sim/scenario.ts';
import { SMALL_FILES, STEADY_LOAD_ON_THREE, THREE_NODES } from './parts.ts';

/** The loss of one broker and its return. */
export const GRACEFUL_DEGRADATION: Scenario = {
  name: 'graceful-degradation',
  proves: 'A lost leader is replaced, the others go on, and whoever returns catches up, joins and leads what it led.',
  durationMs: 60_000,
  weight: 1,
  cluster: THREE_NODES,
  workload: STEADY_LOAD_ON_THREE,
  settings: [...SMALL_FILES, { name: 'leader.imbalance.check.interval.seconds', values: [2] }],
  script: [
    { act: 'wait', ms: 3_000 },
    { act: 'await', what: 'inSync', withinMs: 10_000 },
    { act: 'crash', who: 'leader', as: 'lost' },
    { act: 'await', what: 'led', withinMs: 5_000 },
    { act: 'await', what: 'acknowledged', withinMs: 5_000 },
    { act: 'wait', ms: 8_000 },
    { act: 'await', what: 'acknowledged', withinMs: 2_000 },
    { act: 'start', as: 'lost' },
    { act: 'await', what: 'inSync', withinMs: 10_000 },
    { act: 'await', what: 'preferred', withinMs: 15_000 },
    { act: 'await', what: 'acknowledged', withinMs: 2_000 },
  ],
  troubles: [
    { family: 'reset', every: [2_000, 8_000] },
    { family: 'clientCrash', every: [8_000, 20_000] },
  ],
};
