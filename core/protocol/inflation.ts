/**
 * How large compressed bytes would become, told from their frames without inflating them.
 *
 * Some decoders inflate whatever they are given; these functions let a world refuse a batch first. They read
 * headers and lengths only, in time that grows with the compressed size, and allocate nothing. LZ4 frames: the
 * frame format 1.6 of lz4; zstd: RFC 8878, section 3.1.1. No state.
 */

/** What the functions answer for bytes that are not of the format. */
export const NOT_A_FRAME = -1;

const LZ4_MAGIC = 0x184d2204;
const ZSTD_MAGIC = 0xfd2fb528;

function uint32LittleEndian(bytes: Uint8Array, at: number): number {
  const low = (bytes[at] as number) | ((bytes[at + 1] as number) << 8) | ((bytes[at + 2] as number) << 16);
  return (low | ((bytes[at + 3] as number) << 24)) >>> 0;
}

/**
 * Bytes that one LZ4 frame inflates to, or a number above `bytesMax` as soon as it must be more; NOT_A_FRAME if it
 * is none or ends too early.
 */
export function lz4PlainSize(bytes: Uint8Array, bytesMax: number): number {
  if (bytes.length < 7 || uint32LittleEndian(bytes, 0) !== LZ4_MAGIC) return NOT_A_FRAME;
  const flags = bytes[4] as number;
  const checksumBytes = (flags & 0x10) !== 0 ? 4 : 0;
  let at = 7 + ((flags & 0x08) !== 0 ? 8 : 0) + ((flags & 0x01) !== 0 ? 4 : 0);
  let size = 0;
  while (size <= bytesMax) {
    if (at + 4 > bytes.length) return NOT_A_FRAME;
    const word = uint32LittleEndian(bytes, at);
    if (word === 0) return size;
    const blockBytes = word & 0x7fffffff;
    at += 4;
    if (blockBytes > bytes.length - at) return NOT_A_FRAME;
    const plain = word > 0x7fffffff ? blockBytes : lz4BlockPlainSize(bytes, at, at + blockBytes);
    if (plain === NOT_A_FRAME) return NOT_A_FRAME;
    size += plain;
    at += blockBytes + checksumBytes;
  }
  return size;
}

/** Adds up the literals and matches of one block. */
function lz4BlockPlainSize(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  let size = 0;
  while (at < end) {
    const token = bytes[at++] as number;
    let literals = token >> 4;
    if (literals === 15) {
      let more = 255;
      while (more === 255 && at < end) {
        more = bytes[at++] as number;
        literals += more;
      }
    }
    at += literals;
    size += literals;
    if (at === end) return size; // The last sequence has no match.
    at += 2;
    if (at > end) return NOT_A_FRAME;
    let match = (token & 15) + 4;
    if (match === 19) {
      let more = 255;
      while (more === 255 && at < end) {
        more = bytes[at++] as number;
        match += more;
      }
    }
    size += match;
  }
  return NOT_A_FRAME;
}

/** Bytes of history that a zstd frame asks a decoder to keep; NOT_A_FRAME if it is none. */
export function zstdWindowSize(bytes: Uint8Array): number {
  if (bytes.length < 6 || uint32LittleEndian(bytes, 0) !== ZSTD_MAGIC) return NOT_A_FRAME;
  const descriptor = bytes[4] as number;
  if ((descriptor & 0x20) === 0) {
    const window = bytes[5] as number;
    // Beyond 2 GB one number is as good as another: it is over any cap.
    const base = 1024 * (1 << Math.min(window >> 3, 21));
    return base + (base / 8) * (window & 7);
  }
  // A single segment: the window is the content, whose size comes after the id of a dictionary, if any.
  const sizeBytes = [1, 2, 4, 8][descriptor >> 6] as number;
  const at = 5 + ([0, 1, 2, 4][descriptor & 3] as number);
  if (at + sizeBytes > bytes.length) return NOT_A_FRAME;
  let size = 0;
  for (let i = sizeBytes - 1; i >= 0; i--) size = size * 256 + (bytes[at + i] as number);
  return sizeBytes === 2 ? size + 256 : size;
}
