/** The frame machine: every way of cutting a stream gives the same frames, and memory follows what arrives. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bytesHeld, createFramer, isMidFrame, push, SLAB_FIRST_BYTES } from '../../core/protocol/frame.ts';

const FRAME_MAX = 100 * 1024 * 1024;

function streamOf(frames: readonly Uint8Array[]): Uint8Array {
  const parts = frames.flatMap((frame) => {
    const head = Buffer.alloc(4);
    head.writeInt32BE(frame.length);
    return [head, frame];
  });
  return Uint8Array.from(Buffer.concat(parts));
}

function announce(length: number): Uint8Array {
  const head = Buffer.alloc(4);
  head.writeInt32BE(length);
  return head;
}

describe('framing', () => {
  it('gives the same frames however the stream is cut', () => {
    const frames = fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 12 });
    const cuts = fc.array(fc.nat(4000), { maxLength: 30 });
    fc.assert(
      fc.property(frames, cuts, (sent, at) => {
        const stream = streamOf(sent);
        const edges = [0, ...at.map((cut) => cut % (stream.length + 1)), stream.length].sort((a, b) => a - b);
        const framer = createFramer(FRAME_MAX);
        const got: Uint8Array[] = [];
        for (let i = 1; i < edges.length; i++) {
          expect(push(framer, stream.slice(edges[i - 1], edges[i]), got)).toBe('ok');
        }
        expect(got.map((frame) => Buffer.from(frame).toString('hex'))).toEqual(
          sent.map((frame) => Buffer.from(frame).toString('hex')),
        );
        expect(bytesHeld(framer)).toBe(0);
        expect(isMidFrame(framer)).toBe(false);
      }),
      { numRuns: 500 },
    );
  });

  it('hands out a frame inside one chunk as a view of the chunk, and never as a Node buffer', () => {
    const chunk = Buffer.from(streamOf([Uint8Array.of(1, 2, 3)]));
    const got: Uint8Array[] = [];
    push(createFramer(10), chunk, got);
    expect(got[0]?.buffer).toBe(chunk.buffer);
    expect(Buffer.isBuffer(got[0])).toBe(false);
    expect([...got[0]!]).toEqual([1, 2, 3]);
  });

  it.each([-1, -2147483648, 11, 2147483647])('refuses the length %i and all that follows', (length) => {
    const framer = createFramer(10);
    const got: Uint8Array[] = [];
    const good = streamOf([Uint8Array.of(7)]);
    const chunk = Uint8Array.from(Buffer.concat([good, announce(length), good]));
    expect(push(framer, chunk, got)).toBe('badLength');
    expect(got.length).toBe(1);
    expect(push(framer, good, got)).toBe('badLength');
    expect(got.length).toBe(1);
  });

  it('holds nothing for a frame that was announced and never sent', () => {
    const framer = createFramer(FRAME_MAX);
    push(framer, announce(90 * 1024 * 1024), []);
    expect(bytesHeld(framer)).toBe(0);
    push(framer, Uint8Array.of(1), []);
    expect(bytesHeld(framer)).toBe(SLAB_FIRST_BYTES);
  });

  it('never holds more than four times what has arrived, beyond the first slab', () => {
    const framer = createFramer(FRAME_MAX);
    const length = 3_000_000;
    push(framer, announce(length), []);
    const got: Uint8Array[] = [];
    let arrived = 0;
    while (arrived < length) {
      const size = Math.min(50_000, length - arrived);
      push(framer, new Uint8Array(size).fill(arrived & 255), got);
      arrived += size;
      expect(bytesHeld(framer)).toBeLessThanOrEqual(Math.max(SLAB_FIRST_BYTES, 4 * arrived));
    }
    expect(got.length).toBe(1);
    expect(got[0]?.length).toBe(length);
    expect(got[0]?.[length - 1]).toBe(2_950_000 & 255);
  });
});
