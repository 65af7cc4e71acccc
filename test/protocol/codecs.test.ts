/** The codecs of the real world: every one brings back what it was given, and none inflates beyond its cap. */
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { CODEC_NAMES, CODEC_SNAPPY, type Codec, frameSnappy, snappyBlocks } from '../../core/protocol/compression.ts';
import { lz4PlainSize, zstdWindowSize } from '../../core/protocol/inflation.ts';
import { encodeBatch, readRecords } from '../../core/protocol/records.ts';
import { prepareCodecs, realCodecs, storeZstd } from '../../runtime-real/codecs.ts';

const codecs = realCodecs();
const ALL: readonly Codec[] = [1, 2, 3, 4];
const text = new TextEncoder().encode('the tide comes in, the tide goes out; '.repeat(5000));

beforeAll(prepareCodecs);

describe.each(ALL.map((id) => [CODEC_NAMES[id] as string, id] as const))('%s', (_name, id) => {
  it('brings back what it was given, whatever it is', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 2000 }), fc.integer({ min: 1, max: 60 }), (piece, times) => {
        const bytes = Uint8Array.from(Array.from({ length: times }, () => [...piece]).flat());
        const small = codecs.compress(id, bytes);
        expect(Buffer.isBuffer(small)).toBe(false);
        const back = codecs.decompress(id, small, bytes.length);
        expect(back).toBeInstanceOf(Uint8Array);
        expect(Buffer.compare(back as Uint8Array, bytes)).toBe(0);
      }),
      { numRuns: 60 },
    );
  });

  it('refuses one byte more than it is allowed', () => {
    const small = codecs.compress(id, text);
    expect(small.length).toBeLessThan(text.length / 10);
    expect(codecs.decompress(id, small, text.length)).toHaveLength(text.length);
    expect(codecs.decompress(id, small, text.length - 1)).toBe('tooLarge');
  });

  it('calls bytes corrupt that are cut short or are noise', () => {
    const small = codecs.compress(id, text);
    expect(codecs.decompress(id, small.subarray(0, small.length >> 1), text.length)).toBe('corrupt');
    expect(codecs.decompress(id, new Uint8Array(64).fill(0xee), text.length)).toBe('corrupt');
    expect(codecs.decompress(id, new Uint8Array(0), text.length)).toBe('corrupt');
  });

  it('carries a batch', () => {
    const records = [1, 2, 3].map((n) => ({ timestampMs: n, key: null, value: text.subarray(0, n * 100) }));
    const batch = encodeBatch(records, { codec: id, codecs });
    const back = readRecords(batch, codecs);
    expect(back.map((record) => record.value?.length)).toEqual([100, 200, 300]);
  });
});

describe('framing of snappy', () => {
  it('reads one bare block as well as many framed ones', () => {
    const framed = codecs.compress(CODEC_SNAPPY, text);
    const blocks = snappyBlocks(framed);
    expect(blocks).not.toBe('corrupt');
    expect(blocks.length).toBeGreaterThan(1);
    const bare = (blocks as Uint8Array[])[0]!;
    expect(snappyBlocks(bare)).toEqual([bare]);
    expect(codecs.decompress(CODEC_SNAPPY, bare, 100_000)).toHaveLength(32 * 1024);
    expect(Buffer.compare(frameSnappy(blocks as Uint8Array[]), framed)).toBe(0);
  });

  it('calls a frame corrupt whose block is longer than what is left', () => {
    const framed = Uint8Array.from(codecs.compress(CODEC_SNAPPY, text));
    framed[16] = 0x7f;
    expect(codecs.decompress(CODEC_SNAPPY, framed, text.length)).toBe('corrupt');
  });
});

describe('a bomb', () => {
  it('of gzip stops at the cap', () => {
    const bomb = gzipSync(new Uint8Array(50_000_000));
    const before = performance.now();
    expect(codecs.decompress(1, bomb, 100_000)).toBe('tooLarge');
    expect(performance.now() - before).toBeLessThan(1000);
  });

  it('of lz4 is told by its lengths', () => {
    const bomb = codecs.compress(3, new Uint8Array(20_000_000));
    expect(lz4PlainSize(bomb, 1e9)).toBe(20_000_000);
    expect(codecs.decompress(3, bomb, 19_999_999)).toBe('tooLarge');
  });

  it('of zstd cannot ask for a window beyond the cap', () => {
    const frame = storeZstd(text);
    expect(zstdWindowSize(frame)).toBe(128 * 1024);
    expect(Buffer.compare(codecs.decompress(4, frame, text.length) as Uint8Array, text)).toBe(0);
    frame[5] = 0xf8;
    expect(zstdWindowSize(frame)).toBeGreaterThan(1e9);
    expect(codecs.decompress(4, frame, text.length)).not.toBeInstanceOf(Uint8Array);
  });
});
