/**
 * Runs one machine, a node as a rule, in the real world: an event loop's turn takes all inputs that have come, one step
 * each, and a wake behind them where one is due; it carries the effects out in order, and answers leave when it ends.
 *
 * Invariants: `step` is never called from within `step`; the clock changes between steps only; at most one timer waits.
 * A throw out of a step is our own mistake: the node ends at once, what the failed step asked for is dropped, nothing
 * is acknowledged afterwards, and the exit code is EXIT_SOFTWARE. A crash of the process is a crash of the node.
 */
import { randomBytes } from 'node:crypto';
import { EXIT_SOFTWARE } from '../core/lib/exit-codes.ts';
import { createQueue, dequeue, enqueue, type Queue } from '../core/lib/queue.ts';
import type { DiskInput, Effect, Env, HostEffect, Input, NetworkInput, Outbox } from '../core/lib/world.ts';
import type { Codecs } from '../core/protocol/compression.ts';
import { realCrc32c } from './checksum.ts';
import type { Disk } from './disk/disk.ts';
import { createLoans, type Loans } from './disk/loans.ts';
import { createNet, type Net } from './net/net.ts';

/** What a host runs: a node, or a toy in its place. */
export interface Machine {
  step(env: Env, input: Input, out: Outbox): void;
  /** On the clock of `env.nowMs`; Infinity for never. */
  deadlineMs(): number;
}

/** The level of a line for the operator. */
export type SayLevel = Extract<HostEffect, { kind: 'say' }>['level'];

/** Takes a line for the operator. */
export type Say = (level: SayLevel, text: string, fields: ReadonlyMap<string, string | number | boolean>) => void;

/** What a machine is given. */
export interface HostOptions {
  /** What the disk lends for large reads, the network gives back once it has been sent. */
  readonly createDisk: (complete: (input: DiskInput) => void, loans: Loans) => Disk;
  readonly codecs: Codecs;
  readonly say: Say;
  /** Bytes of half-received frames on all connections. */
  readonly frameBudgetBytes: number;
  readonly connectionsMax: number;
  /** Whether the node alone keeps the process running. */
  readonly keepsProcessAlive: boolean;
  /** How long its end waits for the disk, ms; DISK_SHUT_MS_MAX if not given. */
  readonly diskShutMsMax?: number;
}

/** Where a node listens. */
export type Listening = Extract<NetworkInput, { kind: 'listening' }>;

/** How a node ended. */
export interface Exit {
  /** 0 after a clean stop, EXIT_SOFTWARE after a mistake of ours, else what the node said. */
  readonly code: number;
  readonly reason: string;
}

/** A running machine. */
export interface Host {
  /** Resolves with its addresses once it serves, with its end if it ends before that. */
  readonly ready: Promise<readonly Listening[] | Exit>;
  /** Resolves once it has ended and nothing of it is open any more, but what a disk that does not answer holds. */
  readonly exited: Promise<Exit>;
  /** Asks it to stop cleanly; `exited` tells when. */
  stop(): void;
  /** Ends it at once, as a crash would. */
  abort(reason: string): void;
}

/** Inputs in one turn of the event loop, so that a flood cannot keep sockets from being flushed. */
export const TURN_INPUTS_MAX = 4_096;
/** How long the end of a node waits for the disk, ms: a sync that a broken device never answers must not hold it up. */
export const DISK_SHUT_MS_MAX = 10_000;
/** The longest time that a timer of Node can wait. */
const TIMER_MS_MAX = 2 ** 31 - 1;

interface State {
  readonly machine: Machine;
  readonly options: HostOptions;
  readonly env: { nowMs: number; wallMs: number } & Env;
  readonly disk: Disk;
  readonly net: Net;
  readonly out: Outbox;
  queue: Queue<Input>;
  scheduled: boolean;
  ended: boolean;
  timer: NodeJS.Timeout | null;
  /** When the timer fires, on the clock of `env.nowMs`. */
  timerMs: number;
  readonly listening: Listening[];
  readonly settleReady: (outcome: readonly Listening[] | Exit) => void;
  readonly settleExited: (exit: Exit) => void;
}

/** Starts a machine: its first input is 'start', taken in a later turn. */
export function runMachine(machine: Machine, options: HostOptions): Host {
  const ready = deferred<readonly Listening[] | Exit>();
  const exited = deferred<Exit>();
  const loans = createLoans();
  const accept = (input: Input): void => take(state, input);
  const state: State = {
    machine,
    options,
    env: { nowMs: 0, wallMs: 0, crc32c: realCrc32c, codecs: options.codecs, reached: () => {} },
    disk: options.createDisk(accept, loans),
    net: createNet(accept, {
      released: loans.giveBack,
      isBehind: () => state.queue.size > 0,
      frameBudgetBytes: options.frameBudgetBytes,
      connectionsMax: options.connectionsMax,
      trouble: (text) => options.say('error', text, new Map()),
      keepsProcessAlive: options.keepsProcessAlive,
    }),
    out: [],
    queue: createQueue(),
    scheduled: false,
    ended: false,
    timer: null,
    timerMs: Number.POSITIVE_INFINITY,
    listening: [],
    settleReady: ready.resolve,
    settleExited: exited.resolve,
  };
  accept({ kind: 'start', seed: randomBytes(4).readUInt32LE() });
  return {
    ready: ready.promise,
    exited: exited.promise,
    stop: () => accept({ kind: 'stop' }),
    abort: (reason) => end(state, { code: EXIT_SOFTWARE, reason }, true),
  };
}

