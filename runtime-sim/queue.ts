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

/**
 * A heap of events. `order` is given at `push`. What events are compared by stands beside them, place for place: they
 * are of many shapes, and to look into each was slow.
 */
export interface Queue<E extends Timed> {
  readonly heap: E[];
  readonly times: number[];
  readonly orders: number[];
  pushed: number;
}

/** Events that wait at once, at most; more means that something feeds itself. */
export const EVENTS_MAX = 1_000_000;

/** An empty queue. */
export function createQueue<E extends Timed>(): Queue<E> {
  return { heap: [], times: [], orders: [], pushed: 0 };
}

/** Adds an event; among those of one time it comes last. */
export function push<E extends Timed>(queue: Queue<E>, event: E): void {
  const { heap, times, orders } = queue;
  if (heap.length >= EVENTS_MAX) throw new Error('the event queue has no end');
  const order = queue.pushed;
  const { atUs } = event;
  event.order = order;
  queue.pushed += 1;
  let at = heap.length;
  heap.push(event);
  times.push(atUs);
  orders.push(order);
  while (at > 0) {
    const parent = (at - 1) >> 1;
    // It is the youngest: only an earlier time takes it up.
    if ((times[parent] as number) <= atUs) break;
    heap[at] = heap[parent] as E;
    times[at] = times[parent] as number;
    orders[at] = orders[parent] as number;
    at = parent;
  }
  heap[at] = event;
  times[at] = atUs;
  orders[at] = order;
}

/** The next event, undefined when nothing is left. */
export function pop<E extends Timed>(queue: Queue<E>): E | undefined {
  const { heap, times, orders } = queue;
  const top = heap[0];
  const last = heap.pop();
  const lastUs = times.pop();
  const lastOrder = orders.pop();
  if (last === undefined || lastUs === undefined || lastOrder === undefined || heap.length === 0) return top;
  const size = heap.length;
  let at = 0;
  for (;;) {
    let child = 2 * at + 1;
    if (child >= size) break;
    if (child + 1 < size && isEarlier(queue, child + 1, times[child] as number, orders[child] as number)) child += 1;
    if (!isEarlier(queue, child, lastUs, lastOrder)) break;
    heap[at] = heap[child] as E;
    times[at] = times[child] as number;
    orders[at] = orders[child] as number;
    at = child;
  }
  heap[at] = last;
  times[at] = lastUs;
  orders[at] = lastOrder;
  return top;
}

/** Whether what stands at a place comes before something of that time and order. */
function isEarlier<E extends Timed>({ times, orders }: Queue<E>, at: number, us: number, order: number): boolean {
  const atUs = times[at] as number;
  return atUs < us || (atUs === us && (orders[at] as number) < order);
}
