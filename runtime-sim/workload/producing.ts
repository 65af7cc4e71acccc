/**
 * A process that produces: bursts of records with unique values, at drawn moments, through the producer that serves
 * real programs too. Each record and what became of it goes into the history.
 *
 * A crash forgets the producer; whatever was open then is 'unknown' (`forgetSends`).
 */

import {
  checkProducer,
  createProducer,
  flushProducer,
  type Producer,
  type ProducerEvent,
  type ProducerOptions,
  produce,
  producerDeadlineMs,
  stepProducer,
} from '../../core/client/producer.ts';
import { createIds } from '../../core/lib/ids.ts';
import type { Env, Input, Outbox } from '../../core/lib/world.ts';
import { asAnyMachine } from '../actor.ts';
import { createJitter, type Jitter, jitter } from './jitter.ts';
import type { Observer } from './observer.ts';
import { keepRequests } from './repeating.ts';
import { encodeValue } from './values.ts';

/** How a producing process behaves. */
export interface ProducingOptions {
  readonly observer: Observer;
  readonly producer: Omit<ProducerOptions, 'ids' | 'seed'>;
  /** Indexes of the history's partitions that it sends to. */
  readonly partitions: readonly number[];
  /** The one of them to which it sends only now and then; absent for none. */
  readonly resting?: number;
  /** Between two bursts, on average. */
  readonly everyMs: number;
  readonly burstMax: number;
  readonly valueBytesMax: number;
  /** Its requests are kept, so that they can be repeated; default false. */
  readonly isRepeated?: boolean;
}

/** Its state. */
export interface Producing {
  readonly options: ProducingOptions;
  producer: Producer;
  producerNumber: number;
  dice: Jitter;
  /** Infinity once it was asked to stop. */
  nextBurstMs: number;
  /** Value by ticket, of what is open. */
  readonly open: Map<number, number>;
}

/** Records that one process has open, at most. */
export const OPEN_MAX = 400;

function create(options: ProducingOptions): Producing {
  options.observer.producers += 1;
  return {
    options,
    producer: createProducer({ ...options.producer, ids: createIds(), seed: 1 }),
    producerNumber: options.observer.producers,
    dice: createJitter(1),
    nextBurstMs: Number.POSITIVE_INFINITY,
    open: new Map(),
  };
}

function step(state: Producing, env: Env, input: Input, out: Outbox): void {
  const events: ProducerEvent[] = [];
  const from = out.length;
  switch (input.kind) {
    case 'start':
      state.dice = createJitter(input.seed);
      state.producer = createProducer({ ...state.options.producer, ids: createIds(), seed: input.seed });
      state.nextBurstMs = env.nowMs + jitter(state.dice, state.options.everyMs);
      break;
    case 'stop':
      state.nextBurstMs = Number.POSITIVE_INFINITY;
      flushProducer(state.producer, env);
      break;
    case 'wake':
      if (env.nowMs >= state.nextBurstMs) burst(state, env, out);
      stepProducer(state.producer, env, { kind: 'wake' }, out, events);
      break;
    case 'connected':
    case 'connectFailed':
    case 'frame':
    case 'sent':
    case 'closed':
      stepProducer(state.producer, env, input, out, events);
      break;
    default:
  }
  for (const event of events) settle(state, event);
  if (state.options.isRepeated === true) keepRequests(state.options.observer, out, from, state.dice);
}

function burst(state: Producing, env: Env, out: Outbox): void {
  const { options, dice } = state;
  const { observer } = options;
  state.nextBurstMs = env.nowMs + 1 + jitter(dice, 2 * options.everyMs);
  const partition = choosePartition(state);
  const named = observer.history.partitions[partition];
  if (named === undefined) return;
  const count = 1 + jitter(dice, options.burstMax);
  for (let i = 0; i < count && state.open.size < OPEN_MAX; i++) {
    const value = observer.history.sends.length;
    const ticket = produce(
      state.producer,
      env,
      {
        topic: named.topic,
        partition: named.partition,
        key: null,
        value: encodeValue(value, 8 + jitter(dice, options.valueBytesMax)),
      },
      out,
    );
    if (ticket < 0) return;
    state.open.set(ticket, value);
    observer.openSends += 1;
    observer.history.sends.push({
      producer: state.producerNumber,
      partition,
      value,
      acks: options.producer.acks,
      isIdempotent: options.producer.idempotent,
      patienceMs: options.producer.deliveryTimeoutMs,
      sentUs: observer.time.nowUs,
      doneUs: -1,
      outcome: 'open',
      offset: -1,
      error: 0,
    });
  }
}

/** A partition that rests is chosen so many times less often. */
const RESTS = 40;

/** One of its partitions; of a topic that is believed to be gone, or too small, only now and then. */
function choosePartition({ options, dice }: Producing): number {
  const { observer, partitions } = options;
  const chosen = partitions[jitter(dice, partitions.length)] ?? 0;
  if (chosen === options.resting && jitter(dice, RESTS) > 0) return partitions[0] ?? 0;
  const named = observer.history.partitions[chosen];
  if (named?.isSlot !== true) return chosen;
  const isThere = named.partition < (observer.board.get(named.topic)?.partitions ?? 0);
  return isThere || jitter(dice, 25) === 0 ? chosen : (partitions[0] ?? 0);
}

function settle(state: Producing, event: ProducerEvent): void {
  const { observer } = state.options;
  const value = state.open.get(event.ticket);
  const send = value === undefined ? undefined : observer.history.sends[value];
  if (send === undefined) throw new Error('a ticket was answered twice, or was never given');
  state.open.delete(event.ticket);
  observer.openSends -= 1;
  send.doneUs = observer.time.nowUs;
  if (event.kind === 'acknowledged') {
    send.outcome = 'acknowledged';
    send.offset = event.offset;
    observer.acknowledged(send);
    return;
  }
  send.outcome = event.maybeWritten ? 'unknown' : 'failed';
  send.error = event.error;
}

/** A life of the process is over: nobody will hear what became of its sends. */
export function forgetSends(observer: Observer, state: unknown): void {
  const { open } = state as Producing;
  for (const value of open.values()) {
    const send = observer.history.sends[value];
    if (send !== undefined) {
      send.outcome = 'unknown';
      send.doneUs = observer.time.nowUs;
    }
    observer.openSends -= 1;
  }
  open.clear();
}

/** The machine of a producing process. */
export const PRODUCING = asAnyMachine<Producing, ProducingOptions>({
  create,
  step,
  deadlineMs: (state) => Math.min(state.nextBurstMs, producerDeadlineMs(state.producer)),
  check: (state) => checkProducer(state.producer),
});