function take(state: State, input: Input): void {
  if (state.ended) return;
  enqueue(state.queue, input);
  schedule(state);
}

/** After the poll phase: by then all sockets and files that were ready have spoken. */
function schedule(state: State): void {
  if (state.scheduled) return;
  state.scheduled = true;
  setImmediate(turn, state);
}

function turn(state: State): void {
  try {
    let isWoken = false;
    for (let taken = 0; taken < TURN_INPUTS_MAX && !state.ended; taken++) {
      const input = dequeue(state.queue);
      if (input !== undefined) {
        takeStep(state, input);
        continue;
      }
      // What the machine has put off until now, it has put off until all that has come is taken: no timer is so short.
      if (isWoken || state.machine.deadlineMs() > performance.now()) break;
      isWoken = true;
      takeStep(state, { kind: 'wake' });
    }
  } catch (error) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    state.options.say('error', `A mistake inside Tidemark has ended this node: ${text}`, new Map());
    end(state, { code: EXIT_SOFTWARE, reason: error instanceof Error ? error.message : String(error) }, true);
  }
  state.scheduled = false;
  if (state.ended) return;
  if (state.queue.size > 0) schedule(state);
  armTimer(state);
}

function takeStep(state: State, input: Input): void {
  const { env, machine, out } = state;
  env.nowMs = Math.floor(performance.now());
  env.wallMs = Date.now();
  if (input.kind === 'listening') state.listening.push(input);
  machine.step(env, input, out);
  for (let i = 0; i < out.length && !state.ended; i++) carryOut(state, out[i] as Effect);
  out.length = 0;
}

function carryOut(state: State, effect: Effect): void {
  switch (effect.kind) {
    case 'listen':
    case 'unlisten':
    case 'connect':
    case 'send':
    case 'pause':
    case 'resume':
    case 'close':
      state.net.execute(effect);
      return;
    case 'entropy': {
      const bytes = new Uint8Array(randomBytes(effect.length));
      take(state, { kind: 'entropy', owner: effect.owner, ticket: effect.ticket, bytes });
      return;
    }
    case 'say':
      state.options.say(effect.level, effect.text, effect.fields);
      return;
    case 'ready':
      state.settleReady(state.listening);
      return;
    case 'exit':
      end(state, { code: effect.code, reason: effect.reason }, false);
      return;
    default:
      state.disk.execute(effect);
  }
}

/** A timer that fires too early is legal, so one is set anew only when it would fire too late. */
function armTimer(state: State): void {
  const deadlineMs = state.machine.deadlineMs();
  if (deadlineMs >= state.timerMs) return;
  if (state.timer !== null) clearTimeout(state.timer);
  const delayMs = Math.min(Math.max(1, deadlineMs - Math.floor(performance.now())), TIMER_MS_MAX);
  state.timerMs = deadlineMs;
  state.timer = setTimeout(() => {
    state.timer = null;
    state.timerMs = Number.POSITIVE_INFINITY;
    take(state, { kind: 'wake' });
  }, delayMs);
  if (!state.options.keepsProcessAlive) state.timer.unref();
}

function end(state: State, exit: Exit, abruptly: boolean): void {
  if (state.ended) return;
  state.ended = true;
  if (state.timer !== null) clearTimeout(state.timer);
  state.queue = createQueue();
  Promise.all([state.net.shut(abruptly), shutDisk(state)]).then(
    () => finish(state, exit),
    () => finish(state, exit),
  );
}

/** What the disk still does after the limit of time was promised to nobody: nothing was acknowledged for it. */
async function shutDisk({ disk, options }: State): Promise<void> {
  const late = deferred<'late'>();
  const timer = setTimeout(() => late.resolve('late'), options.diskShutMsMax ?? DISK_SHUT_MS_MAX);
  const outcome = await Promise.race([disk.shut(), late.promise]).finally(() => clearTimeout(timer));
  if (outcome !== 'late') return;
  options.say('error', 'the disk does not answer; this node ends without waiting for it any longer', new Map());
}

function finish(state: State, exit: Exit): void {
  state.settleReady(exit); // Without effect when it was ready.
  state.settleExited(exit);
}

function deferred<T>(): { readonly promise: Promise<T>; readonly resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((resolvePromise) => {
    resolve = resolvePromise;
  });
  return { promise, resolve };
}
