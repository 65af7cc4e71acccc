/** Checkpoints of the metadata are made every few records, and the log is cut under them all the time. */
import type { Scenario } from '../runtime-sim/scenario.ts';
import { BUSY_ADMINISTRATION, SMALL_FILES } from './parts.ts';

/** Snapshots, the log cut under them, and their loss. */
export const METADATA_SNAPSHOTS: Scenario = {
  name: 'metadata-snapshots',
  proves: 'The newest whole checkpoint and the log behind it are all that was acknowledged, whatever became of others.',
  durationMs: 60_000,
  weight: 4,
  workload: BUSY_ADMINISTRATION,
  settings: [
    ...SMALL_FILES,
    { name: 'metadata.log.max.record.bytes.between.snapshots', values: [100, 300, 1_000] },
    { name: 'metadata.log.max.snapshot.interval.ms', values: [300, 3_600_000] },
    { name: 'metadata.log.segment.bytes', values: [3_000, 8_000, 1_073_741_824] },
  ],
  troubles: [
    { family: 'powerLoss', every: [1_500, 6_000], always: true },
    { family: 'crash', every: [1_500, 6_000], always: true },
    { family: 'recoveryCrash', every: [20, 70] },
    { family: 'fullDisk', every: [4_000, 12_000] },
    { family: 'slowDisk', every: [4_000, 12_000] },
    { family: 'cleanStop', every: [4_000, 12_000] },
    { family: 'checkpointRot', every: [2_000, 8_000] },
    { family: 'clientCrash', every: [3_000, 10_000] },
  ],
};
