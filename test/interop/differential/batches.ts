/** Record batches of every kind that a broker may be sent, most of them wrong in one place. */
import { crc32c } from '../../../core/lib/crc32c.ts';
import * as batch from '../../../core/protocol/batch.ts';
import { type BatchOptions, encodeBatch } from '../../../core/protocol/records.ts';
import { realCodecs } from '../../../runtime-real/codecs.ts';

/** The time of the records of one run: the same for both brokers. ms. */
export const NOW_MS = Date.now();

const codecs = realCodecs();

/** A sound batch of these values. */
export function sound(
  values: readonly string[] = ['a', 'b'],
  options: BatchOptions = {},
  timestampMs = NOW_MS,
): Uint8Array {
  const records = values.map((value, i) => ({ timestampMs: timestampMs + i, key: null, value: Buffer.from(value) }));
  return encodeBatch(records, { codecs, ...options });
}

/** The batch of an idempotent producer. */
export function idempotent(producerId: number, epoch: number, baseSequence: number, count = 2): Uint8Array {
  const values = Array.from({ length: count }, (_, i) => `v${i}`);
  return sound(values, { producerId, producerEpoch: epoch, baseSequence });
}

/** A copy in which `change` has been made, with a checksum that holds. */
export function changed(bytes: Uint8Array, change: (view: DataView) => void): Uint8Array {
  const copy = bytes.slice();
  const view = batch.dataViewOf(copy);
  change(view);
  view.setUint32(batch.CRC_AT, crc32c(copy, batch.ATTRIBUTES_AT));
  return copy;
}

/** Two values one behind the other. */
export function both(first: Uint8Array, second: Uint8Array): Uint8Array {
  return new Uint8Array(Buffer.concat([first, second]));
}

/** One message of the formats before record batches, with a checksum of no meaning. */
export function oldMessage(magic: 0 | 1): Uint8Array {
  const value = Buffer.from('old');
  const body = Buffer.alloc(4 + 1 + 1 + (magic === 1 ? 8 : 0) + 4 + 4 + value.length);
  body.writeInt8(magic, 4);
  const at = magic === 1 ? 14 : 6;
  body.writeInt32BE(-1, at);
  body.writeInt32BE(value.length, at + 4);
  value.copy(body, at + 8);
  const head = Buffer.alloc(12);
  head.writeInt32BE(body.length, 8);
  return new Uint8Array(Buffer.concat([head, body]));
}

