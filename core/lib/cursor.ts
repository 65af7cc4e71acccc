/**
 * Reading Kafka's primitive types from a buffer: big-endian integers, varints, strings, bytes.
 *
 * A `Reader` never reads outside its view and never allocates for a length that the view cannot back: a frame of
 * n bytes costs at most a small multiple of n. Every fault is a ProtocolError. Integers of 64 bits are numbers:
 * beyond 2^53 they saturate, timestamps round to the nearest double instead. `writer.ts` is the other direction.
 */
import { ProtocolError } from './protocol-error.ts';
import { decodeUtf8Loosely } from './utf8.ts';
import { uuidFromBytes } from './uuid.ts';
import { unzigzag } from './varint.ts';

/** Elements in one array on the wire, at most; Kafka 4.4 has the same limit. */
export const ARRAY_ELEMENTS_MAX = 1_000_000;
/** Tagged fields in one section, at most; Kafka 4.4 has the same limit. */
export const TAGS_MAX = 10_000;

const TWO_32 = 4294967296;
const scratch = new DataView(new ArrayBuffer(8));
const SAFE_HIGH = 0x1fffff; // High half of the largest safe integer.

/** Raises 'truncated'; a function of its own so that the reading methods stay small enough to be inlined. */
function truncated(): never {
  throw new ProtocolError('truncated', 'the bytes end before the value does');
}

function badLength(): never {
  throw new ProtocolError('badLength', 'a length is negative or larger than what is left');
}

/**
 * A position in bytes that are read from front to back. Values that are bytes are views, never copies. Integers are
 * put together by hand: a DataView costs 100 ns a frame to make and saves nothing.
 */
export class Reader {
  readonly bytes: Uint8Array;
  /** The next byte to read, counted from the start of `bytes`. */
  position: number;
  /** Where reading must stop; at most `bytes.length`. */
  end: number;

  constructor(bytes: Uint8Array, position = 0, end: number = bytes.length) {
    this.bytes = bytes;
    this.position = position;
    this.end = end;
  }

  /** Bytes that have not been read. */
  left(): number {
    return this.end - this.position;
  }

  /** Claims `size` bytes and returns where they start. */
  take(size: number): number {
    const at = this.position;
    if (size > this.end - at) truncated();
    this.position = at + size;
    return at;
  }

  /** Four bytes that have been claimed, signed. */
  private wordAt(at: number): number {
    const bytes = this.bytes;
    const high = ((bytes[at] as number) << 24) | ((bytes[at + 1] as number) << 16);
    return high | ((bytes[at + 2] as number) << 8) | (bytes[at + 3] as number);
  }

  boolean(): boolean {
    return this.bytes[this.take(1)] !== 0;
  }

  int8(): number {
    return ((this.bytes[this.take(1)] as number) << 24) >> 24;
  }

  int16(): number {
    return (this.uint16() << 16) >> 16;
  }

  uint16(): number {
    const at = this.take(2);
    return ((this.bytes[at] as number) << 8) | (this.bytes[at + 1] as number);
  }

  int32(): number {
    return this.wordAt(this.take(4));
  }

  uint32(): number {
    return this.wordAt(this.take(4)) >>> 0;
  }

  /** A signed 64-bit integer; beyond 2^53 the nearest safe integer. */
  int64(): number {
    const at = this.take(8);
    const high = this.wordAt(at);
    if (high > SAFE_HIGH) return Number.MAX_SAFE_INTEGER;
    if (high < -SAFE_HIGH - 1) return Number.MIN_SAFE_INTEGER;
    return high * TWO_32 + (this.wordAt(at + 4) >>> 0);
  }

  /** A signed 64-bit integer of any size, rounded to the nearest double. */
  timestamp(): number {
    const at = this.take(8);
    return this.wordAt(at) * TWO_32 + (this.wordAt(at + 4) >>> 0);
  }

  float64(): number {
    const at = this.take(8);
    scratch.setInt32(0, this.wordAt(at));
    scratch.setInt32(4, this.wordAt(at + 4));
    return scratch.getFloat64(0);
  }

  uuid(): string {
    return uuidFromBytes(this.bytes, this.take(16));
  }

