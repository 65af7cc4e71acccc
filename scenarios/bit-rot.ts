/** Durable bits flip in logs, indexes and snapshots; the oracle knows where. */
import type { Scenario } from '../runtime-sim/scenario.ts';
import { SMALL_FILES, SMALL_METADATA, STEADY_LOAD } from './parts.ts';

/** Bit rot. Losses in a partition whose log has rotted are excused; a wrong value never is. */
export const BIT_ROT: Scenario = {
  name: 'bit-rot',
  proves: 'Rotten bytes are never served as records; a rotten index or snapshot costs nothing but time.',
  durationMs: 60_000,
  weight: 3,
  workload: STEADY_LOAD,
  settings: [...SMALL_FILES, { name: 'log.index.interval.bytes', values: [64, 256] }, ...SMALL_METADATA],
  troubles: [
    { family: 'rot', every: [6_000, 20_000] },
    { family: 'indexRot', every: [300, 1_200], always: true },
    { family: 'crash', every: [4_000, 12_000] },
    { family: 'powerLoss', every: [4_000, 12_000] },
    { family: 'cleanStop', every: [5_000, 15_000] },
    { family: 'checkpointRot', every: [3_000, 12_000] },
  ],
};
