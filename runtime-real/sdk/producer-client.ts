/**
 * Promises over the producer machine: one for each record, settled by the record's one event.
 *
 * When the buffer is full, records wait in order outside of it, PARKED_MAX at the most. A caller that awaits what it
 * sends never gets there.
 */
import {
  createProducer,
  flushProducer,
  type Producer,
  type ProducerEvent,
  type ProducerOptions,
  type ProducerRecord,
  produce,
  producerDeadlineMs,
  stepProducer,
  stopProducer,
} from '../../core/client/producer.ts';
import { createIds } from '../../core/lib/ids.ts';
import { errorName } from '../../core/protocol/errors.ts';
import { type Bytes, parseBootstrap, toBytes } from './addresses.ts';
import { type Loop, startLoop } from './loop.ts';

/** Settings of a producer client; what is left out has the default of Kafka's producer. */
export type ProducerClientOptions = Partial<Omit<ProducerOptions, 'ids' | 'bootstrap'>> & {
  /** `host:port[,host:port]…` */
  readonly bootstrap: string;
};

/** A record to be sent. */
export interface OutgoingRecord {
  readonly topic: string;
  /** Default 0. */
  readonly partition?: number;
  readonly key?: Bytes | null;
  readonly value?: Bytes | null;
  readonly headers?: readonly { readonly key: string; readonly value: Bytes | null }[];
  readonly timestampMs?: number;
}

/** Where a record went. */
export interface Delivered {
  readonly topic: string;
  readonly partition: number;
  /** -1 where it is not known. */
  readonly offset: number;
  readonly timestampMs: number;
}

/** A record was not acknowledged. */
export class DeliveryError extends Error {
  /** A Kafka error code. */
  readonly code: number;
  /** The record may be in the log all the same. */
  readonly maybeWritten: boolean;

  constructor(code: number, message: string, maybeWritten: boolean) {
    super(`${errorName(code)}: ${message}${maybeWritten ? ' (the record may have been written)' : ''}`);
    this.name = 'DeliveryError';
    this.code = code;
    this.maybeWritten = maybeWritten;
  }
}

/** A producer with promises. */
export interface ProducerClient {
  /** Resolves once the record is acknowledged, else rejects with a DeliveryError. A partition's records keep order. */
  send(record: OutgoingRecord): Promise<Delivered>;
  /** Sends what waits at once; resolves when all records given before have their outcome. */
  flush(): Promise<void>;
  /** Flushes, then closes. Later sends are rejected. */
  close(): Promise<void>;
}

/** Records that may wait for room in the buffer. */
export const PARKED_MAX = 1_000_000;
const UNKNOWN_SERVER_ERROR = -1;
const NETWORK_EXCEPTION = 13;

interface Settle {
  readonly resolve: (delivered: Delivered) => void;
  readonly reject: (error: DeliveryError) => void;
}

interface State {
  readonly producer: Producer;
  readonly events: ProducerEvent[];
  readonly waiting: Map<number, Settle>;
  parked: { readonly record: ProducerRecord; readonly settle: Settle }[];
  /** Resolved when nothing is waiting. */
  idle: (() => void)[];
  isAdmitting: boolean;
  isClosing: boolean;
  loop: Loop | null;
}

/** A producer over real sockets. It connects with its first record. */
export function createProducerClient(options: ProducerClientOptions): ProducerClient {
  const { bootstrap, ...rest } = options;
  const idempotent = options.idempotent ?? (options.acks ?? -1) === -1;
  const producer = createProducer({
    clientId: 'tidemark-producer',
    acks: -1,
    lingerMs: 0,
    batchBytesMax: 16_384,
    inFlightMax: 5,
    requestTimeoutMs: 30_000,
    deliveryTimeoutMs: 120_000,
    retryBackoffMs: 100,
    compression: 0,
    seed: Math.floor(Math.random() * 2 ** 32),
    ...rest,
    idempotent,
    ids: createIds(),
    bootstrap: parseBootstrap(bootstrap),
  });
  const state: State = {
    producer,
    events: [],
    waiting: new Map(),
    parked: [],
    idle: [],
    isAdmitting: false,
    isClosing: false,
    loop: null,
  };
  const loop = startLoop({
    step: (env, input, out) => stepProducer(producer, env, input, out, state.events),
    deadlineMs: () => producerDeadlineMs(producer),
    afterwards: () => settleAll(state),
  });
  state.loop = loop;
  return {
    send: (record) => send(state, loop, record),
    flush: () => flush(state, loop),
    close: () => close(state, loop),
  };
}

function send(state: State, loop: Loop, record: OutgoingRecord): Promise<Delivered> {
  return new Promise((resolve, reject) => {
    const settle = { resolve, reject };
    if (state.isClosing) {
      reject(new DeliveryError(NETWORK_EXCEPTION, 'the producer is closed', false));
      return;
    }
    if (state.parked.length >= PARKED_MAX) {
      reject(new DeliveryError(UNKNOWN_SERVER_ERROR, 'too many records wait for room', false));
      return;
    }
    state.parked.push({ record: toRecord(record), settle });
    if (state.isAdmitting) return;
    // Once a turn of the event loop: what one turn gives goes in together.
    state.isAdmitting = true;
    setImmediate(() => admit(state, loop));
  });
}

function toRecord({ topic, partition = 0, key, value, headers, timestampMs }: OutgoingRecord): ProducerRecord {
  return {
    topic,
    partition,
    key: toBytes(key),
    value: toBytes(value),
    ...(headers === undefined
      ? {}
      : { headers: headers.map((item) => ({ key: item.key, value: toBytes(item.value) })) }),
    ...(timestampMs === undefined ? {} : { timestampMs }),
  };
}

/** Moves parked records into the machine, in order, until it is full. */
function admit(state: State, loop: Loop): void {
  state.isAdmitting = false;
  loop.act((env, out) => {
    let count = 0;
    for (const { record, settle } of state.parked) {
      const ticket = produce(state.producer, env, record, out);
      if (ticket < 0) break;
      state.waiting.set(ticket, settle);
      count += 1;
    }
    state.parked.splice(0, count);
  });
}

function settleAll(state: State): void {
  const events = state.events.splice(0);
  for (const event of events) {
    const settle = state.waiting.get(event.ticket);
    state.waiting.delete(event.ticket);
    if (event.kind === 'failed') {
      settle?.reject(new DeliveryError(event.error, event.message, event.maybeWritten));
    } else {
      const { topic, partition, offset, timestampMs } = event;
      settle?.resolve({ topic, partition, offset, timestampMs });
    }
  }
  if (events.length > 0 && state.parked.length > 0 && state.loop !== null) admit(state, state.loop);
  if (state.waiting.size > 0 || state.parked.length > 0) return;
  for (const resolve of state.idle.splice(0)) resolve();
}

function flush(state: State, loop: Loop): Promise<void> {
  return new Promise((resolve) => {
    admit(state, loop);
    state.idle.push(resolve);
    loop.act((env) => flushProducer(state.producer, env));
  });
}

async function close(state: State, loop: Loop): Promise<void> {
  state.isClosing = true;
  await flush(state, loop);
  loop.act((env, out) => stopProducer(state.producer, env, out, state.events));
  await loop.close();
}