/** Batches for which no producer's history matters, by what is odd about them. */
export const BATCHES: ReadonlyMap<string, () => Uint8Array | null> = new Map<string, () => Uint8Array | null>([
  ['sound', () => sound()],
  ['null records', () => null],
  ['empty records', () => new Uint8Array(0)],
  ['a piece of a header', () => sound().subarray(0, 10)],
  ['a header up to its format', () => sound().subarray(0, 17)],
  ['cut in its header', () => sound().subarray(0, 40)],
  ['cut in its records', () => sound().subarray(0, 65)],
  ['a header without its records', () => sound().subarray(0, 61)],
  ['two batches', () => both(sound(), sound())],
  ['a batch and a piece of another', () => both(sound(), sound().subarray(0, 20))],
  ['a batch and one byte', () => both(sound(), new Uint8Array(1))],
  ['a wrong checksum', () => spoilt(batch.CRC_AT)],
  ['a spoilt record', () => spoilt(-1)],
  ['magic 0', () => oldMessage(0)],
  ['magic 1', () => oldMessage(1)],
  ['magic 3', () => changed(sound(), (view) => view.setInt8(batch.MAGIC_AT, 3))],
  ['magic -1', () => changed(sound(), (view) => view.setInt8(batch.MAGIC_AT, -1))],
  ['magic 0 in a batch', () => changed(sound(), (view) => view.setInt8(batch.MAGIC_AT, 0))],
  ['a count too large', () => changed(sound(), (view) => view.setInt32(batch.RECORDS_COUNT_AT, 3))],
  ['a count too small', () => changed(sound(), (view) => view.setInt32(batch.RECORDS_COUNT_AT, 1))],
  ['a negative count', () => changed(sound(), (view) => view.setInt32(batch.RECORDS_COUNT_AT, -1))],
  ['count and span too large', () => spanned(3)],
  ['count and span too small', () => spanned(1)],
  ['no records', () => spanned(0)],
  ['no records in the count only', () => changed(sound(), (view) => view.setInt32(batch.RECORDS_COUNT_AT, 0))],
  ['a length too large', () => changed(sound(), (view) => view.setInt32(batch.BATCH_LENGTH_AT, 1000))],
  ['a length too small', () => changed(sound(), (view) => view.setInt32(batch.BATCH_LENGTH_AT, 20))],
  ['a length of 0', () => changed(sound(), (view) => view.setInt32(batch.BATCH_LENGTH_AT, 0))],
  ['a length below 0', () => changed(sound(), (view) => view.setInt32(batch.BATCH_LENGTH_AT, -1))],
  ['larger than message.max.bytes', () => sound(['x'.repeat(30_000)])],
  ['larger than message.max.bytes, wrong checksum', () => wrongLarge()],
  ['two hours ahead', () => sound(['a'], {}, NOW_MS + 7_200_000)],
  ['one year back', () => sound(['a'], {}, NOW_MS - 31_536_000_000)],
  ['timestamps of -1', () => sound(['a'], {}, -1)],
  ['timestamps of 0', () => sound(['a'], {}, 0)],
  ['timestamps below -1', () => sound(['a'], {}, -5)],
  ['a largest timestamp of -1', () => changed(sound(), (view) => view.setBigInt64(batch.MAX_TIMESTAMP_AT, -1n))],
  ['a largest timestamp below the base', () => largest(-1000)],
  ['a largest timestamp above all', () => largest(1000)],
  ['a largest timestamp too far ahead', () => largest(7_200_000)],
  ['a base offset of 5', () => sound(['a'], { baseOffset: 5 })],
  ['a base offset below 0', () => sound(['a'], { baseOffset: -1 })],
  ['a leader epoch of 7', () => sound(['a'], { leaderEpoch: 7 })],
  ['a control batch', () => sound(['a'], { isControl: true })],
  ['a transactional batch without a producer', () => sound(['a'], { isTransactional: true })],
  ['stamped by the client as by the log', () => sound(['a'], { isLogAppendTime: true })],
  ['a codec of 5', () => attributes(5)],
  ['a codec of 7', () => attributes(7)],
  ['an unknown attribute', () => attributes(1 << 9)],
  ['the attribute of a delete horizon', () => attributes(1 << 6)],
  ['gzip', () => sound(['a', 'b', 'c'], { codec: 1 })],
  ['snappy', () => sound(['a', 'b', 'c'], { codec: 2 })],
  ['lz4', () => sound(['a', 'b', 'c'], { codec: 3 })],
  ['zstd', () => sound(['a', 'b', 'c'], { codec: 4 })],
  ['plain records that say gzip', () => attributes(1)],
  ['plain records that say zstd', () => attributes(4)],
  ['a gap in the offsets', () => gapped()],
  ['a producer without a sequence', () => sound(['a'], { producerId: 9000, producerEpoch: 0 })],
  ['a producer without an epoch', () => sound(['a'], { producerId: 9001, baseSequence: 0 })],
  ['a sequence without a producer', () => sound(['a'], { baseSequence: 0 })],
]);

function spoilt(at: number): Uint8Array {
  const bytes = sound();
  const index = at < 0 ? bytes.length + at : at;
  bytes[index] = (bytes[index] ?? 0) ^ 1;
  return bytes;
}

function wrongLarge(): Uint8Array {
  const bytes = sound(['x'.repeat(30_000)]);
  bytes[1000] = 1;
  return bytes;
}

function spanned(count: number): Uint8Array {
  return changed(sound(), (view) => {
    view.setInt32(batch.RECORDS_COUNT_AT, count);
    view.setInt32(batch.LAST_OFFSET_DELTA_AT, count - 1);
  });
}

function largest(byMs: number): Uint8Array {
  return changed(sound(), (view) => view.setBigInt64(batch.MAX_TIMESTAMP_AT, BigInt(NOW_MS + byMs)));
}

function attributes(bits: number): Uint8Array {
  return changed(sound(), (view) => view.setInt16(batch.ATTRIBUTES_AT, bits));
}

function gapped(): Uint8Array {
  const records = [0, 2].map((offsetDelta) => ({
    timestampMs: NOW_MS,
    key: null,
    value: Buffer.from('g'),
    offsetDelta,
  }));
  return encodeBatch(records);
}
