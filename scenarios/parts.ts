/** Pieces that several scenarios share. Data only. */
import type { SettingChoice, WorkloadRange } from '../runtime-sim/scenario.ts';

/** Three or so processes that keep a node busy without drowning it: some 2,000 batches in a minute. */
export const STEADY_LOAD: WorkloadRange = {
  producers: [2, 4],
  partitions: [1, 3],
  idempotentPercent: 70,
  acks: [-1, -1, 1, 0],
  everyMs: [40, 90],
  burstMax: [1, 6],
  valueBytesMax: [8, 700],
  codecs: [0, 0, 0, 0, 0, 0, 0, 1, 2, 4],
};

/** The settings that decide how files are cut, small enough that a minute sees everything roll. */
export const SMALL_FILES: readonly SettingChoice[] = [
  { name: 'log.segment.bytes', values: [8_192, 32_768, 131_072, 1_048_576] },
  { name: 'log.index.interval.bytes', values: [256, 1_024, 4_096] },
  { name: 'tidemark.ring.partition.max.bytes', values: [0, 4_096, 65_536, 1_048_576] },
  { name: 'replica.high.watermark.checkpoint.interval.ms', values: [100, 1_000, 5_000] },
];
