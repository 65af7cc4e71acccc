/**
 * The queue of what is still to happen: a binary heap of events by time, then by the order in which they were pushed.
 *
 * Invariant: no two events compare equal, so the order of pops is a function of the pushes alone. Nothing is removed
 * but by `pop`; who no longer wants an event lets it come and ignores it (a later life, a moved deadline).
 */

/** What every event carries. Times are integer microseconds since the start of the run. */
export interface Timed {
  atUs: number;
  order: number;
}

/** A heap of events. `order` is given at `push`. */
export interface Queue<E extends Timed> {
  readonly heap: E[];
  pushed: number;
}

/** Events that wait at once, at most; more means that something feeds itself. */
export const EVENTS_MAX = 1_000_000;

/** An empty queue. */
export function createQueue<E extends Timed>(): Queue<E> {
  return { heap: [], pushed: 0 };
}

function earlier(a: Timed, b: Timed): boolean {
  return a.atUs < b.atUs || (a.atUs === b.atUs && a.order < b.order);
}

/** Adds an event; among those of one time it comes last. */
export function push<E extends Timed>(queue: Queue<E>, event: E): void {
  const { heap } = queue;
  if (heap.length >= EVENTS_MAX) throw new Error('the event queue has no end');
  event.order = queue.pushed;
  queue.pushed += 1;
  let at = heap.length;
  heap.push(event);
  while (at > 0) {
    const parent = (at - 1) >> 1;
    const other = heap[parent] as E;
    if (!earlier(event, other)) break;
    heap[at] = other;
    at = parent;
  }
  heap[at] = event;
}

/** The next event, undefined when nothing is left. */
export function pop<E extends Timed>(queue: Queue<E>): E | undefined {
  const { heap } = queue;
  const top = heap[0];
  const last = heap.pop();
  if (top === undefined || last === undefined || heap.length === 0) return top;
  const size = heap.length;
  let at = 0;
  for (;;) {
    let child = 2 * at + 1;
    if (child >= size) break;
    if (child + 1 < size && earlier(heap[child + 1] as E, heap[child] as E)) child += 1;
    const other = heap[child] as E;
    if (!earlier(other, last)) break;
    heap[at] = other;
    at = child;
  }
  heap[at] = last;
  return top;
}

/** A copy whose events may be popped apart from the first; `copyEvent` copies what a pop may change. */
export function snapshotQueue<E extends Timed>(queue: Queue<E>, copyEvent: (event: E) => E): Queue<E> {
  return { heap: queue.heap.map(copyEvent), pushed: queue.pushed };
}
