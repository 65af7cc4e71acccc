/**
 * Records inside a batch: built by clients and brokers that write, walked by clients, coordinators and tests.
 *
 * Not for the produce and fetch path of a broker, which trusts headers and never looks inside. Keys and values are
 * views of the (inflated) batch. A batch's records count offsets and times as deltas from its header; here they
 * are whole numbers again. Malformed records raise ProtocolError. No state.
 */
import { crc32c } from '../lib/crc32c.ts';
import { Reader } from '../lib/cursor.ts';
import { ProtocolError } from '../lib/protocol-error.ts';
import { utf8Size } from '../lib/utf8.ts';
import { varintSize, varlongSize } from '../lib/varint.ts';
import { Writer } from '../lib/writer.ts';
import * as batch from './batch.ts';
import { CODEC_NONE, type Codec, type Codecs, DECOMPRESSED_MAX, isCodec } from './compression.ts';

/** A named value beside a record. */
export interface RecordHeader {
  readonly key: string;
  readonly value: Uint8Array | null;
}

/** A record as it is read. */
export interface LogRecord {
  readonly offset: number;
  /** Ms since 1970; the broker's time in a batch that it stamped; -1 for none. */
  readonly timestampMs: number;
  /** A view; null where there is none. */
  readonly key: Uint8Array | null;
  /** A view; null deletes the key in a compacted topic. */
  readonly value: Uint8Array | null;
  readonly headers: readonly RecordHeader[];
}

/** A record to be written. */
export interface RecordInput {
  readonly timestampMs: number;
  readonly key: Uint8Array | null;
  readonly value: Uint8Array | null;
  readonly headers?: readonly RecordHeader[];
  /** Its offset less the base offset; its place in the list if absent. Ascending. */
  readonly offsetDelta?: number;
}

/** What a batch holds beside its records; whatever is left out means "none". */
export interface BatchOptions {
  readonly baseOffset?: number;
  readonly leaderEpoch?: number;
  readonly codec?: Codec;
  /** Needed if `codec` is given. */
  readonly codecs?: Codecs;
  /** The codec's own scale. */
  readonly level?: number;
  readonly isLogAppendTime?: boolean;
  readonly isTransactional?: boolean;
  readonly isControl?: boolean;
  readonly producerId?: number;
  readonly producerEpoch?: number;
  readonly baseSequence?: number;
  /** The offset delta of the last record if records after it have been compacted away. */
  readonly lastOffsetDelta?: number;
}

const NO_HEADERS: readonly RecordHeader[] = [];

/** Bytes of a record after its own length. */
function bodySize(record: RecordInput, offsetDelta: number, timestampDelta: number): number {
  let size = 1 + varlongSize(timestampDelta) + varintSize(offsetDelta);
  size += blobSize(record.key) + blobSize(record.value);
  const headers = record.headers ?? NO_HEADERS;
  size += varintSize(headers.length);
  for (const header of headers) {
    const keySize = utf8Size(header.key);
    size += varintSize(keySize) + keySize + blobSize(header.value);
  }
  return size;
}

function blobSize(bytes: Uint8Array | null): number {
  return bytes === null ? 1 : varintSize(bytes.length) + bytes.length;
}

function writeBlob(to: Writer, bytes: Uint8Array | null): void {
  if (bytes === null) {
    to.varint(-1);
  } else {
    to.varint(bytes.length);
    to.raw(bytes);
  }
}

function writeRecord(to: Writer, record: RecordInput, size: number, offsetDelta: number, timeDelta: number): void {
  to.varint(size);
  to.int8(0); // No attribute of a single record is in use.
  to.varlong(timeDelta);
  to.varint(offsetDelta);
  writeBlob(to, record.key);
  writeBlob(to, record.value);
  const headers = record.headers ?? NO_HEADERS;
  to.varint(headers.length);
  for (const header of headers) {
    to.varint(utf8Size(header.key));
    to.text(header.key);
    writeBlob(to, header.value);
  }
}

/** The records of a batch, uncompressed, without its header. The first timestamp is the base of all. */
function encodeRecords(records: readonly RecordInput[], baseTimestamp: number): Uint8Array {
  const sizes: number[] = [];
  let total = 0;
  for (const [index, record] of records.entries()) {
    const size = bodySize(record, record.offsetDelta ?? index, record.timestampMs - baseTimestamp);
    sizes.push(size);
    total += varintSize(size) + size;
  }
  const writer = new Writer(total);
  for (const [index, record] of records.entries()) {
    const timeDelta = record.timestampMs - baseTimestamp;
    writeRecord(writer, record, sizes[index] as number, record.offsetDelta ?? index, timeDelta);
  }
  return writer.bytes;
}

