/** The checks of a large node: what is broken is found within one turn, and no check looks at everything. */
import { describe, expect, it } from 'vitest';
import { checkNode, checkSlice } from '../../core/broker/check.ts';
import { ToyWorld } from './toy-world.ts';

describe('the check of a slice', () => {
  it('finds a broken log once its turn comes, and then again in the next turn', () => {
    const { node } = new ToyWorld({ 'tidemark.topics': 'orders:400' }).start();
    const turn = Math.ceil(node.ids.owner / 256);
    expect(turn).toBeGreaterThan(1);
    for (let i = 0; i < 3 * turn; i++) checkSlice(node);
    const log = node.topics.byName.get('orders')?.partitions.at(-1)?.log;
    if (log === undefined) throw new Error('the last partition is there');
    log.start = log.end + 1;
    expect(() => checkNode(node)).toThrow('the start is not behind the end');
    let found = 0;
    for (let i = 0; i < 2 * turn; i++) {
      try {
        checkSlice(node);
      } catch {
        found += 1;
        node.checkOwner = 0; // As a turn that came to its end.
      }
    }
    expect(found).toBe(2);
  });
});
