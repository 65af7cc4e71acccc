/**
 * A toy for tests of a network between nodes: listens, dials every other host, and says numbers to each, on one
 * connection for each of two API keys. It writes down what it hears. A connection that ends is dialled again.
 */
import type { Env, Input, Outbox } from '../../core/lib/world.ts';
import { asAnyMachine } from '../../runtime-sim/actor.ts';

/** The keys of what is said. */
export const KEYS: readonly number[] = [1, 63];
const EVERY_MS = 10;
const PORT = 7_000;

/** Something that was heard. */
export interface Heard {
  readonly from: number;
  readonly apiKey: number;
  readonly number: number;
  readonly atMs: number;
}

/** Whom to talk to. */
export interface TalkerOptions {
  readonly self: number;
  readonly hosts: readonly string[];
}

/** Its state. */
export interface Talker {
  readonly options: TalkerOptions;
  readonly heard: Heard[];
  /** By connection: whom it leads to, and the key that is said on it. */
  readonly lines: Map<number, { readonly to: number; readonly apiKey: number; isUp: boolean; said: number }>;
  dialled: number;
  nextMs: number;
}

function dial(state: Talker, to: number, apiKey: number, out: Outbox): void {
  const host = state.options.hosts[to];
  if (host === undefined) return;
  state.dialled += 1;
  const connection = -state.dialled;
  state.lines.set(connection, { to, apiKey, isUp: false, said: 0 });
  out.push({ kind: 'connect', connection, host, port: PORT, timeoutMs: 500, frameBytesMax: 1_000 });
}

function frame(from: number, apiKey: number, number: number): Uint8Array {
  const bytes = new Uint8Array(14);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, 10);
  view.setInt16(4, apiKey);
  view.setUint32(6, from);
  view.setUint32(10, number);
  return bytes;
}

function step(state: Talker, env: Env, input: Input, out: Outbox): void {
  switch (input.kind) {
    case 'start': {
      const endless = { frameBytesMax: 1_000, idleMs: Number.POSITIVE_INFINITY };
      out.push({ kind: 'listen', listener: 0, host: '', port: PORT, ...endless });
      state.nextMs = env.nowMs + EVERY_MS;
      state.options.hosts.forEach((_, to) => {
        if (to !== state.options.self) for (const apiKey of KEYS) dial(state, to, apiKey, out);
      });
      break;
    }
    case 'connected': {
      const line = state.lines.get(input.connection);
      if (line !== undefined) line.isUp = true;
      break;
    }
    case 'connectFailed':
    case 'closed': {
      const line = state.lines.get(input.connection);
      state.lines.delete(input.connection);
      if (line !== undefined) dial(state, line.to, line.apiKey, out);
      break;
    }
    case 'frame': {
      const view = new DataView(input.bytes.buffer, input.bytes.byteOffset, input.bytes.byteLength);
      const said = { apiKey: view.getInt16(0), from: view.getUint32(2), number: view.getUint32(6) };
      state.heard.push({ ...said, atMs: env.nowMs });
      break;
    }
    case 'wake':
      if (env.nowMs < state.nextMs) break;
      state.nextMs = env.nowMs + EVERY_MS;
      for (const [connection, line] of state.lines) {
        if (!line.isUp) continue;
        line.said += 1;
        out.push({ kind: 'send', connection, parts: [frame(state.options.self, line.apiKey, line.said)] });
      }
      break;
    default:
  }
}

/** The machine of a talker. */
export const TALKER = asAnyMachine<Talker, TalkerOptions>({
  create: (options) => ({
    options,
    heard: [],
    lines: new Map(),
    dialled: 0,
    nextMs: Number.POSITIVE_INFINITY,
  }),
  step,
  deadlineMs: ({ nextMs }) => nextMs,
  check: () => {},
});
