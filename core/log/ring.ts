/**
 * The most recent batches of one log, kept for readers: the very bytes that came from the socket and went to the
 * disk.
 *
 * Entries ascend and touch: each begins where the one before ends, and the last ends at the end of the log. The
 * ring holds no entry that the disk still has to write unless it is within bytesMax; what is dropped is always the
 * oldest. A crash loses it.
 */
import { assert } from '../lib/assert.ts';

/** A batch in memory, in one or two views: the leader's fresh bytes, then the client's. */
export interface RecentBatch {
  readonly base: number;
  readonly next: number;
  readonly sizeBytes: number;
  readonly parts: readonly Uint8Array[];
  readonly maxTimestampMs: number;
}

/** The batches `items[first..]`; what lies before `first` is gone and is cleared away now and then. */
export interface Ring {
  items: (RecentBatch | null)[];
  first: number;
  sizeBytes: number;
}

/** An empty ring. */
export function createRing(): Ring {
  return { items: [], first: 0, sizeBytes: 0 };
}

/** Adds the newest batch and drops the oldest ones beyond `bytesMax`, but none that ends above `droppableTo`. */
export function pushRecent(ring: Ring, batch: RecentBatch, bytesMax: number, droppableTo: number): void {
  const last = ring.items[ring.items.length - 1];
  assert(last === undefined || last === null || last.next === batch.base, 'recent batches touch');
  ring.items.push(batch);
  ring.sizeBytes += batch.sizeBytes;
  shrinkRing(ring, bytesMax, droppableTo);
}

/** Drops the oldest batches beyond `bytesMax`, but none that ends above `droppableTo`. */
export function shrinkRing(ring: Ring, bytesMax: number, droppableTo: number): void {
  while (ring.sizeBytes > bytesMax && ring.first < ring.items.length) {
    const oldest = ring.items[ring.first] as RecentBatch;
    if (oldest.next > droppableTo) break;
    ring.items[ring.first] = null;
    ring.first++;
    ring.sizeBytes -= oldest.sizeBytes;
  }
  if (ring.first > 32 && ring.first * 2 > ring.items.length) {
    ring.items = ring.items.slice(ring.first);
    ring.first = 0;
  }
}

/** Drops the batches from `offset` on. */
export function cutRing(ring: Ring, offset: number): void {
  while (ring.items.length > ring.first) {
    const newest = ring.items[ring.items.length - 1] as RecentBatch;
    if (newest.next <= offset) break;
    ring.items.pop();
    ring.sizeBytes -= newest.sizeBytes;
  }
}

/** Index in `items` of the batch that holds `offset`; -1 when the ring does not reach there. */
export function findRecent(ring: Ring, offset: number): number {
  const oldest = ring.items[ring.first];
  if (oldest === undefined || oldest === null || offset < oldest.base) return -1;
  let low = ring.first;
  let high = ring.items.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ring.items[middle] as RecentBatch).base <= offset) low = middle + 1;
    else high = middle;
  }
  const found = ring.items[low - 1] as RecentBatch;
  return offset < found.next ? low - 1 : -1;
}
