/**
 * The header of a record batch (magic 2, KIP-98), read and rewritten in place of the bytes, never of the records.
 *
 * A batch is 61 bytes of header and its records, compressed as a whole or not. The checksum covers everything
 * from `attributes` on, so that a leader sets base offset and leader epoch without touching it. Bytes that came in
 * a frame are shared with retries and readers and are never changed: a leader appends 16 fresh bytes and a view
 * from byte 16, or, where it stamps its own time, 61 fresh bytes and a view of the records. No state.
 */
import { crc32c, crc32cExtend } from '../lib/crc32c.ts';
import { type Codec, isCodec } from './compression.ts';
import { ErrorCode } from './errors.ts';

/** Bytes from the start of a batch to its base offset: int64. */
export const BASE_OFFSET_AT = 0;
/** To the length of what follows this field: int32. */
export const BATCH_LENGTH_AT = 8;
/** To the epoch of the leader that appended the batch: int32. */
export const LEADER_EPOCH_AT = 12;
/** To the format's number: int8, 2. */
export const MAGIC_AT = 16;
/** To the CRC-32C of all from `ATTRIBUTES_AT` on: uint32. */
export const CRC_AT = 17;
/** To the attributes: int16. */
export const ATTRIBUTES_AT = 21;
/** To the offset of the last record less the base offset: int32. */
export const LAST_OFFSET_DELTA_AT = 23;
/** To the timestamp that the records' deltas count from: int64, ms since 1970. */
export const BASE_TIMESTAMP_AT = 27;
/** To the largest timestamp: int64, ms since 1970. */
export const MAX_TIMESTAMP_AT = 35;
/** To the producer's id, -1 for none: int64. */
export const PRODUCER_ID_AT = 43;
/** To the producer's epoch: int16. */
export const PRODUCER_EPOCH_AT = 51;
/** To the sequence number of the first record: int32. */
export const BASE_SEQUENCE_AT = 53;
/** To the number of records: int32. */
export const RECORDS_COUNT_AT = 57;
/** To the records; also the size of the header. */
export const BATCH_HEADER_BYTES = 61;
/** Bytes before those that the batch's length counts. */
export const BATCH_OVERHEAD_BYTES = 12;
/** Bytes that the leader writes anew: base offset, length, leader epoch. */
export const PREFIX_BYTES = 16;
/** The only format of today. */
export const MAGIC = 2;

const CODEC_MASK = 7;
const LOG_APPEND_TIME = 1 << 3;
const TRANSACTIONAL = 1 << 4;
const CONTROL = 1 << 5;
const TWO_32 = 4294967296;

function int64At(view: DataView, at: number): number {
  return view.getInt32(at) * TWO_32 + view.getUint32(at + 4);
}

