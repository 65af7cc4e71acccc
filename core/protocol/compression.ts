/**
 * Compression as it appears on the wire and on disk: codec ids, limits, and the framing of snappy.
 *
 * The codecs themselves are lent by the world through `Codecs`, synchronous and loaded before the first step.
 * Java clients wrap snappy blocks in the framing of the xerial library (a 16-byte header, then blocks, each after
 * a 32-bit length); others send one bare block. Both are read, the framed form is written. No state.
 */

/** The codec of a batch, in the three lowest bits of its attributes. */
export type Codec = 0 | 1 | 2 | 3 | 4;

/** Records as they are. */
export const CODEC_NONE = 0;
/** RFC 1952. */
export const CODEC_GZIP = 1;
/** Snappy blocks, framed or bare. */
export const CODEC_SNAPPY = 2;
/** LZ4 frames, not bare blocks. */
export const CODEC_LZ4 = 3;
/** RFC 8878. */
export const CODEC_ZSTD = 4;

/** Kafka's names, by codec id; also the values of `compression.type` beside `producer` and `uncompressed`. */
export const CODEC_NAMES: readonly string[] = ['none', 'gzip', 'snappy', 'lz4', 'zstd'];

/** The most that one batch may inflate to, bytes: a small batch could otherwise fill the memory. */
export const DECOMPRESSED_MAX = 64 * 1024 * 1024;

/** Compression, lent by the world. Never called with CODEC_NONE. */
export interface Codecs {
  /** The compressed form; `level` is the codec's own scale, its default if absent. */
  readonly compress: (codec: Codec, bytes: Uint8Array, level?: number) => Uint8Array;
  /** The plain form, at most `bytesMax` bytes; no more than that is ever inflated. */
  readonly decompress: (codec: Codec, bytes: Uint8Array, bytesMax: number) => Uint8Array | 'tooLarge' | 'corrupt';
}

/** Whether the three bits of a batch's attributes name a codec that exists. */
export function isCodec(id: number): id is Codec {
  return id >= CODEC_NONE && id <= CODEC_ZSTD;
}

const XERIAL_MAGIC = [0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0x00];
const XERIAL_HEADER_BYTES = 16; // Magic, version, lowest compatible version.
const XERIAL_VERSION = 1;

/** The plain bytes that go into one block of a framed stream, at most. */
export const SNAPPY_BLOCK_MAX = 32 * 1024;

/**
 * The bare snappy blocks inside `bytes`, as views: one if they are not framed. 'corrupt' if the framing is broken.
 */
export function snappyBlocks(bytes: Uint8Array): Uint8Array[] | 'corrupt' {
  for (let i = 0; i < XERIAL_MAGIC.length; i++) if (bytes[i] !== XERIAL_MAGIC[i]) return [bytes];
  if (bytes.length < XERIAL_HEADER_BYTES) return 'corrupt';
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const blocks: Uint8Array[] = [];
  let at = XERIAL_HEADER_BYTES;
  while (at < bytes.length) {
    if (bytes.length - at < 4) return 'corrupt';
    const size = view.getInt32(at);
    if (size <= 0 || size > bytes.length - at - 4) return 'corrupt';
    blocks.push(bytes.subarray(at + 4, at + 4 + size));
    at += 4 + size;
  }
  return blocks;
}

/** Puts bare snappy blocks into one framed stream. */
export function frameSnappy(blocks: readonly Uint8Array[]): Uint8Array {
  let size = XERIAL_HEADER_BYTES;
  for (const block of blocks) size += 4 + block.length;
  const bytes = new Uint8Array(size);
  const view = new DataView(bytes.buffer);
  bytes.set(XERIAL_MAGIC);
  view.setInt32(8, XERIAL_VERSION);
  view.setInt32(12, XERIAL_VERSION);
  let at = XERIAL_HEADER_BYTES;
  for (const block of blocks) {
    view.setInt32(at, block.length);
    bytes.set(block, at + 4);
    at += 4 + block.length;
  }
  return bytes;
}

/**
 * The plain size that a bare snappy block announces in its head, or -1 if the head is broken. Checked against the
 * limit before anything is inflated.
 */
export function snappyPlainSize(block: Uint8Array): number {
  let size = 0;
  let scale = 1;
  for (let i = 0; i < 5 && i < block.length; i++) {
    const byte = block[i] as number;
    if (i === 4 && byte > 0x0f) return -1;
    size += (byte & 0x7f) * scale;
    scale *= 128;
    if (byte < 0x80) return size;
  }
  return -1;
}
