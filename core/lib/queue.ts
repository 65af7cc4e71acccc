/**
 * A first-in, first-out queue on a circular array: `Array.shift` moves every element once a queue grows long.
 *
 * The owner bounds its length; the array comes with the first element, doubles as needed and never shrinks. Slots that
 * are not in use hold undefined, so that what was taken out can be collected.
 */
import { assert } from './assert.ts';

/** Elements in order. Invariant: `slots.length` is 0 or a power of two, and at least `size`. */
export interface Queue<T> {
  slots: (T | undefined)[];
  head: number;
  size: number;
}

const SLOTS_MIN = 8;
/** Of every queue that never held anything: there are hundreds of thousands of them. Never written to. */
const NO_SLOTS: undefined[] = [];

/** An empty queue. */
export function createQueue<T>(): Queue<T> {
  return { slots: NO_SLOTS, head: 0, size: 0 };
}

/** Puts `item` behind all others. */
export function enqueue<T>(queue: Queue<T>, item: T): void {
  if (queue.size === queue.slots.length) grow(queue);
  queue.slots[(queue.head + queue.size) & (queue.slots.length - 1)] = item;
  queue.size += 1;
}

/** The first element, left where it is; undefined when the queue is empty. */
export function peek<T>(queue: Queue<T>): T | undefined {
  return queue.size === 0 ? undefined : queue.slots[queue.head];
}

/** The element at `index` from the front, counted from 0. */
export function queueAt<T>(queue: Queue<T>, index: number): T {
  assert(index >= 0, 'a queue is indexed from 0');
  assert(index < queue.size, 'an index lies beyond the queue');
  return queue.slots[(queue.head + index) & (queue.slots.length - 1)] as T;
}

/** Takes the first element out; undefined when the queue is empty. */
export function dequeue<T>(queue: Queue<T>): T | undefined {
  if (queue.size === 0) return undefined;
  const item = queue.slots[queue.head];
  queue.slots[queue.head] = undefined;
  queue.head = (queue.head + 1) & (queue.slots.length - 1);
  queue.size -= 1;
  return item;
}

/** Keeps the elements for which `keeps` holds, in their order, and returns the others in theirs. */
export function sift<T>(queue: Queue<T>, keeps: (item: T) => boolean): T[] {
  const others: T[] = [];
  for (let rest = queue.size; rest > 0; rest--) {
    const item = dequeue(queue) as T;
    if (keeps(item)) enqueue(queue, item);
    else others.push(item);
  }
  return others;
}

function grow<T>(queue: Queue<T>): void {
  const slots = new Array<T | undefined>(Math.max(SLOTS_MIN, queue.slots.length * 2)).fill(undefined);
  for (let i = 0; i < queue.size; i++) slots[i] = queue.slots[(queue.head + i) & (queue.slots.length - 1)];
  queue.slots = slots;
  queue.head = 0;
}
