/** Segments roll all the time, by size, time and full index, while the node is stopped, killed and started. */
import type { Scenario } from '../runtime-sim/scenario.ts';
import { STEADY_LOAD } from './parts.ts';

/** Roll and restart. */
export const ROLL_AND_RESTART: Scenario = {
  name: 'roll-and-restart',
  proves: 'A log of hundreds of segments is found again whole, with its producers, after any kind of stop.',
  durationMs: 60_000,
  weight: 3,
  workload: STEADY_LOAD,
  settings: [
    { name: 'log.segment.bytes', values: [6_144, 16_384, 1_048_576] },
    { name: 'log.roll.ms', values: [700, 3_000, Number.POSITIVE_INFINITY] },
    { name: 'log.index.size.max.bytes', values: [64, 256, 10_485_760] },
    { name: 'log.index.interval.bytes', values: [64, 512, 4_096] },
    { name: 'tidemark.ring.partition.max.bytes', values: [0, 4_096, 1_048_576] },
    { name: 'replica.high.watermark.checkpoint.interval.ms', values: [100, 1_000, 5_000] },
    { name: 'log.flush.offset.checkpoint.interval.ms', values: [100, 1_000, 60_000] },
  ],
  troubles: [
    { family: 'cleanStop', every: [3_000, 8_000], always: true },
    { family: 'crash', every: [4_000, 12_000] },
    { family: 'powerLoss', every: [4_000, 12_000] },
    { family: 'recoveryCrash', every: [10, 40] },
    { family: 'clockJump', every: [3_000, 10_000] },
    { family: 'slowDisk', every: [4_000, 12_000] },
  ],
};
