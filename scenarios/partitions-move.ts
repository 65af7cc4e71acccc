/** An operator moves partitions among five nodes while everything that may go wrong with them does. */
import type { Scenario } from '../runtime-sim/scenario.ts';
import {
  FIVE_NODES,
  MOVED_LOAD_ON_FIVE,
  QUICK_TURNS,
  SMALL_FILES,
  SMALL_LAGS,
  SMALL_METADATA,
  SWARM,
} from './parts.ts';

/** Moves in a swarm of troubles. */
export const PARTITIONS_MOVE: Scenario = {
  name: 'partitions-move',
  proves:
    'Wherever partitions are sent, and whoever dies on the way, what was acknowledged arrives, and nothing stays.',
  durationMs: 20_000,
  weight: 3,
  cluster: FIVE_NODES,
  workload: MOVED_LOAD_ON_FIVE,
  settings: [
    ...SMALL_FILES,
    ...SMALL_METADATA,
    ...SMALL_LAGS,
    { name: 'log.segment.delete.delay.ms', values: [0, 300, 60_000] },
    ...QUICK_TURNS,
  ],
  troubles: [
    ...SWARM,
    { family: 'clientCrash', every: [4_000, 15_000] },
    { family: 'standstill', every: [4_000, 15_000] },
    { family: 'standstill', every: [4_000, 15_000], on: 'controller' },
  ],
};
