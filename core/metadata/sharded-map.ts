/**
 * A map from strings that is cheap to change without changing it: 128 small maps, of which a draft copies only those
 * that it writes to.
 *
 * Published maps never change; two of them are equal if they are the same object, and a draft that wrote nothing
 * publishes the very map that it began from. Iteration goes shard by shard, in each by age, so that a map which is
 * written out in this order and read again has the same order. The hash is fixed for ever: it is in no file, but the
 * order of iteration depends on it and a simulated run is compared by its bytes. Pure, no state.
 */

const SHARDS = 128;

/** A published map. */
export interface ShardedMap<V> {
  readonly shards: readonly ReadonlyMap<string, V>[];
  /** Entries. */
  readonly size: number;
}

/** A map being changed: belongs to one writer and ends with `publishMap`. */
export interface MapDraft<V> {
  readonly base: ShardedMap<V>;
  /** The shards; null until the first write. */
  shards: ReadonlyMap<string, V>[] | null;
  /** The shards that this draft has copied, by index; undefined where it has not. */
  owned: (Map<string, V> | undefined)[];
  size: number;
}

const NO_ENTRIES: ReadonlyMap<string, never> = new Map<string, never>();
const EMPTY: ShardedMap<never> = { shards: new Array<ReadonlyMap<string, never>>(SHARDS).fill(NO_ENTRIES), size: 0 };

/** The map without entries. */
export function emptyMap<V>(): ShardedMap<V> {
  return EMPTY;
}

/** FNV-1a over the code units, folded to the number of shards. */
function shardOf(key: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193);
  return (hash ^ (hash >>> 15)) & (SHARDS - 1);
}

/** The value of a key, or undefined. */
export function mapGet<V>(map: ShardedMap<V>, key: string): V | undefined {
  if (map.size === 0) return undefined;
  return map.shards[shardOf(key)]?.get(key);
}

/** All values, in the order of iteration. */
export function* mapValues<V>(map: ShardedMap<V>): IterableIterator<V> {
  // Of a small map most shards are empty, and to begin with one costs as much as an entry.
  for (const shard of map.shards) if (shard.size > 0) yield* shard.values();
}

/** All entries, in the order of iteration. */
export function* mapEntries<V>(map: ShardedMap<V>): IterableIterator<[string, V]> {
  for (const shard of map.shards) if (shard.size > 0) yield* shard.entries();
}

/** Begins to change a map; costs nothing until the first write. */
export function draftMap<V>(base: ShardedMap<V>): MapDraft<V> {
  return { base, shards: null, owned: [], size: base.size };
}

/** The value of a key as the draft has it. */
export function draftGet<V>(draft: MapDraft<V>, key: string): V | undefined {
  return (draft.shards ?? draft.base.shards)[shardOf(key)]?.get(key);
}

function ownShard<V>(draft: MapDraft<V>, index: number): Map<string, V> {
  const mine = draft.owned[index];
  if (mine !== undefined) return mine;
  draft.shards ??= draft.base.shards.slice();
  const copy = new Map(draft.shards[index]);
  draft.shards[index] = copy;
  draft.owned[index] = copy;
  return copy;
}

/** Sets a key: the first write to a shard copies it, size / 128 entries. */
export function draftSet<V>(draft: MapDraft<V>, key: string, value: V): void {
  const shard = ownShard(draft, shardOf(key));
  const before = shard.size;
  shard.set(key, value);
  draft.size += shard.size - before;
}

/** Removes a key, if it is there. */
export function draftDelete<V>(draft: MapDraft<V>, key: string): void {
  const index = shardOf(key);
  if ((draft.shards ?? draft.base.shards)[index]?.has(key) !== true) return;
  ownShard(draft, index).delete(key);
  draft.size -= 1;
}

/** Ends the draft: the changed map, or the one that it began from if nothing was written. */
export function publishMap<V>(draft: MapDraft<V>): ShardedMap<V> {
  if (draft.shards === null) return draft.base;
  return { shards: draft.shards, size: draft.size };
}
