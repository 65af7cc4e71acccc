/**
 * How far the heap of a daemon may grow before the whole of it is collected again.
 *
 * V8 counts the bytes of buffers as heap and lets a small heap grow by some 16 MB. What a busy node is sent comes to
 * that in less than a second, and most of it is kept for a while (`core/log/ring.ts`), so that only a collection of all
 * finds it: two to four of them a second, which took a sixth of the processor time of a node. A small heap may grow to
 * several times its size, some 50 MB; a large one as V8 thinks fit, or it would cost too much memory.
 *
 * It changes flags of the process, and so it is for a process that is the daemon's own. A crash changes nothing.
 */
import v8 from 'node:v8';

/** A heap of more bytes is left to V8. */
export const SMALL_HEAP_BYTES_MAX = 32 * 1024 * 1024;
/** By how much a small heap may grow, percent of what the last collection has left. */
export const SMALL_GROWTH_PERCENT = 400;
/** The size of the heap is looked at so often. */
const LOOK_MS = 10_000;
/** V8's own choice. */
const OF_V8 = 0;

/** By how much a heap of so many bytes may grow, percent; 0 for what V8 chooses. */
export function growthPercent(heapBytes: number): number {
  return heapBytes <= SMALL_HEAP_BYTES_MAX ? SMALL_GROWTH_PERCENT : OF_V8;
}

/** Lets the heap of this process grow as said above, from now on. Keeps no process running. */
export function letHeapGrow(): void {
  let now = OF_V8;
  const set = (percent: number): void => {
    if (percent === now) return;
    now = percent;
    v8.setFlagsFromString(`--heap-growing-percent=${percent}`);
  };
  const look = (): void => set(growthPercent(v8.getHeapStatistics().used_heap_size));
  look();
  setInterval(look, LOOK_MS).unref();
  // What Node keeps of compiled code is good for the flags under which it was written, and they are those of a start.
  process.on('exit', () => set(OF_V8));
}
