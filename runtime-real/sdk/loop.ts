/**
 * Runs one machine of a client in the real world: its inputs one after another, its effects on real sockets, one timer.
 *
 * What a caller does between inputs (`act`) is carried out at once; a machine that then wants to be woken is woken
 * later in the same turn of the event loop, so that what one turn gives is sent together. `step` is never called from
 * within `step`.
 */
import { performance } from 'node:perf_hooks';
import type { Env, NetworkInput, Outbox } from '../../core/lib/world.ts';
import { realCrc32c } from '../checksum.ts';
import { prepareCodecs, realCodecs } from '../codecs.ts';
import { createNet, type Net } from '../net/net.ts';
import { compilePattern } from '../patterns.ts';

/** What a loop runs. */
export interface ClientMachine {
  readonly step: (env: Env, input: NetworkInput | { readonly kind: 'wake' }, out: Outbox) => void;
  /** On the clock of `env.nowMs`; Infinity for never. */
  readonly deadlineMs: () => number;
  /** Called after every step and every act: events may have come. */
  readonly afterwards: () => void;
}

/** A running machine. */
export interface Loop {
  /** Does something with the machine, between two steps. */
  act(work: (env: Env, out: Outbox) => void): void;
  /** Closes all connections; the machine is not called any more. */
  close(): Promise<void>;
}

/** The longest time that a timer of Node can wait. */
const TIMER_MS_MAX = 2 ** 31 - 1;
const FRAME_BUDGET_BYTES = 256 * 1024 * 1024;

interface State {
  readonly machine: ClientMachine;
  readonly env: { nowMs: number; wallMs: number } & Env;
  readonly net: Net;
  readonly queue: NetworkInput[];
  isScheduled: boolean;
  isClosed: boolean;
  timer: NodeJS.Timeout | null;
}

/** Runs a machine until the loop is closed. Connections keep the process alive; an idle machine does not. */
export function startLoop(machine: ClientMachine): Loop {
  void prepareCodecs();
  const queue: NetworkInput[] = [];
  const net = createNet(
    (input) => {
      queue.push(input);
      schedule(state);
    },
    { frameBudgetBytes: FRAME_BUDGET_BYTES, connectionsMax: 0, keepsProcessAlive: true, trouble: () => {} },
  );
  const env = { nowMs: 0, wallMs: 0, crc32c: realCrc32c, codecs: realCodecs(), compilePattern, reached: () => {} };
  const state: State = { machine, env, net, queue, isScheduled: false, isClosed: false, timer: null };
  arm(state);
  return {
    act: (work) => act(state, work),
    close: async () => {
      state.isClosed = true;
      if (state.timer !== null) clearTimeout(state.timer);
      await state.net.shut(false);
    },
  };
}

function schedule(state: State): void {
  if (state.isScheduled || state.isClosed) return;
  state.isScheduled = true;
  setImmediate(() => {
    state.isScheduled = false;
    if (!state.isClosed) turn(state);
  });
}

function tick(state: State): void {
  state.env.nowMs = Math.floor(performance.now());
  state.env.wallMs = Date.now();
}

function turn(state: State): void {
  tick(state);
  const inputs = state.queue.splice(0);
  for (const input of inputs) step(state, input);
  if (state.machine.deadlineMs() <= state.env.nowMs) step(state, { kind: 'wake' });
  state.machine.afterwards();
  arm(state);
}

function step(state: State, input: NetworkInput | { readonly kind: 'wake' }): void {
  const out: Outbox = [];
  state.machine.step(state.env, input, out);
  carryOut(state, out);
}

function act(state: State, work: (env: Env, out: Outbox) => void): void {
  tick(state);
  const out: Outbox = [];
  work(state.env, out);
  carryOut(state, out);
  state.machine.afterwards();
  if (!state.isClosed) arm(state);
}

function carryOut(state: State, out: Outbox): void {
  for (const effect of out) {
    // A client machine asks for nothing but the network.
    if ('connection' in effect) state.net.execute(effect);
  }
}

function arm(state: State): void {
  if (state.timer !== null) clearTimeout(state.timer);
  state.timer = null;
  const deadlineMs = state.machine.deadlineMs();
  if (deadlineMs === Number.POSITIVE_INFINITY) return;
  const waitMs = deadlineMs - performance.now();
  if (waitMs <= 0) {
    schedule(state);
    return;
  }
  state.timer = setTimeout(() => schedule(state), Math.min(Math.ceil(waitMs), TIMER_MS_MAX));
}
