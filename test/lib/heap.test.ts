/** The heap of deadlines and the circular queue, each against the plainest model of itself. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkHeap, createHeap, earliestMs, setDeadline, type Timed, takeDue } from '../../core/lib/heap.ts';
import { createQueue, dequeue, enqueue, peek, queueAt, sift } from '../../core/lib/queue.ts';

describe('the heap of deadlines', () => {
  it('gives the earliest deadline after any changes, and takes out what is due in order', () => {
    const change = fc.record({ item: fc.nat(20), deadlineMs: fc.oneof(fc.nat(50), fc.constant(Infinity)) });
    fc.assert(
      fc.property(fc.array(change, { maxLength: 200 }), (changes) => {
        const heap = createHeap();
        const items: Timed[] = Array.from({ length: 21 }, () => ({ deadlineMs: Infinity, heapIndex: -1 }));
        for (const { item, deadlineMs } of changes) {
          setDeadline(heap, items[item]!, deadlineMs);
          checkHeap(heap);
          expect(earliestMs(heap)).toBe(Math.min(...items.map((one) => one.deadlineMs)));
        }
        const expected = items
          .map((one) => one.deadlineMs)
          .filter((ms) => ms <= 25)
          .sort((a, b) => a - b);
        const taken: number[] = [];
        for (;;) {
          const before = earliestMs(heap);
          if (takeDue(heap, 25) === null) break;
          taken.push(before);
          checkHeap(heap);
        }
        expect(taken).toEqual(expected);
      }),
    );
  });
});

describe('the queue', () => {
  it('behaves as an array with push, shift and filter', () => {
    const step = fc.oneof(fc.nat(100), fc.constant('take' as const), fc.constant('sift' as const));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
        const queue = createQueue<number>();
        let model: number[] = [];
        for (const what of steps) {
          if (what === 'take') expect(dequeue(queue)).toBe(model.shift());
          else if (what === 'sift') {
            expect(sift(queue, (item) => item % 3 !== 0)).toEqual(model.filter((item) => item % 3 === 0));
            model = model.filter((item) => item % 3 !== 0);
          } else {
            enqueue(queue, what);
            model.push(what);
          }
          expect(queue.size).toBe(model.length);
          expect(peek(queue)).toBe(model[0]);
          expect(model.map((_, index) => queueAt(queue, index))).toEqual(model);
        }
      }),
    );
  });
});
