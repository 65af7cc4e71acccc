/**
 * Variable-length integers: seven bits a byte, low bits first, the high bit says that more follow.
 *
 * Unsigned ones carry lengths of compact types and tags; signed ones fold the sign into the lowest bit (zigzag)
 * and are the integers inside records. 64-bit ones are built from two halves, because bit operations of numbers
 * stop at 32 bits. These functions only compute sizes and halves; `cursor.ts` moves the bytes. No state.
 */

/** Bytes in the longest 64-bit varint. */
export const VARLONG_BYTES_MAX = 10;

/** Bytes that an unsigned varint takes; `value` is an integer of 32 bits, read as unsigned. */
export function unsignedVarintSize(value: number): number {
  if (value >>> 7 === 0) return 1;
  if (value >>> 14 === 0) return 2;
  if (value >>> 21 === 0) return 3;
  return value >>> 28 === 0 ? 4 : 5;
}

/** Folds a signed 32-bit integer so that small magnitudes become small unsigned numbers. */
export function zigzag(value: number): number {
  return ((value << 1) ^ (value >> 31)) >>> 0;
}

/** The reverse of `zigzag`. */
export function unzigzag(folded: number): number {
  return (folded >>> 1) ^ -(folded & 1);
}

/** Bytes that a zigzag varint takes; `value` is a signed integer of 32 bits. */
export function varintSize(value: number): number {
  return unsignedVarintSize(zigzag(value));
}

/** Bytes that a zigzag varlong takes; `value` is a safe integer. */
export function varlongSize(value: number): number {
  let rest = value < 0 ? -(value + 1) * 2 + 1 : value * 2;
  let size = 1;
  while (rest >= 128) {
    rest = Math.floor(rest / 128);
    size++;
  }
  return size;
}
