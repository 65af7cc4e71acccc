/** A worker thread of a sweep: plays the seeds that it is sent, one after the other, and sends back summaries. */
import { parentPort, workerData } from 'node:worker_threads';
import { runSeed } from '../../../runtime-sim/run.ts';
import { SCENARIOS, WAITING_SCENARIOS } from '../../../scenarios/list.ts';
import { summarize } from './summary.ts';

/** What a worker is started with. */
export interface WorkerOptions {
  readonly scenario: string | null;
  readonly durationMs: number | null;
  readonly checks: boolean;
  readonly isTwice: boolean;
}

const options = workerData as WorkerOptions;
const scenarios =
  options.scenario === null
    ? SCENARIOS
    : [...SCENARIOS, ...WAITING_SCENARIOS].filter(({ name }) => name === options.scenario);

function play(seed: number): ReturnType<typeof runSeed> {
  const durationMs = options.durationMs === null ? {} : { durationMs: options.durationMs };
  return runSeed({ seed, scenarios, checks: options.checks, ...durationMs });
}

parentPort?.on('message', (seed: number) => {
  const startedAt = performance.now();
  const result = play(seed);
  const tookMs = performance.now() - startedAt;
  const isSame = !options.isTwice || play(seed).hash === result.hash;
  parentPort?.postMessage(summarize(result, tookMs, isSame));
});
