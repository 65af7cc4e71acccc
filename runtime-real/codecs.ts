/**
 * The compression of the real world: gzip by Node's zlib, snappy by snappyjs, lz4 by lz4-napi, zstd by Node's zlib
 * where it has it, else by WebAssembly to compress and fzstd to inflate.
 *
 * Each library is loaded when its codec is first used, so that a start does not pay for any. Nothing inflates to
 * more than it is allowed: where a library has no limit of its own, the size is told from the frame first.
 * Loading WebAssembly takes a promise: until `prepareCodecs` has finished, zstd frames are written uncompressed,
 * which every reader accepts.
 */
import { createRequire } from 'node:module';
import type * as Zlib from 'node:zlib';
import { joinParts } from '../core/lib/bytes.ts';
import {
  CODEC_GZIP,
  CODEC_LZ4,
  CODEC_SNAPPY,
  CODEC_ZSTD,
  type Codec,
  type Codecs,
  frameSnappy,
  SNAPPY_BLOCK_MAX,
  snappyBlocks,
  snappyPlainSize,
} from '../core/protocol/compression.ts';
import { lz4PlainSize, NOT_A_FRAME, zstdWindowSize } from '../core/protocol/inflation.ts';
import { describeError } from './disk/errors.ts';

const load = createRequire(import.meta.url);

interface Snappy {
  compress(bytes: Uint8Array): Uint8Array;
  uncompress(bytes: Uint8Array, lengthMax?: number): Uint8Array;
}
interface Lz4 {
  compressFrameSync(bytes: Buffer): Buffer;
  decompressFrameSync(bytes: Buffer): Buffer;
}
interface Fzstd {
  Decompress: new (ondata: (piece: Uint8Array) => void) => { push(bytes: Uint8Array, isLast: boolean): void };
}
interface ZstdWasm {
  init(): Promise<void>;
  compress(bytes: Uint8Array, level?: number): Uint8Array;
}
/** Node's own zstd, from 22.15 on. */
interface NodeZstd {
  zstdCompressSync?: (bytes: Uint8Array, options: { params: { [id: number]: number } }) => Buffer;
  zstdDecompressSync?: (bytes: Uint8Array, options: { maxOutputLength: number }) => Buffer;
  readonly constants: typeof Zlib.constants & { ZSTD_c_compressionLevel?: number };
}

const ZSTD_LEVEL = 3;

/** Node's own library: also loaded when it is first used. */
function zlib(): typeof Zlib & NodeZstd {
  return load('node:zlib') as typeof Zlib & NodeZstd;
}

let zstdWasm: ZstdWasm | null = null;
let preparing: Promise<void> | null = null;

/** Loads what cannot be loaded synchronously, for those who cannot wait for the first use; again, it costs nothing. */
export function prepareCodecs(): Promise<void> {
  preparing ??= prepare();
  return preparing;
}

async function prepare(): Promise<void> {
  if (zlib().zstdCompressSync !== undefined) return;
  const wasm = load('@bokuweb/zstd-wasm') as ZstdWasm;
  await wasm.init();
  zstdWasm = wasm;
}

function plain(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function compress(codec: Codec, bytes: Uint8Array, level?: number): Uint8Array {
  switch (codec) {
    case CODEC_GZIP:
      return plain(zlib().gzipSync(bytes, level === undefined ? {} : { level }));
    case CODEC_SNAPPY:
      return compressSnappy(bytes);
    case CODEC_LZ4:
      return plain((load('lz4-napi') as Lz4).compressFrameSync(asBuffer(bytes)));
    case CODEC_ZSTD:
      return compressZstd(bytes, level ?? ZSTD_LEVEL);
    default:
      return bytes;
  }
}

function compressSnappy(bytes: Uint8Array): Uint8Array {
  const snappy = load('snappyjs') as Snappy;
  const blocks: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += SNAPPY_BLOCK_MAX) {
    blocks.push(snappy.compress(plain(bytes.subarray(at, at + SNAPPY_BLOCK_MAX))));
  }
  return frameSnappy(blocks);
}

function compressZstd(bytes: Uint8Array, level: number): Uint8Array {
  const { zstdCompressSync, constants } = zlib();
  if (zstdCompressSync !== undefined) {
    const id = constants.ZSTD_c_compressionLevel ?? 100;
    return plain(zstdCompressSync(bytes, { params: { [id]: level } }));
  }
  return zstdWasm === null ? storeZstd(bytes) : zstdWasm.compress(plain(bytes), level);
}

const STORED_BLOCK_MAX = 128 * 1024; // What RFC 8878 allows one block.

