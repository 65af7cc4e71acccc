/** Plays many seeds on all cores: worker threads that are each sent one seed at a time. */
import { Worker } from 'node:worker_threads';
import type { Summary } from './summary.ts';
import type { WorkerOptions } from './worker.ts';

/** Two seeds are with each worker, so that none ever waits. */
const AHEAD = 2;

/**
 * Plays the seeds; `onSummary` hears of each run as it ends, in no order, and stops the rest by answering false.
 * Rejects when a worker dies, naming a seed that it had.
 */
export async function playSeeds(
  seeds: Iterator<number>,
  workers: number,
  options: WorkerOptions,
  onSummary: (summary: Summary) => boolean,
): Promise<void> {
  let isStopped = false;
  const runWorker = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const isSource = import.meta.url.endsWith('.ts');
      const worker = new Worker(new URL(isSource ? './worker.ts' : './worker.js', import.meta.url), {
        workerData: options,
      });
      const held = new Set<number>();
      const feed = (): void => {
        while (held.size < AHEAD && !isStopped) {
          const next = seeds.next();
          if (next.done === true) break;
          held.add(next.value);
          worker.postMessage(next.value);
        }
        if (held.size === 0) void worker.terminate().then(() => resolve());
      };
      worker.on('message', (summary: Summary) => {
        held.delete(summary.seed);
        if (!isStopped && !onSummary(summary)) isStopped = true;
        if (isStopped) void worker.terminate().then(() => resolve());
        else feed();
      });
      worker.on('error', (error) => {
        reject(new Error(`A worker died at one of the seeds ${[...held].join(', ')}: ${error.message}`));
      });
      feed();
    });
  await Promise.all(Array.from({ length: workers }, runWorker));
}