/** One batch of at least one record, with its checksum, in a buffer of its own. */
export function encodeBatch(records: readonly RecordInput[], options: BatchOptions = {}): Uint8Array {
  const first = records[0];
  if (first === undefined) throw new ProtocolError('badValue', 'a batch needs a record');
  let maxTimestamp = first.timestampMs;
  for (const record of records) maxTimestamp = Math.max(maxTimestamp, record.timestampMs);
  let body = encodeRecords(records, first.timestampMs);
  const codec = options.codec ?? CODEC_NONE;
  if (codec !== CODEC_NONE) {
    if (options.codecs === undefined) throw new ProtocolError('unsupported', 'a codec was named but none was lent');
    body = options.codecs.compress(codec, body, options.level);
  }
  const lastDelta = records[records.length - 1]?.offsetDelta ?? records.length - 1;
  const writer = new Writer(batch.BATCH_HEADER_BYTES + body.length);
  writer.int64(options.baseOffset ?? 0);
  writer.int32(batch.BATCH_HEADER_BYTES - batch.BATCH_OVERHEAD_BYTES + body.length);
  writer.int32(options.leaderEpoch ?? -1);
  writer.int8(batch.MAGIC);
  writer.int32(0); // The checksum, below.
  writer.int16(attributesOf(codec, options));
  writer.int32(options.lastOffsetDelta ?? lastDelta);
  writer.int64(first.timestampMs);
  writer.int64(maxTimestamp);
  writer.int64(options.producerId ?? -1);
  writer.int16(options.producerEpoch ?? -1);
  writer.int32(options.baseSequence ?? -1);
  writer.int32(records.length);
  writer.raw(body);
  writer.patchInt32(batch.CRC_AT, crc32c(writer.bytes, batch.ATTRIBUTES_AT) | 0);
  return writer.bytes;
}

function attributesOf(codec: Codec, options: BatchOptions): number {
  let bits: number = codec;
  if (options.isLogAppendTime === true) bits |= 1 << 3;
  if (options.isTransactional === true) bits |= 1 << 4;
  if (options.isControl === true) bits |= 1 << 5;
  return bits;
}

/** The plain bytes of a batch's records: a view, or the inflated bytes. `bytes` is exactly one batch. */
export function plainRecords(bytes: Uint8Array, codecs: Codecs, bytesMax: number = DECOMPRESSED_MAX): Uint8Array {
  const codec = batch.codecId(batch.dataViewOf(bytes), 0);
  const body = bytes.subarray(batch.BATCH_HEADER_BYTES);
  if (codec === CODEC_NONE) return body;
  if (!isCodec(codec)) throw new ProtocolError('unsupported', 'a batch names a codec that does not exist');
  const plain = codecs.decompress(codec, body, bytesMax);
  if (plain === 'tooLarge') throw new ProtocolError('tooMany', 'a batch inflates to more than is allowed');
  if (plain === 'corrupt') throw new ProtocolError('badValue', 'the records of a batch cannot be inflated');
  return plain;
}

/** All records of one batch. Its checksum is not looked at; its count is. */
export function readRecords(bytes: Uint8Array, codecs: Codecs, bytesMax: number = DECOMPRESSED_MAX): LogRecord[] {
  const view = batch.dataViewOf(bytes);
  if (batch.batchEnd(view, 0, bytes.length) !== bytes.length || batch.magic(view, 0) !== batch.MAGIC) {
    throw new ProtocolError('badLength', 'the bytes are not exactly one batch of the current format');
  }
  const reader = new Reader(plainRecords(bytes, codecs, bytesMax));
  const count = batch.recordsCount(view, 0);
  const base = batch.baseOffset(view, 0);
  const stampMs = batch.isLogAppendTime(view, 0) ? batch.maxTimestamp(view, 0) : null;
  const baseMs = batch.baseTimestamp(view, 0);
  const records: LogRecord[] = [];
  for (let i = 0; i < count; i++) records.push(readRecord(reader, base, baseMs, stampMs));
  reader.finish();
  return records;
}

function readRecord(reader: Reader, base: number, baseMs: number, stampMs: number | null): LogRecord {
  const size = reader.varint();
  if (size < 0 || size > reader.left()) throw new ProtocolError('badLength', 'a record is longer than its batch');
  const end = reader.position + size;
  reader.int8();
  const timeDelta = reader.varlong();
  const offset = base + reader.varint();
  const key = readBlob(reader);
  const value = readBlob(reader);
  const headersCount = reader.varint();
  // A header takes two bytes at least.
  if (headersCount < 0 || headersCount * 2 > reader.left()) {
    throw new ProtocolError('badLength', 'a record claims more headers than it has bytes for');
  }
  const headers: RecordHeader[] = [];
  for (let i = 0; i < headersCount; i++) {
    const name = reader.text(reader.varint());
    headers.push({ key: name, value: readBlob(reader) });
  }
  if (reader.position !== end) throw new ProtocolError('badLength', 'a record is not as long as it says');
  return { offset, timestampMs: stampMs ?? baseMs + timeDelta, key, value, headers };
}

function readBlob(reader: Reader): Uint8Array | null {
  const size = reader.varint();
  return size < 0 ? null : reader.slice(size);
}
