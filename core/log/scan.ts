/**
 * Walking the batches in a piece of a segment's file, and finding the next sound one behind damage.
 *
 * Nothing in the bytes is believed before its checksum holds, and offsets must follow each other without a gap, since
 * neither the base offset nor the length nor the leader epoch is under the checksum. Pure functions over bytes.
 */
import * as batch from '../protocol/batch.ts';
import { isCodec } from '../protocol/compression.ts';

/** Where a batch stands: whole and sound; not whole in these bytes; or not a batch that belongs here. */
export type Sight = 'sound' | 'short' | 'bad';

/** What a batch must be to follow the one before. */
export interface Expected {
  /** Its base offset; -1 when any will do. */
  readonly offset: number;
  /** Its last offset must be below this. */
  readonly offsetMax: number;
  /** Its leader epoch is at least this. */
  readonly epochMin: number;
  /** It ends at or before this position, counted like `at`. */
  readonly end: number;
}

/** Judges the batch at `at` by its header alone; `view` may end within it ('short'). */
export function sightHeader(view: DataView, at: number, expected: Expected): Sight {
  const left = view.byteLength - at;
  if (left < batch.BATCH_HEADER_BYTES) return expected.end - at < batch.BATCH_HEADER_BYTES ? 'bad' : 'short';
  const size = batch.batchSizeBytes(view, at);
  if (size < batch.BATCH_HEADER_BYTES || size > expected.end - at) return 'bad';
  if (batch.magic(view, at) !== batch.MAGIC || !isCodec(batch.codecId(view, at))) return 'bad';
  const base = batch.baseOffset(view, at);
  const delta = batch.lastOffsetDelta(view, at);
  const count = batch.recordsCount(view, at);
  if (delta < 0 || count < 0 || count > delta + 1) return 'bad';
  if (expected.offset >= 0 ? base !== expected.offset : base < 0) return 'bad';
  if (base + delta >= expected.offsetMax || !Number.isSafeInteger(base)) return 'bad';
  if (batch.leaderEpoch(view, at) < expected.epochMin) return 'bad';
  return size > left ? 'short' : 'sound';
}

/** Judges the batch at `at` by header and checksum. */
export function sightBatch(
  bytes: Uint8Array,
  view: DataView,
  at: number,
  expected: Expected,
  crc32c: batch.Crc32c,
): Sight {
  const sight = sightHeader(view, at, expected);
  if (sight !== 'sound') return sight;
  return batch.crcHolds(bytes, view, at, crc32c) ? 'sound' : 'bad';
}

/** Where the next plausible batch begins at or after `from`; -1 when none can begin before the last header's worth. */
export function nextPlausible(
  bytes: Uint8Array,
  view: DataView,
  from: number,
  expected: Expected,
  offsetMin: number,
): number {
  const last = bytes.length - batch.BATCH_HEADER_BYTES;
  for (let at = from; at <= last; at++) {
    if (bytes[at + batch.MAGIC_AT] !== batch.MAGIC) continue;
    if (sightHeader(view, at, expected) === 'bad') continue;
    if (batch.baseOffset(view, at) >= offsetMin) return at;
  }
  return -1;
}
