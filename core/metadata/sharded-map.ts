/**
 * A map from strings that is cheap to change without changing it: 128 small maps, of which a draft copies only those
 * that it writes to, and of these only the values as long as no key comes or goes.
 *
 * Published maps never change; two of them are equal if they are the same object, and a draft that wrote nothing
 * publishes the very map that it began from. Iteration goes shard by shard, in each by age, so that a map which is
 * written out in this order and read again has the same order. The hash is fixed for ever: it is in no file, but the
 * order of iteration depends on it and a simulated run is compared by its bytes. Pure, no state.
 */

const SHARDS = 128;

/** A small map. Invariant: `places` numbers the values from 0, in its own order, which is by age. */
interface Shard<V> {
  readonly places: ReadonlyMap<string, number>;
  readonly values: readonly V[];
}

/** A published map. */
export interface ShardedMap<V> {
  readonly shards: readonly Shard<V>[];
  /** Entries. */
  readonly size: number;
}

/** A shard that a draft has copied. The value of a key that went stays until the draft ends. */
interface OwnShard<V> {
  places: ReadonlyMap<string, number>;
  /** `places`, once a key came or went. */
  ownPlaces: Map<string, number> | null;
  values: V[];
}

/** A map being changed: belongs to one writer and ends with `publishMap`. */
export interface MapDraft<V> {
  readonly base: ShardedMap<V>;
  /** The shards that this draft has copied, by index; undefined where it has not. */
  readonly owned: (OwnShard<V> | undefined)[];
  size: number;
}

const EMPTY: ShardedMap<never> = {
  shards: new Array<Shard<never>>(SHARDS).fill({ places: new Map(), values: [] }),
  size: 0,
};

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

function valueIn<V>(shard: Shard<V> | undefined, key: string): V | undefined {
  const place = shard?.places.get(key);
  return place === undefined ? undefined : shard?.values[place];
}

/** The value of a key, or undefined. */
export function mapGet<V>(map: ShardedMap<V>, key: string): V | undefined {
  if (map.size === 0) return undefined;
  return valueIn(map.shards[shardOf(key)], key);
}

/** All values, in the order of iteration. */
export function* mapValues<V>(map: ShardedMap<V>): IterableIterator<V> {
  // Of a small map most shards are empty, and to begin with one costs as much as an entry.
  for (const { values } of map.shards) if (values.length > 0) yield* values;
}

/** All entries, in the order of iteration. */
export function* mapEntries<V>(map: ShardedMap<V>): IterableIterator<[string, V]> {
  for (const { places, values } of map.shards) {
    if (values.length === 0) continue;
    for (const [key, place] of places) yield [key, values[place] as V];
  }
}

/** What became of the keys since another map: a shard that is the same is not looked at. */
export function keysSince(
  before: ShardedMap<unknown>,
  after: ShardedMap<unknown>,
): { readonly gone: Set<string>; readonly come: string[] } {
  const gone = new Set<string>();
  const come: string[] = [];
  for (let i = 0; i < SHARDS; i++) {
    const old = before.shards[i]?.places;
    const now = after.shards[i]?.places;
    if (old === now || old === undefined || now === undefined) continue;
    for (const key of old.keys()) if (!now.has(key)) gone.add(key);
    for (const key of now.keys()) if (!old.has(key)) come.push(key);
  }
  return { gone, come };
}

/** Begins to change a map; costs nothing until the first write. */
export function draftMap<V>(base: ShardedMap<V>): MapDraft<V> {
  return { base, owned: [], size: base.size };
}

/** The value of a key as the draft has it. */
export function draftGet<V>({ base, owned }: MapDraft<V>, key: string): V | undefined {
  const index = shardOf(key);
  return valueIn(owned[index] ?? base.shards[index], key);
}

function ownShard<V>({ base, owned }: MapDraft<V>, index: number): OwnShard<V> {
  const mine = owned[index];
  if (mine !== undefined) return mine;
  const { places, values } = base.shards[index] as Shard<V>;
  const copy: OwnShard<V> = { places, ownPlaces: null, values: values.slice() };
  owned[index] = copy;
  return copy;
}

function ownPlaces(shard: OwnShard<unknown>): Map<string, number> {
  shard.ownPlaces ??= new Map(shard.places);
  shard.places = shard.ownPlaces;
  return shard.ownPlaces;
}

/** Sets a key. The first write to a shard copies its values, size / 128; the first new key in it the keys as well. */
export function draftSet<V>(draft: MapDraft<V>, key: string, value: V): void {
  const shard = ownShard(draft, shardOf(key));
  const place = shard.places.get(key);
  if (place !== undefined) {
    shard.values[place] = value;
    return;
  }
  ownPlaces(shard).set(key, shard.values.length);
  shard.values.push(value);
  draft.size += 1;
}

/** Removes a key, if it is there. */
export function draftDelete<V>(draft: MapDraft<V>, key: string): void {
  const index = shardOf(key);
  if ((draft.owned[index] ?? draft.base.shards[index])?.places.has(key) !== true) return;
  ownPlaces(ownShard(draft, index)).delete(key);
  draft.size -= 1;
}

/** The shard without the values of keys that went. */
function tidied<V>({ places, values }: OwnShard<V>): Shard<V> {
  if (places.size === values.length) return { places, values };
  const renumbered = new Map<string, number>();
  const left: V[] = [];
  for (const [key, place] of places) {
    renumbered.set(key, left.length);
    left.push(values[place] as V);
  }
  return { places: renumbered, values: left };
}

/** Ends the draft: the changed map, or the one that it began from if nothing was written. */
export function publishMap<V>({ base, owned, size }: MapDraft<V>): ShardedMap<V> {
  if (owned.length === 0) return base;
  const shards = base.shards.slice();
  owned.forEach((shard, index) => {
    if (shard !== undefined) shards[index] = tidied(shard);
  });
  return { shards, size };
}