/** A DataView over the same bytes. Costs an allocation: make one for each frame or chunk, not one a field. */
export function dataViewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Offset of the first record. All readers below take the position of the batch in `view`. */
export function baseOffset(view: DataView, at: number): number {
  return int64At(view, at + BASE_OFFSET_AT);
}
/** Bytes of the whole batch, header included. */
export function batchSizeBytes(view: DataView, at: number): number {
  return view.getInt32(at + BATCH_LENGTH_AT) + BATCH_OVERHEAD_BYTES;
}
/** Epoch of the leader that appended the batch. */
export function leaderEpoch(view: DataView, at: number): number {
  return view.getInt32(at + LEADER_EPOCH_AT);
}
/** The format's number. */
export function magic(view: DataView, at: number): number {
  return view.getInt8(at + MAGIC_AT);
}
/** The checksum that the batch claims, unsigned. */
function batchCrc(view: DataView, at: number): number {
  return view.getUint32(at + CRC_AT);
}
/** All attribute bits. */
export function attributes(view: DataView, at: number): number {
  return view.getInt16(at + ATTRIBUTES_AT);
}
/** The codec's id, which may be one that does not exist. */
export function codecId(view: DataView, at: number): number {
  return attributes(view, at) & CODEC_MASK;
}
/** Whether timestamps are the broker's: then `maxTimestamp` holds for every record. */
export function isLogAppendTime(view: DataView, at: number): boolean {
  return (attributes(view, at) & LOG_APPEND_TIME) !== 0;
}
/** Whether the batch belongs to a transaction. */
export function isTransactional(view: DataView, at: number): boolean {
  return (attributes(view, at) & TRANSACTIONAL) !== 0;
}
/** Whether the batch holds control records, which only brokers write. */
export function isControl(view: DataView, at: number): boolean {
  return (attributes(view, at) & CONTROL) !== 0;
}
/** Offset of the last record less the base offset. */
export function lastOffsetDelta(view: DataView, at: number): number {
  return view.getInt32(at + LAST_OFFSET_DELTA_AT);
}
/** Offset of the last record. */
export function lastOffset(view: DataView, at: number): number {
  return baseOffset(view, at) + lastOffsetDelta(view, at);
}
/** Offset that follows the batch. */
export function nextOffset(view: DataView, at: number): number {
  return lastOffset(view, at) + 1;
}
/** Timestamp that the deltas count from, ms. */
export function baseTimestamp(view: DataView, at: number): number {
  return int64At(view, at + BASE_TIMESTAMP_AT);
}
/** Largest timestamp, ms; -1 if the records have none. */
export function maxTimestamp(view: DataView, at: number): number {
  return int64At(view, at + MAX_TIMESTAMP_AT);
}
/** The producer's id; -1 if it is not idempotent. */
export function producerId(view: DataView, at: number): number {
  return int64At(view, at + PRODUCER_ID_AT);
}
/** The producer's epoch; -1 if it has none. */
export function producerEpoch(view: DataView, at: number): number {
  return view.getInt16(at + PRODUCER_EPOCH_AT);
}
/** Sequence number of the first record; -1 if it has none. */
export function baseSequence(view: DataView, at: number): number {
  return view.getInt32(at + BASE_SEQUENCE_AT);
}
/** Sequence number of the last record: numbers wrap to 0 after 2^31 - 1. */
export function lastSequence(view: DataView, at: number): number {
  const first = baseSequence(view, at);
  return first < 0 ? -1 : (first + lastOffsetDelta(view, at)) & 0x7fffffff;
}
/** The number of records. */
export function recordsCount(view: DataView, at: number): number {
  return view.getInt32(at + RECORDS_COUNT_AT);
}

/** What `batchEnd` answers where the bytes end inside the batch. */
export const BATCH_TRUNCATED = -1;
/** What `batchEnd` answers where the length makes no sense. */
export const BATCH_CORRUPT = -2;

/**
 * Where the batch at `at` ends, if it lies whole below `end` and its length is possible; else BATCH_TRUNCATED or
 * BATCH_CORRUPT. The way to walk a run of batches: every other reader needs a whole header below `at`.
 */
export function batchEnd(view: DataView, at: number, end: number): number {
  if (end - at < BATCH_OVERHEAD_BYTES) return BATCH_TRUNCATED;
  const size = batchSizeBytes(view, at);
  if (size < BATCH_HEADER_BYTES) return BATCH_CORRUPT;
  return size > end - at ? BATCH_TRUNCATED : at + size;
}

/** Computes CRC-32C of `bytes` from `start` to `end`, unsigned: `env.crc32c` or the one in core/lib. */
export type Crc32c = (bytes: Uint8Array, start?: number, end?: number) => number;

/** Whether the checksum of the whole batch at `at` holds. `view` covers the same bytes as `bytes`. */
export function crcHolds(bytes: Uint8Array, view: DataView, at: number, crcOf: Crc32c): boolean {
  return crcOf(bytes, at + ATTRIBUTES_AT, at + batchSizeBytes(view, at)) === batchCrc(view, at);
}

/**
 * Checks a batch by its header: length, format, checksum, codec, count, timestamps. Null if it is sound.
 *
 * `bytes` is exactly one batch. One that comes from a client must hold every offset up to its last and no control
 * records; one from a log may have lost records to compaction. Timestamps are for the log to judge.
 */
