/**
 * Producer state in a file `<offset>.snapshot`: the state just before that offset, in Kafka's format (schema
 * ProducerSnapshot, version 1).
 *
 * Kafka's format keeps one batch a producer, so that after a restart a retry of an earlier one in flight would be
 * refused as out of order, and its client would write it twice under a new epoch. Therefore the earlier kept
 * batches follow behind Kafka's fields, under the same checksum; Kafka reads its own part and ignores what
 * follows. A file whose checksum does not hold counts as absent.
 */
import { Reader } from '../lib/cursor.ts';
import { Writer } from '../lib/writer.ts';
import { BATCHES_KEPT_MAX, type Producer, type ProducerBatch } from './producers.ts';

const VERSION = 1;
const CRC_AT = 2;
const ENTRIES_AT = 6; // The checksum covers all from here on.
const ENTRY_BYTES = 8 + 2 + 4 + 8 + 4 + 8 + 4 + 8;
const HISTORY_MAGIC = 0x544d3031; // "TM01", then what Kafka does not keep.
const HISTORY_BATCH_BYTES = 4 + 4 + 8 + 8 + 8;

/** Computes CRC-32C, unsigned. */
type Crc32c = (bytes: Uint8Array, start?: number, end?: number) => number;

/** The bytes of a snapshot file. */
export function encodeSnapshot(producers: ReadonlyMap<number, Producer> | null, crc32c: Crc32c): Uint8Array {
  const entries = producers === null ? [] : [...producers];
  let size = ENTRIES_AT + 4 + entries.length * ENTRY_BYTES + 4;
  for (const [, producer] of entries) size += 8 + 4 + earlierOf(producer).length * HISTORY_BATCH_BYTES;
  const writer = new Writer(size);
  writer.int16(VERSION);
  writer.uint32(0);
  writer.int32(entries.length);
  for (const [producerId, producer] of entries) writeEntry(writer, producerId, producer);
  writer.uint32(HISTORY_MAGIC);
  for (const [, producer] of entries) writeHistory(writer, producer);
  writer.patchInt32(CRC_AT, crc32c(writer.bytes, ENTRIES_AT, size) | 0);
  return writer.bytes;
}

function earlierOf(producer: Producer): readonly ProducerBatch[] {
  return producer.batches.slice(0, -1);
}

function writeEntry(writer: Writer, producerId: number, producer: Producer): void {
  const last = producer.batches[producer.batches.length - 1];
  writer.int64(producerId);
  writer.int16(producer.epoch);
  writer.int32(producer.lastSequence);
  writer.int64(last === undefined ? -1 : last.lastOffset);
  writer.int32(last === undefined ? 0 : last.lastOffset - last.baseOffset);
  writer.int64(last === undefined ? -1 : last.timestampMs);
  writer.int32(producer.coordinatorEpoch);
  writer.int64(producer.transactionFirstOffset);
}

function writeHistory(writer: Writer, producer: Producer): void {
  const earlier = earlierOf(producer);
  writer.int64(producer.knownRecords);
  writer.int32(earlier.length);
  for (const batch of earlier) {
    writer.int32(batch.firstSequence);
    writer.int32(batch.lastSequence);
    writer.int64(batch.baseOffset);
    writer.int64(batch.lastOffset);
    writer.int64(batch.timestampMs);
  }
}

/** The producers of a snapshot file, or null if it is broken. What it says of use counts from `nowMs`. */
export function decodeSnapshot(bytes: Uint8Array, crc32c: Crc32c, nowMs: number): Map<number, Producer> | null {
  if (bytes.length < ENTRIES_AT + 4) return null;
  const reader = new Reader(bytes);
  if (reader.int16() !== VERSION || reader.uint32() !== crc32c(bytes, ENTRIES_AT, bytes.length)) return null;
  const count = reader.int32();
  if (count < 0 || count > Math.floor(reader.left() / ENTRY_BYTES)) return null;
  const entries: [number, Producer][] = [];
  for (let i = 0; i < count; i++) entries.push(readEntry(reader, nowMs));
  if (reader.left() < 4 || reader.uint32() !== HISTORY_MAGIC) return new Map(entries);
  for (const entry of entries) {
    const producer = readHistory(reader, entry[1]);
    if (producer === null) return null;
    entry[1] = producer;
  }
  return new Map(entries);
}

function readEntry(reader: Reader, nowMs: number): [number, Producer] {
  const producerId = reader.int64();
  const epoch = reader.int16();
  const lastSequence = reader.int32();
  const lastOffset = reader.int64();
  const offsetDelta = reader.int32();
  const timestampMs = reader.timestamp();
  const coordinatorEpoch = reader.int32();
  const transactionFirstOffset = reader.int64();
  const batches: ProducerBatch[] = [];
  if (lastOffset >= 0 && lastSequence >= 0) {
    const firstSequence = (lastSequence - offsetDelta) & 0x7fffffff;
    batches.push({ firstSequence, lastSequence, baseOffset: lastOffset - offsetDelta, lastOffset, timestampMs });
  }
  const knownRecords = batches.length === 0 ? 0 : offsetDelta + 1;
  const producer = { epoch, lastSequence, batches, knownRecords, usedAtMs: nowMs };
  return [producerId, { ...producer, coordinatorEpoch, transactionFirstOffset, earlier: null }];
}

function readHistory(reader: Reader, producer: Producer): Producer | null {
  if (reader.left() < 12) return null;
  const knownRecords = reader.int64();
  const count = reader.int32();
  if (count < 0 || count >= BATCHES_KEPT_MAX || count * HISTORY_BATCH_BYTES > reader.left()) return null;
  const batches: ProducerBatch[] = [];
  for (let i = 0; i < count; i++) {
    const firstSequence = reader.int32();
    const lastSequence = reader.int32();
    const baseOffset = reader.int64();
    const lastOffset = reader.int64();
    batches.push({ firstSequence, lastSequence, baseOffset, lastOffset, timestampMs: reader.timestamp() });
  }
  return { ...producer, knownRecords, batches: [...batches, ...producer.batches] };
}