/** A zstd frame of raw blocks: valid, and as long as its content. RFC 8878, section 3.1.1. */
export function storeZstd(bytes: Uint8Array): Uint8Array {
  const blocks = Math.max(1, Math.ceil(bytes.length / STORED_BLOCK_MAX));
  const frame = new Uint8Array(6 + blocks * 3 + bytes.length);
  // The magic number, no flags, and a window of 128 KiB: exponent 7 above 2^10.
  frame.set([0x28, 0xb5, 0x2f, 0xfd, 0x00, 7 << 3]);
  let at = 6;
  for (let i = 0; i < blocks; i++) {
    const block = bytes.subarray(i * STORED_BLOCK_MAX, (i + 1) * STORED_BLOCK_MAX);
    const head = (block.length << 3) | (i === blocks - 1 ? 1 : 0);
    frame.set([head & 255, (head >> 8) & 255, head >> 16], at);
    frame.set(block, at + 3);
    at += 3 + block.length;
  }
  return frame;
}

function decompress(codec: Codec, bytes: Uint8Array, bytesMax: number): Uint8Array | 'tooLarge' | 'corrupt' {
  try {
    switch (codec) {
      case CODEC_GZIP:
        return plain(zlib().gunzipSync(bytes, { maxOutputLength: Math.max(1, bytesMax) }));
      case CODEC_SNAPPY:
        return inflateSnappy(bytes, bytesMax);
      case CODEC_LZ4:
        return inflateLz4(bytes, bytesMax);
      case CODEC_ZSTD:
        return inflateZstd(bytes, bytesMax);
      default:
        return bytes.length > bytesMax ? 'tooLarge' : bytes;
    }
  } catch (error) {
    return isTooLarge(error) ? 'tooLarge' : 'corrupt';
  }
}

function isTooLarge(error: unknown): boolean {
  return error === TOO_LARGE || (error as { code?: unknown } | null)?.code === 'ERR_BUFFER_TOO_LARGE';
}

function inflateSnappy(bytes: Uint8Array, bytesMax: number): Uint8Array | 'tooLarge' | 'corrupt' {
  const blocks = snappyBlocks(bytes);
  if (blocks === 'corrupt') return 'corrupt';
  const sizes = blocks.map(snappyPlainSize);
  if (sizes.includes(-1)) return 'corrupt';
  const total = sizes.reduce((sum, size) => sum + size, 0);
  if (total > bytesMax) return 'tooLarge';
  const snappy = load('snappyjs') as Snappy;
  if (blocks.length === 1) return snappy.uncompress(plain(blocks[0]!), total);
  const whole = new Uint8Array(total);
  let at = 0;
  for (const block of blocks) {
    const piece = snappy.uncompress(plain(block), total);
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

function inflateLz4(bytes: Uint8Array, bytesMax: number): Uint8Array | 'tooLarge' | 'corrupt' {
  const size = lz4PlainSize(bytes, bytesMax);
  if (size === NOT_A_FRAME) return 'corrupt';
  if (size > bytesMax) return 'tooLarge';
  return plain((load('lz4-napi') as Lz4).decompressFrameSync(asBuffer(bytes)));
}

/** Thrown out of a streaming decoder to stop it. */
const TOO_LARGE = new Error('inflates to more than is allowed');

function inflateZstd(bytes: Uint8Array, bytesMax: number): Uint8Array | 'tooLarge' | 'corrupt' {
  const { zstdDecompressSync } = zlib();
  if (zstdDecompressSync !== undefined) {
    return plain(zstdDecompressSync(bytes, { maxOutputLength: Math.max(1, bytesMax) }));
  }
  const window = zstdWindowSize(bytes);
  if (window === NOT_A_FRAME) return 'corrupt';
  if (window > bytesMax) return 'tooLarge';
  const pieces: Uint8Array[] = [];
  let total = 0;
  const { Decompress } = load('fzstd') as Fzstd;
  const stream = new Decompress((piece) => {
    total += piece.length;
    if (total > bytesMax) throw TOO_LARGE;
    pieces.push(piece);
  });
  stream.push(plain(bytes), true);
  return joinParts(pieces);
}

/**
 * The codecs that a node in the real world is lent. With `trouble`, which hears what went wrong, the first zstd frame
 * begins to load what the next ones need; without it that is left to `prepareCodecs`.
 */
export function realCodecs(trouble: ((text: string) => void) | null = null): Codecs {
  if (trouble === null) return { compress, decompress };
  return {
    compress: (codec, bytes, level) => {
      if (codec === CODEC_ZSTD && preparing === null) {
        prepareCodecs().catch((error) => trouble(`zstd cannot be loaded: ${describeError(error)}`));
      }
      return compress(codec, bytes, level);
    },
    decompress,
  };
}