export function validateBatch(bytes: Uint8Array, origin: 'client' | 'log', crcOf: Crc32c): ErrorCode | null {
  const view = dataViewOf(bytes);
  const end = batchEnd(view, 0, bytes.length);
  // The format's number sits at the same place in the old formats, whose messages may be shorter than our header.
  if (bytes.length > MAGIC_AT && magic(view, 0) !== MAGIC) {
    const isOld = magic(view, 0) === 0 || magic(view, 0) === 1;
    return isOld && origin === 'client' ? ErrorCode.INVALID_RECORD : ErrorCode.CORRUPT_MESSAGE;
  }
  if (end !== bytes.length) return ErrorCode.CORRUPT_MESSAGE;
  if (!crcHolds(bytes, view, 0, crcOf)) return ErrorCode.CORRUPT_MESSAGE;
  const count = recordsCount(view, 0);
  const span = lastOffsetDelta(view, 0) + 1;
  if (!isCodec(codecId(view, 0)) || count < 0 || span < 1 || count > span) return ErrorCode.INVALID_RECORD;
  return origin === 'client' ? validateFromClient(view, count, span) : null;
}

function validateFromClient(view: DataView, count: number, span: number): ErrorCode | null {
  if (count !== span || isControl(view, 0)) return ErrorCode.INVALID_RECORD;
  if (producerId(view, 0) >= 0 && baseSequence(view, 0) < 0) return ErrorCode.INVALID_RECORD;
  return null;
}

/** The codec of a batch that `validateBatch` has passed. */
export function codecOf(view: DataView, at: number): Codec {
  return codecId(view, at) as Codec;
}

/** A copy with the client's own timestamps, the largest of which is `timeMs`, and a checksum that holds. */
export function withMaxTimestamp(bytes: Uint8Array, timeMs: number, crcOf: Crc32c): Uint8Array {
  const copy = bytes.slice();
  copy[ATTRIBUTES_AT + 1] = (copy[ATTRIBUTES_AT + 1] as number) & ~LOG_APPEND_TIME;
  putInt64(copy, MAX_TIMESTAMP_AT, timeMs);
  putInt32(copy, CRC_AT, crcOf(copy, ATTRIBUTES_AT) | 0);
  return copy;
}

/** Puts 32 bits into fresh bytes; without a DataView, which costs more than the rest of an append. */
function putInt32(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value >> 24;
  bytes[at + 1] = value >> 16;
  bytes[at + 2] = value >> 8;
  bytes[at + 3] = value;
}

function putInt64(bytes: Uint8Array, at: number, value: number): void {
  putInt32(bytes, at, Math.floor(value / TWO_32));
  putInt32(bytes, at + 4, value | 0);
}

/** A copy of the first `size` bytes with a new base offset and leader epoch. */
function freshHead(batch: Uint8Array, size: number, base: number, epoch: number): Uint8Array {
  const head = new Uint8Array(size);
  for (let i = BATCH_LENGTH_AT; i < size; i++) head[i] = batch[i] as number;
  putInt64(head, BASE_OFFSET_AT, base);
  putInt32(head, LEADER_EPOCH_AT, epoch);
  return head;
}

/**
 * The parts to append for a batch that keeps the client's timestamps: 16 fresh bytes with `base` and `epoch`, then
 * a view of all from byte 16. The checksum stays right.
 */
export function appendParts(batch: Uint8Array, base: number, epoch: number): [Uint8Array, Uint8Array] {
  return [freshHead(batch, PREFIX_BYTES, base, epoch), batch.subarray(PREFIX_BYTES)];
}

/**
 * The parts to append for a batch that is stamped with the broker's time: 61 fresh bytes with `base`, `epoch`,
 * `timeMs` and a new checksum, then a view of the records. The base timestamp stays, as the records' deltas do.
 */
export function appendTimeParts(
  batch: Uint8Array,
  base: number,
  epoch: number,
  timeMs: number,
): [Uint8Array, Uint8Array] {
  const head = freshHead(batch, BATCH_HEADER_BYTES, base, epoch);
  head[ATTRIBUTES_AT + 1] = (head[ATTRIBUTES_AT + 1] as number) | LOG_APPEND_TIME;
  putInt64(head, MAX_TIMESTAMP_AT, timeMs);
  const records = batch.subarray(BATCH_HEADER_BYTES);
  putInt32(head, CRC_AT, crc32cExtend(crc32c(head, ATTRIBUTES_AT), records) | 0);
  return [head, records];
}
