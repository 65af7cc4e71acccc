/**
 * The values that simulated producers send: each names its send, and its padding can be checked.
 *
 * Eight bytes of number (big-endian, below 2^53), then any number of bytes that follow from it.
 */

/** Bytes of the number. */
const NUMBER_BYTES = 8;

/** The bytes of a value, `sizeBytes` long, at least eight. */
export function encodeValue(value: number, sizeBytes: number): Uint8Array {
  const bytes = new Uint8Array(Math.max(NUMBER_BYTES, sizeBytes));
  const view = new DataView(bytes.buffer);
  view.setUint32(0, Math.floor(value / 0x1_0000_0000));
  view.setUint32(4, value >>> 0);
  bytes.fill((value * 31 + 7) & 255, NUMBER_BYTES);
  return bytes;
}

/** The number, or -1 if the bytes are not what `encodeValue` makes. */
export function decodeValue(bytes: Uint8Array | null): number {
  if (bytes === null || bytes.length < NUMBER_BYTES) return -1;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const value = view.getUint32(0) * 0x1_0000_0000 + view.getUint32(4);
  if (bytes.length > NUMBER_BYTES) {
    const padding = (value * 31 + 7) & 255;
    if (bytes[NUMBER_BYTES] !== padding || bytes[bytes.length - 1] !== padding) return -1;
  }
  return value;
}