  unsignedVarint(): number {
    const at = this.position;
    if (at < this.end) {
      const byte = this.bytes[at] as number;
      if (byte < 0x80) {
        this.position = at + 1;
        return byte;
      }
    }
    return this.longVarint();
  }

  private longVarint(): number {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.bytes[this.take(1)] as number;
      // The fifth byte has room for four bits; more would be a number of over 32 bits.
      if (shift === 28 && byte > 0x0f) break;
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
    throw new ProtocolError('badVarint', 'a variable-length integer is longer than 32 bits');
  }

  /** A zigzag varint of 32 bits. */
  varint(): number {
    return unzigzag(this.unsignedVarint());
  }

  /** A zigzag varint of 64 bits, rounded to the nearest double when it is beyond 2^53. */
  varlong(): number {
    let value = 0;
    let scale = 1;
    let lowest = 0;
    for (let i = 0; i < 10; i++) {
      const byte = this.bytes[this.take(1)] as number;
      if (i === 0) lowest = byte & 1;
      if (i === 9 && byte > 1) break;
      // The sign bit is taken off first, so that what remains is exact up to 2^53.
      value += i === 0 ? (byte & 0x7e) >> 1 : (byte & 0x7f) * scale;
      scale = i === 0 ? 64 : scale * 128;
      if (byte < 0x80) return lowest === 1 ? -value - 1 : value;
    }
    throw new ProtocolError('badVarint', 'a variable-length integer is longer than 64 bits');
  }

  /** The next `size` bytes as UTF-8; what is malformed is replaced, as Java does. */
  text(size: number): string {
    if (size < 0 || size > this.end - this.position) badLength();
    const at = this.position;
    this.position = at + size;
    return decodeUtf8Loosely(this.bytes, at, at + size);
  }

  /** The next `size` bytes as a view of the frame. */
  slice(size: number): Uint8Array {
    if (size < 0 || size > this.end - this.position) badLength();
    const at = this.position;
    this.position = at + size;
    return this.bytes.subarray(at, at + size);
  }

  /** Passes over `size` bytes. */
  skip(size: number): void {
    if (size < 0 || size > this.end - this.position) badLength();
    this.position += size;
  }

  string(): string {
    return this.text(this.int16());
  }

  nullableString(): string | null {
    const size = this.int16();
    return size === -1 ? null : this.text(size);
  }

  compactString(): string {
    return this.text(this.unsignedVarint() - 1);
  }

  compactNullableString(): string | null {
    const size = this.unsignedVarint() - 1;
    return size === -1 ? null : this.text(size);
  }

  bytesField(): Uint8Array {
    return this.slice(this.int32());
  }

  nullableBytes(): Uint8Array | null {
    const size = this.int32();
    return size === -1 ? null : this.slice(size);
  }

  compactBytes(): Uint8Array {
    return this.slice(this.unsignedVarint() - 1);
  }

  compactNullableBytes(): Uint8Array | null {
    const size = this.unsignedVarint() - 1;
    return size === -1 ? null : this.slice(size);
  }

  /** The length of an array whose elements take at least `elementBytesMin` bytes each; -1 for null. */
  arrayLength(elementBytesMin: number): number {
    return this.checkedLength(this.int32(), elementBytesMin);
  }

  /** The same for the compact form, whose length is one more on the wire. */
  compactArrayLength(elementBytesMin: number): number {
    return this.checkedLength(this.unsignedVarint() - 1, elementBytesMin);
  }

  private checkedLength(length: number, elementBytesMin: number): number {
    if (length < -1 || length * elementBytesMin > this.end - this.position) badLength();
    if (length > ARRAY_ELEMENTS_MAX) throw new ProtocolError('tooMany', 'an array has too many elements');
    return length;
  }

  /** How many tagged fields follow. */
  tagCount(): number {
    const count = this.unsignedVarint();
    if (count > TAGS_MAX) throw new ProtocolError('tooMany', 'a section has too many tagged fields');
    return count;
  }

  /** Passes over a section of tagged fields, all unknown. */
  skipTags(): void {
    for (let left = this.tagCount(); left > 0; left--) {
      this.unsignedVarint();
      this.skip(this.unsignedVarint());
    }
  }

  /** Raises 'leftover' unless everything has been read. */
  finish(): void {
    if (this.position !== this.end) throw new ProtocolError('leftover', 'bytes remain after the last field');
  }
}
