/** The event queue: by time, then by the order of pushing. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createQueue, pop, push, type Timed } from '../../runtime-sim/queue.ts';

test('events come out by time, and those of one time as they went in', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(20)), (times) => {
      const queue = createQueue<Timed & { name: number }>();
      times.forEach((atUs, name) => {
        push(queue, { atUs, order: 0, name });
      });
      const expected = times.map((atUs, name) => ({ atUs, name })).sort((a, b) => a.atUs - b.atUs || a.name - b.name);
      const found: { atUs: number; name: number }[] = [];
      for (let event = pop(queue); event !== undefined; event = pop(queue)) {
        found.push({ atUs: event.atUs, name: event.name });
      }
      expect(found).toEqual(expected);
    }),
  );
});
