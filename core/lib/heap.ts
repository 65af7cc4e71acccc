/**
 * The deadlines of a node's machines: an indexed binary heap, earliest first.
 *
 * An item knows its own place in the heap, so that changing its deadline costs a few swaps and no look-up. Items
 * with no deadline (Infinity) are not in the heap. Equal deadlines come out in an order that depends on the history
 * of the heap alone, which is the same in every run of the same inputs. A crash forgets the heap with its machines.
 */
import { assert } from './assert.ts';

/** Something with a deadline. Both fields belong to the heap: change them through `setDeadline` only. */
export interface Timed {
  /** Milliseconds on the clock of `env.nowMs`; Infinity: none. */
  deadlineMs: number;
  /** Where the item is in the heap; -1: not in it. */
  heapIndex: number;
}

/** The items that have a deadline. Invariant: no item is earlier than its parent at (index - 1) >> 1. */
export interface DeadlineHeap<T extends Timed> {
  readonly items: T[];
}

/** An empty heap. */
export function createHeap<T extends Timed>(): DeadlineHeap<T> {
  return { items: [] };
}

/** The earliest deadline, ms; Infinity when there is none. */
export function earliestMs(heap: DeadlineHeap<Timed>): number {
  return heap.items[0]?.deadlineMs ?? Number.POSITIVE_INFINITY;
}

/** Gives `item` a new deadline; Infinity takes it out of the heap. */
export function setDeadline<T extends Timed>(heap: DeadlineHeap<T>, item: T, deadlineMs: number): void {
  if (item.deadlineMs === deadlineMs) return;
  const before = item.deadlineMs;
  item.deadlineMs = deadlineMs;
  if (deadlineMs === Number.POSITIVE_INFINITY) {
    takeOut(heap.items, item);
  } else if (item.heapIndex < 0) {
    item.heapIndex = heap.items.length;
    heap.items.push(item);
    moveUp(heap.items, item);
  } else if (deadlineMs < before) {
    moveUp(heap.items, item);
  } else {
    moveDown(heap.items, item);
  }
}

/** Takes out and returns an item whose deadline is `nowMs` or earlier; null when there is none. */
export function takeDue<T extends Timed>(heap: DeadlineHeap<T>, nowMs: number): T | null {
  const first = heap.items[0];
  if (first === undefined || first.deadlineMs > nowMs) return null;
  setDeadline(heap, first, Number.POSITIVE_INFINITY);
  return first;
}

/** Throws AssertionError if the order or an index is broken. Costs a walk over all items. */
export function checkHeap(heap: DeadlineHeap<Timed>): void {
  for (let i = 0; i < heap.items.length; i++) {
    const item = heap.items[i]!;
    assert(item.heapIndex === i, 'an item of the heap does not know its place');
    assert(item.deadlineMs >= heap.items[Math.max((i - 1) >> 1, 0)]!.deadlineMs, 'the heap is out of order');
  }
}

function takeOut<T extends Timed>(items: T[], item: T): void {
  if (item.heapIndex < 0) return;
  const hole = item.heapIndex;
  item.heapIndex = -1;
  const last = items.pop();
  assert(last !== undefined, 'an item claims a place in an empty heap');
  if (last === item) return;
  items[hole] = last;
  last.heapIndex = hole;
  moveUp(items, last);
  moveDown(items, last);
}

function moveUp<T extends Timed>(items: T[], item: T): void {
  let at = item.heapIndex;
  while (at > 0) {
    const parentAt = (at - 1) >> 1;
    const parent = items[parentAt]!;
    if (parent.deadlineMs <= item.deadlineMs) break;
    items[at] = parent;
    parent.heapIndex = at;
    at = parentAt;
  }
  items[at] = item;
  item.heapIndex = at;
}

function moveDown<T extends Timed>(items: T[], item: T): void {
  let at = item.heapIndex;
  for (;;) {
    let childAt = 2 * at + 1;
    if (childAt >= items.length) break;
    if (childAt + 1 < items.length && items[childAt + 1]!.deadlineMs < items[childAt]!.deadlineMs) childAt += 1;
    const child = items[childAt]!;
    if (child.deadlineMs >= item.deadlineMs) break;
    items[at] = child;
    child.heapIndex = at;
    at = childAt;
  }
  items[at] = item;
  item.heapIndex = at;
}
