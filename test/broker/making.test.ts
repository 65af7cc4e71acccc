/** Many partitions are made together: a disk that changes names in order can then sync many files at one time. */
import { describe, expect, it } from 'vitest';
import { ToyWorld } from './toy-world.ts';

describe('the partitions of a large topic', () => {
  it('get their folders in groups, then their files, and no more than 128 are in the making', () => {
    const world = new ToyWorld({ 'tidemark.topics': 'orders:300' }).start();
    const asked = world.log.filter((line) => /\/orders-\d+(\/partition\.metadata)?$/.test(line));
    const kinds = asked.flatMap((line) => (/^(makeFolder|replace) /.exec(line) ?? []).slice(1));
    expect(kinds.filter((kind) => kind === 'replace')).toHaveLength(300);
    expect(kinds.filter((kind) => kind === 'makeFolder').length).toBeGreaterThanOrEqual(300);
    expect(kinds.slice(0, 256)).toEqual([...new Array(128).fill('makeFolder'), ...new Array(128).fill('replace')]);
    const groups = kinds.join(' ').match(/(makeFolder )+(replace ?)+/g) ?? [];
    expect(groups.length).toBeLessThan(10);
    const { partitions } = world.node.topics.byName.get('orders') ?? { partitions: [] };
    expect(partitions.map((partition) => partition?.log.state)).toEqual(new Array(300).fill('open'));
  });
});
