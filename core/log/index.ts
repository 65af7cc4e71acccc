/**
 * The two indexes of a segment, in Kafka's formats.
 *
 * `.index`: entries of 8 bytes, relative offset (int32) of the last record of a batch and the position (int32) where
 * that batch begins. `.timeindex`: entries of 12 bytes, the largest timestamp so far (int64) and the relative offset
 * (int32) of the last record of the batch that has it. Both ascend. Entries are collected in memory and appended to
 * the files in pieces; they are never needed for correctness, so a crash loses them and recovery builds them again.
 * A reader never believes an entry: whatever it finds there is checked against the batch itself.
 */
import { dataViewOf } from '../protocol/batch.ts';
import type { IndexTail, Segment } from './state.ts';

/** Bytes of an entry of the offset index. */
export const INDEX_ENTRY_BYTES = 8;
/** Bytes of an entry of the time index. */
export const TIME_ENTRY_BYTES = 12;
/** Entries that are collected before they are appended to their file. */
export const TAIL_ENTRIES_MAX = 256;

const TWO_32 = 4294967296;

/** Notes a batch that was appended at `position`; adds entries where they are due. */
export function indexBatch(
  segment: Segment,
  lastOffset: number,
  maxTimestampMs: number,
  position: number,
  sizeBytes: number,
  intervalBytes: number,
): void {
  if (segment.firstTimestampMs === -1 && position === 0) segment.firstTimestampMs = maxTimestampMs;
  if (maxTimestampMs > segment.maxTimestampMs) {
    segment.maxTimestampMs = maxTimestampMs;
    segment.maxTimestampOffset = lastOffset;
  }
  if (segment.sinceIndexBytes > intervalBytes && !segment.isIndexBroken) {
    tailOf(segment).offsets.push(lastOffset, position);
    addTimeEntry(segment);
    segment.sinceIndexBytes = 0;
  }
  segment.sinceIndexBytes += sizeBytes;
}

/** Adds a time index entry if the largest timestamp has moved since the last one. The last one of a sealed segment. */
export function addTimeEntry(segment: Segment): void {
  if (segment.maxTimestampMs <= segment.lastTimeMs || segment.isIndexBroken) return;
  tailOf(segment).times.push(segment.maxTimestampMs, segment.maxTimestampOffset);
  segment.lastTimeMs = segment.maxTimestampMs;
}

function tailOf(segment: Segment): IndexTail {
  segment.tail ??= { offsets: [], times: [] };
  return segment.tail;
}

/** Entries of the offset index, in the file and in memory. */
export function indexEntries(segment: Segment): number {
  return segment.indexCount + (segment.tail === null ? 0 : segment.tail.offsets.length / 2);
}

/** Entries of the time index, in the file and in memory. */
export function timeEntries(segment: Segment): number {
  return segment.timeCount + (segment.tail === null ? 0 : segment.tail.times.length / 2);
}

/** The bytes of collected offset entries. */
export function encodeOffsets(base: number, offsets: readonly number[]): Uint8Array {
  const bytes = new Uint8Array((offsets.length / 2) * INDEX_ENTRY_BYTES);
  const view = dataViewOf(bytes);
  for (let i = 0, at = 0; i < offsets.length; i += 2, at += INDEX_ENTRY_BYTES) {
    view.setInt32(at, (offsets[i] as number) - base);
    view.setInt32(at + 4, offsets[i + 1] as number);
  }
  return bytes;
}

/** The bytes of collected time entries. */
export function encodeTimes(base: number, times: readonly number[]): Uint8Array {
  const bytes = new Uint8Array((times.length / 2) * TIME_ENTRY_BYTES);
  const view = dataViewOf(bytes);
  for (let i = 0, at = 0; i < times.length; i += 2, at += TIME_ENTRY_BYTES) {
    const timestamp = times[i] as number;
    view.setInt32(at, Math.floor(timestamp / TWO_32));
    view.setInt32(at + 4, timestamp);
    view.setInt32(at + 8, (times[i + 1] as number) - base);
  }
  return bytes;
}

/** One entry of either index: `key` is a timestamp or an offset, `value` an offset or a position. */
export interface IndexEntry {
  readonly key: number;
  readonly value: number;
}

/** Entry `i` of bytes of an offset index. */
export function offsetEntry(view: DataView, i: number, base: number): IndexEntry {
  const at = i * INDEX_ENTRY_BYTES;
  return { key: base + view.getInt32(at), value: view.getInt32(at + 4) };
}

/** Entry `i` of bytes of a time index. */
export function timeEntry(view: DataView, i: number, base: number): IndexEntry {
  const at = i * TIME_ENTRY_BYTES;
  return { key: view.getInt32(at) * TWO_32 + view.getUint32(at + 4), value: base + view.getInt32(at + 8) };
}

/** Index of the last pair in a collected tail whose key is at or below `key`; -1 when there is none. */
export function searchTail(pairs: readonly number[], key: number): number {
  let low = 0;
  let high = pairs.length / 2;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((pairs[middle * 2] as number) <= key) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
