/** How far a daemon's heap may grow. */
import { expect, test } from 'vitest';
import { growthPercent, SMALL_GROWTH_PERCENT, SMALL_HEAP_BYTES_MAX } from '../../runtime-real/heap-growth.ts';

test('a small heap may grow to several times its size, a large one as V8 thinks fit', () => {
  expect(growthPercent(0)).toBe(SMALL_GROWTH_PERCENT);
  expect(growthPercent(SMALL_HEAP_BYTES_MAX)).toBe(SMALL_GROWTH_PERCENT);
  expect(growthPercent(SMALL_HEAP_BYTES_MAX + 1)).toBe(0);
  // What the largest small heap comes to is within what a busy node may hold.
  expect((SMALL_HEAP_BYTES_MAX / 1024 / 1024) * (1 + SMALL_GROWTH_PERCENT / 100)).toBeLessThanOrEqual(160);
});
