/**
 * The log under a coordinator of groups: a partition that this node leads. Entries become batches of our own, which no
 * producer is named for, under the leader's epoch; they are committed as any batch that all replicas in sync must have.
 * No state of its own.
 */
import type { Journal } from '../../coordination/coordinator.ts';
import type { Place } from '../../coordination/machine.ts';
import { RECORD_OVERHEAD_BYTES_MAX } from '../../group/records.ts';
import { assert } from '../../lib/assert.ts';
import type { Env, Outbox } from '../../lib/world.ts';
import { roomOfLog } from '../../log/log.ts';
import { BATCH_HEADER_BYTES } from '../../protocol/batch.ts';
import { ErrorCode } from '../../protocol/errors.ts';
import type { KeyedBytes } from '../../protocol/group-records.ts';
import { encodeBatch } from '../../protocol/records.ts';
import { APPENDS_MAX, appendOwnToLeader, isShort } from '../../replication/leader.ts';
import { touch } from '../partitions/partitions.ts';
import type { Node, Partition } from '../state.ts';

/** Bytes of a key and its value. */
export function entryBytes({ key, value }: KeyedBytes): number {
  return key.length + (value?.length ?? 0);
}

function batchBytes(entries: readonly KeyedBytes[]): number {
  let sizeBytes = BATCH_HEADER_BYTES;
  for (const entry of entries) sizeBytes += entryBytes(entry) + RECORD_OVERHEAD_BYTES_MAX;
  return sizeBytes;
}

/** The largest batch that the log of a partition takes, bytes. */
export function batchBytesMaxOf({ log }: Partition): number {
  return Math.min(log.config.messageBytesMax, log.config.segmentBytes);
}

/** The largest record that it takes, key and value, bytes. */
export function recordBytesMaxOf(partition: Partition): number {
  return Math.max(0, batchBytesMaxOf(partition) - BATCH_HEADER_BYTES - RECORD_OVERHEAD_BYTES_MAX);
}

/** How many batches a partition takes now: none while it is not led, or too few replicas are in sync. */
export function roomOf({ leader, log }: Partition): number {
  if (leader.epoch < 0 || isShort(leader)) return 0;
  return Math.min(roomOfLog(log), APPENDS_MAX - leader.appends.size);
}

/** The log of a partition, as its coordinator has it. */
export function journalOf(node: Node, env: Env, partition: Partition, out: Outbox): Journal<KeyedBytes> {
  const { leader, log } = partition;
  return {
    end: log.end,
    highWatermark: leader.highWatermark,
    room: roomOf(partition),
    batchBytesMax: batchBytesMaxOf(partition),
    sizeBytes: batchBytes,
    entryBytes,
    append: (entries) => append(node, env, partition, entries, out),
  };
}

function append(node: Node, env: Env, partition: Partition, entries: readonly KeyedBytes[], out: Outbox): Place {
  const { leader } = partition;
  const timestampMs = env.wallMs;
  const bytes = encodeBatch(
    entries.map(({ key, value }) => ({ timestampMs, key, value })),
    { leaderEpoch: leader.epoch },
  );
  const { error, baseOffset, nextOffset } = appendOwnToLeader(leader, env, bytes, out);
  assert(error === ErrorCode.NONE, 'a log with room takes a batch of our own');
  if (leader.inSync !== null) partition.appendedBytes += bytes.length;
  touch(node, partition);
  return { baseOffset, nextOffset, leaderEpoch: leader.epoch, timestampMs };
}
