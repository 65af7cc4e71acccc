/** The account of a bounded rate: what passes in virtual time, and what a change of the rate does. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  BURST_MS,
  createThrottle,
  draw,
  freeAtMs,
  giveBack,
  portion,
  setRate,
  type Throttle,
} from '../../core/replication/throttle.ts';

function bound(bytesPerSecond: number, nowMs = 0): Throttle {
  const throttle = createThrottle();
  setRate(throttle, bytesPerSecond, nowMs);
  return throttle;
}

/** Draws reads of these sizes, each as soon as it may be; gives when the last was begun and how much has passed. */
function drawAll(throttle: Throttle, sizes: readonly number[]): { atMs: number; sizeBytes: number } {
  let atMs = 0;
  let sizeBytes = 0;
  for (const size of sizes) {
    atMs = Math.max(atMs, freeAtMs(throttle, atMs));
    draw(throttle, size, atMs);
    sizeBytes += size;
  }
  return { atMs, sizeBytes };
}

describe('a bounded rate', () => {
  it('is kept to a read and a burst, whatever the reads bring', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 50_000_000 }),
        fc.array(fc.integer({ min: 1, max: 2_000_000 }), { minLength: 2, maxLength: 50 }),
        (bytesPerSecond, sizes) => {
          const { atMs, sizeBytes } = drawAll(bound(bytesPerSecond), sizes);
          const last = sizes[sizes.length - 1] ?? 0;
          // All but the last read has been paid for, and no millisecond more than that was waited.
          const due = ((sizeBytes - last) * 1000) / bytesPerSecond;
          expect(atMs).toBeGreaterThanOrEqual(Math.floor(due) - BURST_MS);
          expect(atMs).toBeLessThanOrEqual(Math.ceil(due) + sizes.length);
        },
      ),
      { seed: 1 },
    );
  });

  it('saves up no more than a burst', () => {
    const throttle = bound(1000);
    expect(freeAtMs(throttle, 60_000)).toBe(60_000);
    draw(throttle, 3000, 60_000);
    expect(freeAtMs(throttle, 60_000)).toBe(62_000);
  });

  it('of nothing lets nothing pass, and none everything', () => {
    expect(freeAtMs(bound(0), 5)).toBe(Infinity);
    const unbound = createThrottle();
    draw(unbound, 1e12, 5);
    expect(freeAtMs(unbound, 5)).toBe(5);
  });

  it('that is raised pays the debt sooner; one that is taken away forgets it', () => {
    const throttle = bound(1000);
    draw(throttle, 10_000, 0);
    expect(freeAtMs(throttle, 0)).toBe(10_000);
    setRate(throttle, 10_000, 0);
    expect(freeAtMs(throttle, 0)).toBe(1000);
    setRate(throttle, Infinity, 0);
    setRate(throttle, 1000, 0);
    expect(freeAtMs(throttle, 0)).toBe(0);
  });

  it('counts what a read has brought, not what it might have', () => {
    const throttle = bound(1000);
    draw(throttle, 10_000, 0);
    giveBack(throttle, 8000);
    expect(freeAtMs(throttle, 0)).toBe(2000);
  });

  it('asks for no more at one time than a second brings', () => {
    expect(portion(bound(1000), 1_000_000)).toBe(1000);
    expect(portion(bound(5_000_000), 1_000_000)).toBe(1_000_000);
    expect(portion(bound(0), 1_000_000)).toBe(1);
  });
});
