/** A worker of a sweep, a process: plays the seeds that it is sent, one after the other, and sends back summaries. */
import { runSeed } from '../../../runtime-sim/run.ts';
import { scenariosFor } from './arguments.ts';
import { type Summary, summarize } from './summary.ts';

/** What a worker is started with: its first argument, as JSON. */
export interface WorkerOptions {
  readonly scenario: string | null;
  readonly isUnlimited: boolean;
  readonly durationMs: number | null;
  readonly checks: boolean;
  readonly isTwice: boolean;
}

/** What a worker says: that it can play, then what it has played. */
export type WorkerMessage = 'ready' | Summary;

const options = JSON.parse(process.argv[2] ?? '') as WorkerOptions;
const scenarios = scenariosFor(options.scenario, options.isUnlimited);

function play(seed: number): ReturnType<typeof runSeed> {
  const durationMs = options.durationMs === null ? {} : { durationMs: options.durationMs };
  return runSeed({ seed, scenarios, checks: options.checks, ...durationMs });
}

function say(message: WorkerMessage): void {
  process.send?.(message);
}

process.on('message', (seed: number) => {
  const startedAt = performance.now();
  const result = play(seed);
  const tookMs = performance.now() - startedAt;
  const isSame = !options.isTwice || play(seed).hash === result.hash;
  say(summarize(result, tookMs, isSame));
});
say('ready');
