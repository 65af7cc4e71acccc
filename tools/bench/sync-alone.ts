/**
 * What the disk alone takes: small appends to one file, each followed by its fdatasync. No broker that syncs every
 * batch answers faster, so that this is the floor below the row of latency, measured in between its runs.
 */
import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';

const SAMPLES = 1000;
/** A batch with one record of 100 bytes, roughly. */
const APPEND_BYTES = 170;

/** Milliseconds by percentile, under the names that the Java client gives them. The file goes again. */
export function syncAlone(folder: string): ReadonlyMap<string, number> {
  const path = join(folder, 'sync-alone');
  const file = openSync(path, 'a');
  const bytes = new Uint8Array(APPEND_BYTES);
  const took: number[] = [];
  try {
    for (let i = 0; i < SAMPLES; i++) {
      writeSync(file, bytes);
      const before = performance.now();
      fdatasyncSync(file);
      took.push(performance.now() - before);
    }
  } finally {
    closeSync(file);
    rmSync(path);
  }
  took.sort((a, b) => a - b);
  const at = (share: number): number => took[Math.min(SAMPLES - 1, Math.floor(SAMPLES * share))] ?? Number.NaN;
  return new Map([
    ['p50', at(0.5)],
    ['p95', at(0.95)],
    ['p99', at(0.99)],
    ['p999', at(0.999)],
    ['max', at(1)],
  ]);
}
