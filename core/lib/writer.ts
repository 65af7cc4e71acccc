/**
 * Writing Kafka's primitive types into a buffer whose size the caller has computed.
 *
 * A `Writer` fills its buffer from front to back and must end exactly at its end: a wrong size is noticed, not
 * sent. At records it cuts, so that their bytes travel as views between pieces of the buffer and are never
 * copied; `finish` returns the pieces in order. `cursor.ts` is the other direction and says how int64 is held.
 */
import { ProtocolError } from './protocol-error.ts';
import { utf8Size, writeUtf8 } from './utf8.ts';
import { uuidToBytes } from './uuid.ts';
import { unsignedVarintSize, zigzag } from './varint.ts';

const TWO_32 = 4294967296;

/** Bytes of records as they are handed to a writer: one view, several in a row, or nothing. */
export type Cut = Uint8Array | readonly Uint8Array[] | null;

/** Bytes in a `Cut`; 0 for null. */
export function cutSize(cut: Cut): number {
  if (cut === null) return 0;
  if (cut instanceof Uint8Array) return cut.length;
  let size = 0;
  for (const part of cut) size += part.length;
  return size;
}

const scratch = new DataView(new ArrayBuffer(8));

/** Small messages share a slab of this size: a buffer of its own costs a message 0.6 to 1.4 µs. Bytes. */
const SLAB_BYTES = 32 * 1024;
const SLAB_SHARE_MAX = 4 * 1024; // A larger message gets a buffer of its own.
const ON_HEAP_MAX = 64; // Up to this size the engine keeps a buffer on its own heap, which is cheaper still.

let slab = new Uint8Array(0);
let slabUsed = 0;

/**
 * A writer for a message that is soon sent and forgotten: it may share its buffer with others, each byte of which
 * is handed out once. What is kept for long is written with `new Writer`, lest a few bytes hold a whole slab.
 */
export function slabWriter(size: number): Writer {
  if (size <= ON_HEAP_MAX || size > SLAB_SHARE_MAX) return new Writer(size);
  if (size > slab.length - slabUsed) {
    slab = new Uint8Array(SLAB_BYTES);
    slabUsed = 0;
  }
  const start = slabUsed;
  slabUsed += size;
  return new Writer(size, slab, start);
}

/** A position in a buffer of known size that is filled from front to back; views of records are cut in between. */
export class Writer {
  readonly bytes: Uint8Array;
  /** Where the message begins in `bytes`, and where it must end. */
  readonly start: number;
  readonly end: number;
  /** The next byte to write. */
  position: number;
  private cutFrom: number;
  private readonly cuts: Uint8Array[];

  constructor(size: number, bytes: Uint8Array = new Uint8Array(size), start = 0) {
    this.bytes = bytes;
    this.start = start;
    this.end = start + size;
    this.position = start;
    this.cutFrom = start;
    this.cuts = [];
  }

  /** Sets four bytes that were written before. */
  patchInt32(at: number, value: number): void {
    const bytes = this.bytes;
    bytes[at] = value >> 24;
    bytes[at + 1] = value >> 16;
    bytes[at + 2] = value >> 8;
    bytes[at + 3] = value;
  }

  boolean(value: boolean): void {
    this.bytes[this.position++] = value ? 1 : 0;
  }

  int8(value: number): void {
    this.bytes[this.position++] = value;
  }

  int16(value: number): void {
    this.bytes[this.position++] = value >> 8;
    this.bytes[this.position++] = value;
  }

  uint16(value: number): void {
    this.int16(value);
  }

  int32(value: number): void {
    this.patchInt32(this.position, value);
    this.position += 4;
  }

  uint32(value: number): void {
    this.int32(value | 0);
  }

  /** A signed 64-bit integer; a double outside of 64 bits is clamped to the nearest end. */
  int64(value: number): void {
    const high = Math.floor(value / TWO_32);
    if (high > 0x7fffffff || high < -0x80000000) {
      this.int32(value > 0 ? 0x7fffffff : -0x80000000);
      this.int32(value > 0 ? -1 : 0);
    } else {
      this.int32(high);
      this.int32(value | 0);
    }
  }

  /** The same bytes as `int64`; the name follows the field's kind. */
  timestamp(value: number): void {
    this.int64(value);
  }

  float64(value: number): void {
    scratch.setFloat64(0, value);
    this.int32(scratch.getInt32(0));
    this.int32(scratch.getInt32(4));
  }

  uuid(value: string): void {
    uuidToBytes(value, this.bytes, this.position);
    this.position += 16;
  }

