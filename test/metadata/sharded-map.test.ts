/** The sharded map against Map: same contents, and a published map never changes. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  draftDelete,
  draftGet,
  draftMap,
  draftSet,
  emptyMap,
  mapEntries,
  mapGet,
  publishMap,
  type ShardedMap,
} from '../../core/metadata/sharded-map.ts';

const keys = fc.string({ minLength: 0, maxLength: 3, unit: fc.constantFrom('a', 'b', 'é', '0') });
const batches = fc.array(fc.array(fc.tuple(keys, fc.option(fc.nat(9), { nil: null })), { maxLength: 12 }), {
  maxLength: 8,
});

describe('a sharded map', () => {
  it('holds what a Map would hold, in each shard by age, and earlier maps stay as they were', () => {
    fc.assert(
      fc.property(batches, (history) => {
        let map: ShardedMap<number> = emptyMap();
        const model = new Map<string, number>();
        const before: { map: ShardedMap<number>; entries: [string, number][] }[] = [];
        for (const batch of history) {
          before.push({ map, entries: [...mapEntries(map)] });
          const draft = draftMap(map);
          for (const [key, value] of batch) {
            if (value === null) draftDelete(draft, key);
            else draftSet(draft, key, value);
            if (value === null) model.delete(key);
            else model.set(key, value);
            expect(draftGet(draft, key)).toBe(model.get(key));
          }
          map = publishMap(draft);
          expect(new Map(mapEntries(map))).toEqual(model);
          expect(map.size).toBe(model.size);
          for (const { places, values } of map.shards) {
            expect([...places.keys()]).toEqual([...model.keys()].filter((key) => places.has(key)));
            expect([...places.values()]).toEqual([...values.keys()]);
          }
        }
        for (const { map: old, entries } of before) expect([...mapEntries(old)]).toEqual(entries);
      }),
      { numRuns: 200 },
    );
  });

  it('is the same object after a draft that wrote nothing, or took away what was not there', () => {
    const draft = draftMap(emptyMap<number>());
    draftSet(draft, 'a', 1);
    const map = publishMap(draft);
    const idle = draftMap(map);
    draftDelete(idle, 'b');
    expect(publishMap(idle)).toBe(map);
    expect(mapGet(map, 'a')).toBe(1);
  });

  it('shares the shards that a draft did not write to', () => {
    const draft = draftMap(emptyMap<number>());
    for (let i = 0; i < 1000; i++) draftSet(draft, `topic-${i}`, i);
    const map = publishMap(draft);
    const next = draftMap(map);
    draftSet(next, 'topic-7', 70);
    const changed = publishMap(next);
    const changedShards = changed.shards.filter((shard, index) => shard !== map.shards[index]);
    expect(changedShards).toHaveLength(1);
    // No key came or went: to copy the keys costs more than all the rest.
    expect(map.shards.map(({ places }) => places)).toContain(changedShards[0]?.places);
    expect(Math.max(...map.shards.map(({ values }) => values.length))).toBeLessThan(30);
  });
});
