/** Each of three nodes is stopped as an operator stops it, and started, one after the other. */
import type { Scenario } from '../runtime-sim/scenario.ts';
import { SMALL_FILES, STEADY_LOAD_ON_THREE, THREE_NODES } from './parts.ts';

/** A rolling restart. */
export const ROLLING_RESTART: Scenario = {
  name: 'rolling-restart',
  proves: 'Leadership is handed over before a node goes, and every node is in sync before the next one goes.',
  durationMs: 60_000,
  weight: 1,
  cluster: THREE_NODES,
  workload: STEADY_LOAD_ON_THREE,
  settings: SMALL_FILES,
  script: [
    { act: 'wait', ms: 2_000 },
    { act: 'stop', who: 1, as: 'first' },
    { act: 'await', what: 'led', withinMs: 5_000 },
    { act: 'await', what: 'acknowledged', withinMs: 2_000 },
    { act: 'wait', ms: 1_000 },
    { act: 'start', as: 'first' },
    { act: 'await', what: 'inSync', withinMs: 15_000 },
    { act: 'stop', who: 2, as: 'second' },
    { act: 'await', what: 'led', withinMs: 5_000 },
    { act: 'await', what: 'acknowledged', withinMs: 2_000 },
    { act: 'wait', ms: 1_000 },
    { act: 'start', as: 'second' },
    { act: 'await', what: 'inSync', withinMs: 15_000 },
    { act: 'stop', who: 3, as: 'third' },
    { act: 'await', what: 'led', withinMs: 5_000 },
    { act: 'await', what: 'acknowledged', withinMs: 2_000 },
    { act: 'wait', ms: 1_000 },
    { act: 'start', as: 'third' },
    { act: 'await', what: 'inSync', withinMs: 15_000 },
  ],
  troubles: [{ family: 'reset', every: [4_000, 12_000] }],
};