  unsignedVarint(value: number): void {
    let rest = value;
    let at = this.position;
    while (rest >>> 7 !== 0) {
      this.bytes[at++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    this.bytes[at++] = rest;
    this.position = at;
  }

  varint(value: number): void {
    this.unsignedVarint(zigzag(value));
  }

  /** A zigzag varint of a safe integer. */
  varlong(value: number): void {
    // Seven bits a turn from the magnitude, the first turn six bits and the sign.
    let rest = value < 0 ? -(value + 1) : value;
    let low = (rest % 64) * 2 + (value < 0 ? 1 : 0);
    rest = Math.floor(rest / 64);
    while (rest > 0) {
      this.bytes[this.position++] = low | 0x80;
      low = rest % 128;
      rest = Math.floor(rest / 128);
    }
    this.bytes[this.position++] = low;
  }

  /** UTF-8 without a length. */
  text(value: string): void {
    this.position = writeUtf8(value, this.bytes, this.position);
  }

  string(value: string): void {
    const at = this.position;
    this.position = at + 2;
    this.text(value);
    const size = this.position - at - 2;
    if (size > 0x7fff) throw new ProtocolError('badLength', 'a string is longer than 32767 bytes');
    this.bytes[at] = size >> 8;
    this.bytes[at + 1] = size;
  }

  nullableString(value: string | null): void {
    if (value === null) this.int16(-1);
    else this.string(value);
  }

  compactString(value: string): void {
    this.unsignedVarint(utf8Size(value) + 1);
    this.text(value);
  }

  compactNullableString(value: string | null): void {
    if (value === null) this.unsignedVarint(0);
    else this.compactString(value);
  }

  /** Bytes without a length, copied. */
  raw(value: Uint8Array): void {
    this.bytes.set(value, this.position);
    this.position += value.length;
  }

  bytesField(value: Uint8Array): void {
    this.int32(value.length);
    this.raw(value);
  }

  nullableBytes(value: Uint8Array | null): void {
    if (value === null) this.int32(-1);
    else this.bytesField(value);
  }

  compactBytes(value: Uint8Array): void {
    this.unsignedVarint(value.length + 1);
    this.raw(value);
  }

  compactNullableBytes(value: Uint8Array | null): void {
    if (value === null) this.unsignedVarint(0);
    else this.compactBytes(value);
  }

  /** Records after a 32-bit length, cut. */
  records(value: Cut): void {
    this.int32(value === null ? -1 : cutSize(value));
    this.cut(value);
  }

  /** Records after a compact length, cut. */
  compactRecords(value: Cut): void {
    this.unsignedVarint(value === null ? 0 : cutSize(value) + 1);
    this.cut(value);
  }

  private cut(value: Cut): void {
    if (value === null) return;
    if (value instanceof Uint8Array) {
      if (value.length === 0) return;
      this.cuts.push(this.bytes.subarray(this.cutFrom, this.position), value);
    } else {
      if (value.length === 0) return;
      this.cuts.push(this.bytes.subarray(this.cutFrom, this.position));
      for (const part of value) if (part.length > 0) this.cuts.push(part);
    }
    this.cutFrom = this.position;
  }

  /** All parts in order. The writer must be full; it is of no further use but for `patchInt32`. */
  finish(): Uint8Array[] {
    if (this.position !== this.end) {
      throw new ProtocolError('badLength', 'a message was not as long as its computed size');
    }
    if (this.cutFrom === this.end) return this.cuts;
    const isWhole = this.cutFrom === 0 && this.end === this.bytes.length;
    const rest = isWhole ? this.bytes : this.bytes.subarray(this.cutFrom, this.end);
    // Mostly there is but one part, and a list that is made for one has no room for sixteen more.
    if (this.cuts.length === 0) return [rest];
    this.cuts.push(rest);
    return this.cuts;
  }
}

/** Bytes of a string with its 16-bit length; null takes the length only. */
export function stringSize(value: string | null): number {
  return value === null ? 2 : 2 + utf8Size(value);
}

/** Bytes of a string with its compact length. */
export function compactStringSize(value: string | null): number {
  if (value === null) return 1;
  const size = utf8Size(value);
  return size + unsignedVarintSize(size + 1);
}

/** Bytes of a byte field with its 32-bit length. */
export function bytesSize(value: Uint8Array | null): number {
  return value === null ? 4 : 4 + value.length;
}

/** Bytes of a byte field with its compact length. */
export function compactBytesSize(value: Uint8Array | null): number {
  return value === null ? 1 : value.length + unsignedVarintSize(value.length + 1);
}
