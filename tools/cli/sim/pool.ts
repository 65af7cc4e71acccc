/**
 * Plays many seeds on all cores: processes that are each sent one seed at a time.
 *
 * They are processes and no threads, because an engine that fails takes its whole process with it. A worker that dies
 * by itself ends nothing: a fresh one takes its place and plays its seeds again. A seed at which a second worker dies
 * is given up and told as a failure. Workers that die before they can play anything end the sweep.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { firstLines } from './child.ts';
import type { Summary } from './summary.ts';
import type { WorkerMessage, WorkerOptions } from './worker.ts';

/** Two seeds are with each worker, so that none ever waits. */
const AHEAD = 2;
/** At the second death the seed is given up. */
const DEATHS_MAX = 2;
/** Starts in a row of a worker that dies before it can play. */
const STARTS_MAX = 3;
/** Characters that are kept of what a worker says while it dies: the first ones name the cause. */
const SAID_MAX = 2_000;

/** A worker has died. */
export interface Death {
  /** The seed that it was playing. */
  readonly seed: number;
  /** How it ended, and the first lines of what it said. */
  readonly how: string;
  /** Another worker had died at the seed before: it is not played again. */
  readonly isGivenUp: boolean;
}

/** Who hears of the runs. Both stop the rest by answering false. */
export interface Listener {
  /** A run has ended; in no order. */
  readonly onSummary: (summary: Summary) => boolean;
  readonly onDeath: (death: Death) => boolean;
}

/** All that the workers share. */
interface Play {
  readonly seeds: Iterator<number>;
  readonly options: WorkerOptions;
  readonly listener: Listener;
  /** The workers' module. */
  readonly program: string;
  /** Seeds of workers that died: they come first. */
  readonly again: number[];
  /** By seed. */
  readonly deaths: Map<number, number>;
  readonly living: Set<ChildProcess>;
  isStopped: boolean;
}

/** How the life of one worker ended. */
interface End {
  /** It could play. */
  readonly wasReady: boolean;
  /** Seeds that it had, in order: it was playing the first. None where all was played. */
  readonly held: readonly number[];
  readonly how: string;
}

/** Plays the seeds. Rejects where no worker can be kept alive. `program` is another module than `worker.ts`. */
export async function playSeeds(
  seeds: Iterator<number>,
  workers: number,
  options: WorkerOptions,
  listener: Listener,
  program = ownWorker(),
): Promise<void> {
  const play: Play = {
    seeds,
    options,
    listener,
    program,
    again: [],
    deaths: new Map(),
    living: new Set(),
    isStopped: false,
  };
  await Promise.all(Array.from({ length: workers }, () => keepWorker(play)));
}

function ownWorker(): string {
  return fileURLToPath(new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js', import.meta.url));
}

/** One worker after the other until there is nothing left to play. */
async function keepWorker(play: Play): Promise<void> {
  let starts = 0;
  for (;;) {
    const { wasReady, held, how } = await runWorker(play);
    if (play.isStopped) return;
    if (wasReady && held.length === 0) return;
    starts = wasReady ? 0 : starts + 1;
    play.again.push(...held);
    if (starts === STARTS_MAX) throw new Error(`No worker comes up: it ${how}`);
    if (wasReady) bury(play, held[0] as number, how);
  }
}

function bury(play: Play, seed: number, how: string): void {
  const deaths = (play.deaths.get(seed) ?? 0) + 1;
  play.deaths.set(seed, deaths);
  const isGivenUp = deaths >= DEATHS_MAX;
  if (isGivenUp) play.again.splice(play.again.indexOf(seed), 1);
  if (!play.listener.onDeath({ seed, how, isGivenUp })) stop(play);
}

/** Nothing more is to be heard. */
function stop(play: Play): void {
  play.isStopped = true;
  for (const worker of play.living) worker.kill('SIGKILL');
}

function nextSeed(play: Play): number | null {
  const again = play.again.shift();
  if (again !== undefined) return again;
  const next = play.seeds.next();
  return next.done === true ? null : next.value;
}

/** Starts a worker and feeds it until it has played all, or dies. */
function runWorker(play: Play): Promise<End> {
  return new Promise((resolve, reject) => {
    const worker = fork(play.program, [JSON.stringify(play.options)], { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
    play.living.add(worker);
    const held: number[] = [];
    let wasReady = false;
    const said = firstWords(worker);
    const feed = (): void => {
      while (held.length < AHEAD) {
        const seed = nextSeed(play);
        if (seed === null) break;
        held.push(seed);
        // A worker that has just died is heard of by its end.
        worker.send(seed, () => {});
      }
      if (held.length === 0) worker.kill('SIGKILL');
    };
    worker.on('message', (message: WorkerMessage) => {
      if (play.isStopped) return;
      if (message === 'ready') wasReady = true;
      else {
        held.splice(held.indexOf(message.seed), 1);
        if (!play.listener.onSummary(message)) stop(play);
      }
      if (!play.isStopped) feed();
    });
    worker.on('error', reject);
    worker.on('close', (code, signal) => {
      play.living.delete(worker);
      const how = signal === null ? `ended with ${code}` : `was ended by ${signal}`;
      resolve({ wasReady, held, how: `${how}${said()}` });
    });
  });
}

/** The first lines that the worker writes to its standard error. */
function firstWords(worker: ChildProcess): () => string {
  let said = '';
  worker.stderr?.setEncoding('utf8').on('data', (text: string) => {
    if (said.length < SAID_MAX) said += text;
  });
  return () => {
    const words = firstLines(said, SAID_MAX / 4);
    return words === '' ? '' : `: ${words}`;
  };
}
