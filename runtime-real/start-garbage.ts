/**
 * What the start of a large node leaves behind: records, listings and texts of a hundred thousand partitions, several
 * times of what is kept. Nothing that a quiet node does would make the collector look for it, so it is asked to once,
 * before the node serves. A small node is left alone.
 */
import v8 from 'node:v8';
import vm from 'node:vm';

/** A heap of fewer bytes is not worth the while: collecting takes about a millisecond for each MB that is kept. */
export const COLLECTED_BYTES_MIN = 96 * 1024 * 1024;

/** Collects the garbage of the start if the heap is large; whether it did. */
export function collectStartGarbage(): boolean {
  if (process.memoryUsage().heapUsed < COLLECTED_BYTES_MIN) return false;
  // The only way to ask for it that needs no flag on the command line.
  v8.setFlagsFromString('--expose-gc');
  const collect: unknown = vm.runInNewContext('gc');
  v8.setFlagsFromString('--no-expose-gc');
  if (typeof collect !== 'function') return false;
  collect();
  collect(); // What the first freed is given back to the system by the second.
  return true;
}
