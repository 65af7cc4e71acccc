/**
 * A toy cluster for tests of the client: a few brokers that share one log in memory, speak real frames, keep Kafka's
 * rules for sequence numbers, and misbehave as the test says. Time is virtual; dice come from a seed.
 *
 * Connections carry whole frames with a delay. When one is reset, each frame under way is lost or still arrives, even
 * much later, as frames in a socket's buffer do; answers to it go nowhere.
 */
import { throwDice } from '../../core/channel/backoff.ts';
import { crc32c } from '../../core/lib/crc32c.ts';
import type { Env, Input, Outbox } from '../../core/lib/world.ts';
import { peekRequest } from '../../core/protocol/codec.ts';
import { addTopic, serve } from './toy-broker.ts';
import { serveGroups, type ToyGroups } from './toy-groups.ts';
import { codecs, join, type ToyPartition } from './toy-log.ts';

/** What happens to one request: drawn by the test. */
export type Mishap =
  | { kind: 'none' }
  /** The request is not acted on; the connection is reset. */
  | { kind: 'resetBefore' }
  /** It is acted on, and the connection is reset instead of an answer. */
  | { kind: 'resetAfter' }
  /** Acted on or not, no answer ever comes. */
  | { kind: 'silentBefore' }
  | { kind: 'silentAfter' }
  | { kind: 'error'; error: number; acts: boolean }
  | { kind: 'garbage' }
  | { kind: 'wrongCorrelation' };

interface Connection {
  readonly id: number;
  readonly broker: number;
  readonly machine: number;
  isOpen: boolean;
  /** Answers leave in order: no earlier than this. */
  busyUntilMs: number;
  lateUntilMs: number;
  /** Answers in the order of their requests; null where one is yet to come. */
  readonly slots: { bytes: Uint8Array | null }[];
}

export interface Machine {
  step: (env: Env, input: Input, out: Outbox) => void;
  deadlineMs: () => number;
  check: () => void;
}

type Event =
  | { kind: 'input'; machine: number; connection: Connection | null; input: Input }
  | { kind: 'arrive'; connection: Connection; frame: Uint8Array; isLate: boolean }
  | { kind: 'do'; act: () => void };

export interface ToyOptions {
  seed?: number;
  brokers?: number;
  topics?: Record<string, number>;
  /** Per API key, the versions to advertise. */
  versions?: Map<number, { min: number; max: number }>;
  mishap?: (toy: Toy, request: { apiKey: number; version: number; broker: number }) => Mishap;
  delayMaxMs?: number;
  /** Whether the broker takes any first number of a producer it does not know, as Kafka does. */
  createsTopics?: boolean;
  /** A broker that serves readers of a rack although it leads nothing, as far as its copy goes. */
  nearby?: { readonly broker: number; readonly rack: string; end: number };
}

export interface Toy {
  nowMs: number;
  readonly options: ToyOptions;
  dice: number;
  readonly up: Set<number>;
  readonly topics: Map<string, { id: string; partitions: ToyPartition[] }>;
  readonly machines: Machine[];
  readonly events: { atMs: number; order: number; event: Event }[];
  readonly connections: Map<number, Connection>;
  readonly requests: { apiKey: number; version: number; broker: number; body: unknown }[];
  readonly connects: { atMs: number; port: number }[];
  readonly reached: Map<string, number>;
  groups: ToyGroups | null;
  producerIds: number;
  order: number;
  sessions: number;
}

export const PORT = 9000;

export function createToy(options: ToyOptions = {}): Toy {
  const toy: Toy = {
    nowMs: 1000,
    options,
    dice: options.seed ?? 1,
    up: new Set(),
    topics: new Map(),
    machines: [],
    events: [],
    connections: new Map(),
    requests: [],
    connects: [],
    reached: new Map(),
    groups: null,
    producerIds: 100,
    order: 0,
    sessions: 0,
  };
  for (let broker = 0; broker < (options.brokers ?? 1); broker++) toy.up.add(broker);
  for (const [name, count] of Object.entries(options.topics ?? { t: 1 })) addTopic(toy, name, count);
  return toy;
}

export function partitionOf(toy: Toy, topic = 't', index = 0): ToyPartition {
  const found = toy.topics.get(topic)?.partitions[index];
  if (found === undefined) throw new Error('no such partition');
  return found;
}

