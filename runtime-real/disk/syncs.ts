/**
 * The queue of syncs: the oldest first, at most SYNCS_MAX at once.
 *
 * One is begun once what was sent in the same turn has left: waking a thread of the pool may take the processor from
 * us, and other nodes sync what they are sent meanwhile.
 *
 * They run in libuv's pool, which has four threads and which reads share: the cap leaves one of them free. A crash
 * forgets the queue; nothing in it had been promised to anyone.
 */
import type { FileSystem } from './disk.ts';
import { createIdleness } from './idleness.ts';

/** Syncs under way at one time. libuv's pool has 4 threads; more than 3 syncs would hold reads back. */
export const SYNCS_MAX = 3;

/** Called once a sync has ended, with what went wrong or null. */
export type SyncDone = (error: Error | null) => void;

/** A queue of syncs. */
export interface Syncs {
  /** Makes the bytes of a file durable, and what is needed to find them. */
  fdatasync(descriptor: number, done: SyncDone): void;
  /** Makes the names in a folder durable. */
  fsync(descriptor: number, done: SyncDone): void;
  /** Resolves when nothing is queued or under way. */
  idle(): Promise<void>;
}

interface Waiting {
  readonly call: 'fdatasync' | 'fsync';
  readonly descriptor: number;
  readonly done: SyncDone;
}

/** An empty queue. */
export function createSyncs(system: FileSystem): Syncs {
  let waiting: Waiting[] = [];
  let head = 0;
  let running = 0;
  let isStarting = false;
  const idleness = createIdleness(() => running === 0 && head === waiting.length);

  function startMore(): void {
    while (running < SYNCS_MAX && head < waiting.length) {
      const next = waiting[head] as Waiting;
      head += 1;
      running += 1;
      system[next.call](next.descriptor, (error) => {
        running -= 1;
        next.done(error);
        startMore();
        idleness.changed();
      });
    }
    if (head === waiting.length) {
      waiting = [];
      head = 0;
    }
  }

  function enqueue(call: Waiting['call'], descriptor: number, done: SyncDone): void {
    waiting.push({ call, descriptor, done });
    if (isStarting) return;
    isStarting = true;
    // Microtasks come behind what waits for `process.nextTick`, which sends.
    queueMicrotask(() => {
      isStarting = false;
      startMore();
    });
  }

  return {
    fdatasync: (descriptor, done) => enqueue('fdatasync', descriptor, done),
    fsync: (descriptor, done) => enqueue('fsync', descriptor, done),
    idle: idleness.wait,
  };
}
