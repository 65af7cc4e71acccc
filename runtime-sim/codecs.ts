/**
 * The compression of the simulator: pinned JavaScript only, so that the same bytes come out on every engine.
 *
 * gzip by fflate, snappy by snappyjs. lz4 has no sound JavaScript writer and zstd none at all: both are written as
 * frames of raw blocks, which every reader of the format accepts; zstd is read by fzstd, lz4 frames as they are
 * written here. The versions are those of the lock file.
 */
import { createRequire } from 'node:module';
import { gunzipSync, gzipSync } from 'fflate';
import { Decompress } from 'fzstd';
import { joinParts } from '../core/lib/bytes.ts';
import {
  CODEC_GZIP,
  CODEC_SNAPPY,
  CODEC_ZSTD,
  type Codec,
  type Codecs,
  frameSnappy,
  SNAPPY_BLOCK_MAX,
  snappyBlocks,
  snappyPlainSize,
} from '../core/protocol/compression.ts';

interface Snappy {
  compress(bytes: Uint8Array): Uint8Array;
  uncompress(bytes: Uint8Array, lengthMax?: number): Uint8Array;
}

const snappy = createRequire(import.meta.url)('snappyjs') as Snappy;

function compressSnappy(bytes: Uint8Array): Uint8Array {
  const blocks: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += SNAPPY_BLOCK_MAX) {
    blocks.push(snappy.compress(bytes.slice(at, at + SNAPPY_BLOCK_MAX)));
  }
  return frameSnappy(blocks);
}

function inflateSnappy(bytes: Uint8Array, bytesMax: number): Uint8Array | 'tooLarge' | 'corrupt' {
  const blocks = snappyBlocks(bytes);
  if (blocks === 'corrupt') return 'corrupt';
  let size = 0;
  for (const block of blocks) {
    const plain = snappyPlainSize(block);
    if (plain < 0) return 'corrupt';
    size += plain;
    if (size > bytesMax) return 'tooLarge';
  }
  return joinParts(blocks.map((block) => snappy.uncompress(block)));
}

const STORED_BLOCK_MAX = 128 * 1024; // What RFC 8878 allows one block.

/**
 * A frame of one segment that tells its size: a reader then needs no window, whose 128 KB for every small batch were a
 * tenth of a run's time.
 */
function storeZstd(bytes: Uint8Array): Uint8Array {
  const head = new Uint8Array(9);
  const view = new DataView(head.buffer);
  view.setUint32(0, 0xfd2fb528, true);
  head[4] = 0xa0; // The size in four bytes, a single segment.
  view.setUint32(5, bytes.length, true);
  const parts: Uint8Array[] = [head];
  for (let at = 0; at < bytes.length || at === 0; at += STORED_BLOCK_MAX) {
    const block = bytes.subarray(at, at + STORED_BLOCK_MAX);
    const mark = (block.length << 3) | (at + STORED_BLOCK_MAX >= bytes.length ? 1 : 0);
    parts.push(new Uint8Array([mark & 255, (mark >> 8) & 255, (mark >> 16) & 255]), block);
  }
  return joinParts(parts);
}

function inflateZstd(bytes: Uint8Array, bytesMax: number): Uint8Array | 'tooLarge' {
  const pieces: Uint8Array[] = [];
  let size = 0;
  const stream = new Decompress((piece) => {
    size += piece.length;
    if (size <= bytesMax) pieces.push(piece.slice());
  });
  stream.push(bytes, true);
  return size > bytesMax ? 'tooLarge' : joinParts(pieces);
}

function compress(codec: Codec, bytes: Uint8Array): Uint8Array {
  if (codec === CODEC_GZIP) return gzipSync(bytes, { mtime: 0, level: 1, mem: 0 });
  if (codec === CODEC_SNAPPY) return compressSnappy(bytes);
  if (codec === CODEC_ZSTD) return storeZstd(bytes);
  throw new Error('the simulator does not write this codec');
}

function decompress(codec: Codec, bytes: Uint8Array, bytesMax: number): Uint8Array | 'tooLarge' | 'corrupt' {
  try {
    if (codec === CODEC_SNAPPY) return inflateSnappy(bytes, bytesMax);
    if (codec === CODEC_ZSTD) return inflateZstd(bytes, bytesMax);
    if (codec !== CODEC_GZIP) return 'corrupt';
    const plain = gunzipSync(bytes);
    return plain.length > bytesMax ? 'tooLarge' : plain;
  } catch {
    return 'corrupt';
  }
}

/** The codecs of every simulated process. */
export const SIMULATED_CODECS: Codecs = { compress, decompress };