export function roll(toy: Toy, sides: number): number {
  return throwDice(toy, sides);
}

export function env(toy: Toy): Env {
  const reached = (mark: string): void => {
    toy.reached.set(mark, (toy.reached.get(mark) ?? 0) + 1);
  };
  return { nowMs: toy.nowMs, wallMs: 1_700_000_000_000 + toy.nowMs, crc32c, codecs, reached };
}

export function later(toy: Toy, delayMs: number, event: Event): void {
  toy.order += 1;
  toy.events.push({ atMs: toy.nowMs + delayMs, order: toy.order, event });
}

export function at(toy: Toy, atMs: number, act: () => void): void {
  later(toy, Math.max(0, atMs - toy.nowMs), { kind: 'do', act });
}

function delay(toy: Toy): number {
  return 1 + roll(toy, toy.options.delayMaxMs ?? 5);
}

/** Runs until `untilMs`, or until `isDone` holds between two events. */
export function run(toy: Toy, untilMs: number, isDone: () => boolean = () => false): void {
  for (let steps = 0; steps < 2_000_000; steps++) {
    if (isDone()) return;
    let next = -1;
    for (let i = 0; i < toy.events.length; i++) {
      const a = toy.events[i] as (typeof toy.events)[number];
      const b = toy.events[next];
      if (b === undefined || a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order)) next = i;
    }
    let wakeMs = Number.POSITIVE_INFINITY;
    let sleeper = -1;
    for (const [index, machine] of toy.machines.entries()) {
      const deadlineMs = machine.deadlineMs();
      if (deadlineMs < wakeMs) {
        wakeMs = deadlineMs;
        sleeper = index;
      }
    }
    const eventMs = toy.events[next]?.atMs ?? Number.POSITIVE_INFINITY;
    const whenMs = Math.min(eventMs, wakeMs);
    if (whenMs > untilMs) {
      toy.nowMs = Math.max(toy.nowMs, untilMs);
      return;
    }
    toy.nowMs = Math.max(toy.nowMs, whenMs);
    if (wakeMs < eventMs) {
      stepMachine(toy, sleeper, { kind: 'wake' });
    } else {
      const [item] = toy.events.splice(next, 1);
      if (item !== undefined) happen(toy, item.event);
    }
  }
  throw new Error('the toy did not come to rest');
}

function stepMachine(toy: Toy, index: number, input: Input): void {
  const machine = toy.machines[index];
  if (machine === undefined) return;
  const out: Outbox = [];
  machine.step(env(toy), input, out);
  machine.check();
  carryOut(toy, index, out);
}

export function carryOut(toy: Toy, machine: number, out: Outbox): void {
  for (const effect of out) {
    if (effect.kind === 'connect') {
      const broker = effect.port - PORT;
      toy.connects.push({ atMs: toy.nowMs, port: effect.port });
      const id = effect.connection;
      const connection = { id, broker, machine, isOpen: true, busyUntilMs: 0, lateUntilMs: 0, slots: [] };
      toy.connections.set(id, connection);
      if (toy.up.has(broker)) {
        later(toy, delay(toy), { kind: 'input', machine, connection, input: { kind: 'connected', connection: id } });
      } else {
        const input = { kind: 'connectFailed', connection: id, reason: 'refused' } as const;
        later(toy, 1, { kind: 'input', machine, connection: null, input });
        connection.isOpen = false;
      }
    } else if (effect.kind === 'send') {
      const connection = toy.connections.get(effect.connection);
      if (connection === undefined) continue;
      const whole = join(effect.parts);
      const delayMs = Math.max(delay(toy), connection.lateUntilMs - toy.nowMs);
      connection.lateUntilMs = toy.nowMs + delayMs;
      later(toy, delayMs, { kind: 'arrive', connection, frame: whole.subarray(4), isLate: false });
      const input = { kind: 'sent', connection: effect.connection, sizeBytes: whole.length } as const;
      later(toy, delayMs, { kind: 'input', machine, connection, input });
    } else if (effect.kind === 'close') {
      const connection = toy.connections.get(effect.connection);
      if (connection?.isOpen) cut(toy, connection);
      const input = { kind: 'closed', connection: effect.connection, reason: 'asked', detail: '' } as const;
      later(toy, 1, { kind: 'input', machine, connection: null, input });
    }
  }
}

