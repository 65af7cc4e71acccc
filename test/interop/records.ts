/**
 * The records that every client of the matrix writes and some other client reads: keys, values and headers that are
 * absent, empty, short, and values near a broker's limit. They are written once into a file that little programs in
 * every language can read, and summed by a digest that they can compute.
 *
 * In the file a record is key, value, number of headers, then name and value of each: four bytes of length, big-endian,
 * -1 for null, then the bytes. The digest is SHA-256 over the offset of each record (eight bytes) and the record as the
 * file has it. What no client or not every client can say is left out: null header values, two headers of one name, a
 * record with neither key nor value.
 */
import { createHash } from 'node:crypto';
import seedrandom from 'seedrandom';

/** A record as clients see it. Header names are in order, as some clients keep them in sorted maps. */
export interface PlainRecord {
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: readonly (readonly [name: string, value: Buffer | null])[];
}

/** What a reader says that it read. */
export interface Reading {
  readonly count: number;
  /** SHA-256, hexadecimal. */
  readonly digest: string;
}

/** Bytes of the large values; Kafka's limit for a batch is 1,048,588. */
const LARGE_BYTES = 900_000;
const LARGE_EVERY = 1000;

/** Makes `count` records, the same each time. */
export function makeRecords(count: number): PlainRecord[] {
  const random = seedrandom('the matrix');
  const noise = Buffer.alloc(LARGE_BYTES / 2);
  for (let index = 0; index + 4 <= noise.length; index += 4) noise.writeInt32LE(random.int32(), index);
  return Array.from({ length: count }, (_, number) => ({
    key: keyAt(number),
    value: valueAt(number, noise),
    headers: headersAt(number),
  }));
}

/** The bytes of the file that the programs read. */
export function encodeRecords(records: readonly PlainRecord[]): Buffer {
  return Buffer.concat(records.map(encodeRecord));
}

/** What a reader must say of records that lie at offsets from 0 on. */
export function readingOf(records: readonly PlainRecord[]): Reading {
  const hash = createHash('sha256');
  for (const [index, record] of records.entries()) {
    const offset = Buffer.alloc(8);
    offset.writeBigInt64BE(BigInt(index));
    hash.update(offset).update(encodeRecord(record));
  }
  return { count: records.length, digest: hash.digest('hex') };
}

/** The records as a client sees them that takes what is empty for null. */
export function withoutEmpty(records: readonly PlainRecord[]): PlainRecord[] {
  const full = (bytes: Buffer | null): Buffer | null => (bytes?.length === 0 ? null : bytes);
  return records.map(({ key, value, headers }) => ({
    key: full(key),
    value: full(value),
    headers: headers.map(([name, content]) => [name, full(content)] as const),
  }));
}

function keyAt(number: number): Buffer | null {
  if (number % 10 === 3) return null;
  if (number % 10 === 4) return Buffer.alloc(0);
  return Buffer.from(`schlüssel ${number}`);
}

/** Half of a large value does not shrink, half does. */
function valueAt(number: number, noise: Buffer): Buffer | null {
  if (number % LARGE_EVERY === LARGE_EVERY - 1)
    return Buffer.concat([noise, Buffer.alloc(LARGE_BYTES / 2, `${number} `)]);
  if (number % 10 === 5) return null;
  if (number % 10 === 6) return Buffer.alloc(0);
  const from = (number * 37) % (noise.length - 100);
  return Buffer.concat([Buffer.from(`value ${number} `.repeat(1 + (number % 5))), noise.subarray(from, from + 60)]);
}

function headersAt(number: number): PlainRecord['headers'] {
  const all = [
    ['a', Buffer.from(`of ${number}`)],
    ['empty', Buffer.alloc(0)],
    ['größe', Buffer.from('größer')],
  ] as const;
  return all.slice(0, number % 4);
}

function encodeRecord({ key, value, headers }: PlainRecord): Buffer {
  const fields = headers.flatMap(([name, content]) => [...encodeBytes(Buffer.from(name)), ...encodeBytes(content)]);
  return Buffer.concat([...encodeBytes(key), ...encodeBytes(value), encodeInteger(headers.length), ...fields]);
}

function encodeBytes(bytes: Buffer | null): Buffer[] {
  return bytes === null ? [encodeInteger(-1)] : [encodeInteger(bytes.length), bytes];
}

function encodeInteger(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

/** What kcat is asked to print of a record so that `readingOfKcat` can read it. */
export const KCAT_FORMAT = '%o %K %S %h\\n%k%s';

/** Reads what kcat printed. Header values must be text without commas. */
export function readingOfKcat(printed: Buffer): Reading {
  const hash = createHash('sha256');
  let count = 0;
  let at = 0;
  while (at < printed.length) {
    const end = printed.indexOf(0x0a, at);
    const line = printed.toString('utf8', at, end);
    const [, offset = '', keyBytes = '', valueBytes = '', headers = ''] =
      /^(\d+) (-?\d+) (-?\d+) (.*)$/.exec(line) ?? [];
    at = end + 1;
    const take = (size: number): Buffer | null => {
      if (size < 0) return null;
      at += size;
      return printed.subarray(at - size, at);
    };
    const number = Buffer.alloc(8);
    number.writeBigInt64BE(BigInt(offset));
    const [key, value] = [take(Number(keyBytes)), take(Number(valueBytes))];
    const pairs = headers === '' ? [] : headers.split(',').map((pair) => pair.split('='));
    const fields = pairs.map(([name = '', content = '']) => [name, Buffer.from(content)] as const);
    hash.update(number).update(encodeRecord({ key, value, headers: fields }));
    count++;
  }
  return { count, digest: hash.digest('hex') };
}