/** Ends a connection without telling; what is under way is lost or comes late, in order. */
function cut(toy: Toy, connection: Connection): void {
  connection.isOpen = false;
  const comesLate = roll(toy, 2) === 0;
  const lateMs = roll(toy, 3000);
  for (const item of toy.events) {
    if (item.event.kind !== 'arrive' || item.event.connection !== connection) continue;
    if (comesLate) item.atMs += lateMs;
    item.event.isLate = true;
  }
  if (comesLate) return;
  const kept = toy.events.filter(({ event }) => event.kind !== 'arrive' || event.connection !== connection);
  toy.events.splice(0, toy.events.length, ...kept);
}

/** Resets a connection: the client is told. */
export function reset(toy: Toy, connection: Connection): void {
  if (!connection.isOpen) return;
  cut(toy, connection);
  const input = { kind: 'closed', connection: connection.id, reason: 'reset', detail: '' } as const;
  later(toy, 1, { kind: 'input', machine: connection.machine, connection: null, input });
}

/** Takes a broker away: its connections are reset, new ones refused. */
export function takeDown(toy: Toy, broker: number): void {
  toy.up.delete(broker);
  for (const connection of toy.connections.values()) if (connection.broker === broker) reset(toy, connection);
}

function happen(toy: Toy, event: Event): void {
  if (event.kind === 'do') {
    event.act();
  } else if (event.kind === 'input') {
    if (event.connection === null || event.connection.isOpen) stepMachine(toy, event.machine, event.input);
  } else if (event.connection.isOpen || event.isLate) {
    arrive(toy, event.connection, event.frame, event.isLate);
  }
}

function arrive(toy: Toy, connection: Connection, frame: Uint8Array, isLate: boolean): void {
  const head = peekRequest(frame);
  if (head === null || !toy.up.has(connection.broker)) return;
  const request = { apiKey: head.apiKey, version: head.apiVersion, broker: connection.broker };
  const mishap: Mishap = isLate ? { kind: 'none' } : (toy.options.mishap?.(toy, request) ?? { kind: 'none' });
  if (mishap.kind === 'resetBefore') reset(toy, connection);
  if (mishap.kind === 'resetBefore') return;
  if (mishap.kind === 'silentBefore') return;
  const correlationId = mishap.kind === 'wrongCorrelation' ? head.correlationId + 1 : head.correlationId;
  const slot: { bytes: Uint8Array | null } = { bytes: null };
  const isMute = mishap.kind === 'silentAfter' || isLate;
  const respond = (answer: (correlationId: number) => Uint8Array, waitMs = 0): void => {
    if (mishap.kind === 'resetAfter') reset(toy, connection);
    if (isMute || mishap.kind === 'resetAfter') return;
    const bytes = answer(correlationId);
    slot.bytes = mishap.kind === 'garbage' ? bytes.subarray(0, 4 + roll(toy, Math.max(1, bytes.length - 4))) : bytes;
    flush(toy, connection, waitMs);
  };
  if (toy.groups !== null && serveGroups(toy, toy.groups, request, frame, mishap, respond)) {
    if (!isMute) connection.slots.push(slot);
    flush(toy, connection, 0);
    return;
  }
  const answer = serve(toy, request, frame, mishap);
  if (answer !== null && !isMute) connection.slots.push(slot);
  if (answer !== null) respond(answer, answer.waitMs ?? 0);
}

/** Answers leave in the order of their requests: the first that is not there yet holds back the others. */
function flush(toy: Toy, connection: Connection, waitMs: number): void {
  for (let slot = connection.slots[0]; slot !== undefined && slot.bytes !== null; slot = connection.slots[0]) {
    connection.slots.shift();
    const delayMs = Math.max(delay(toy) + waitMs, connection.busyUntilMs - toy.nowMs);
    connection.busyUntilMs = toy.nowMs + delayMs;
    const input = { kind: 'frame', connection: connection.id, bytes: slot.bytes } as const;
    later(toy, delayMs, { kind: 'input', machine: connection.machine, connection, input });
  }
}
