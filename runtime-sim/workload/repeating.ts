/**
 * Late duplicates: requests of producers, or of nodes to each other, that were answered long ago arrive once more, byte
 * by byte, on a connection of their own, as from a proxy or a kernel that had kept them. Whoever has appended a batch
 * must know it again, across crashes and in another leader, for as long as the producer may live.
 *
 * What nodes have asked each other the network keeps: votes, heartbeats, in-sync sets. Whoever gets one a second time
 * may do nothing that is not right by then. What an operator wants done is right whenever it comes: when operators are
 * to rest the network forgets it.
 *
 * Producers leave their Produce requests with the observer. Only one whose records were all acknowledged by all in-sync
 * replicas, of an idempotent producer, to a topic that stays, is repeated: whatever it appends then is a duplicate, and
 * the final reader sees it. What the node answers is not looked at: it may have forgotten where the batch lies, and
 * refuse it as out of order. A crash forgets which request was on its way.
 */
import type { Address } from '../../core/channel/channel.ts';
import { joinParts } from '../../core/lib/bytes.ts';
import type { Env, Input, Outbox } from '../../core/lib/world.ts';
import { decodeRequest, peekRequest } from '../../core/protocol/codec.ts';
import type { Codecs } from '../../core/protocol/compression.ts';
import { readRecords } from '../../core/protocol/records.ts';
import { asAnyMachine } from '../actor.ts';
import type { KeptRequest } from '../network/network.ts';
import { createJitter, type Jitter, jitter } from './jitter.ts';
import type { Observer } from './observer.ts';
import { decodeValue } from './values.ts';

/** How it repeats. */
export interface RepeatingOptions {
  readonly observer: Observer;
  readonly bootstrap: readonly Address[];
  /** What is repeated, each to whom it was for; null for what producers have sent, to any node. */
  readonly between: readonly KeptRequest[] | null;
  /** Between two repetitions, on average. */
  readonly everyMs: number;
}

/** Its state. */
interface Repeating {
  readonly options: RepeatingOptions;
  dice: Jitter;
  /** Infinity once it was asked to stop. */
  nextMs: number;
  /** The last connection's id. They count down, as all that go out do. */
  connection: number;
  /** What is on its way; null for nothing. */
  bytes: Uint8Array | null;
  /** When an answer is not waited for any longer; Infinity while nothing is on its way. */
  untilMs: number;
}

const PRODUCE = 0;
const LENGTH_BYTES = 4;
/** Requests that are kept; a newer one takes the place of any. */
const KEPT_MAX = 100;
const ANSWER_MAX_MS = 1_500;
const FRAME_BYTES_MAX = 1_048_576;

/** Keeps the Produce requests among what a producer has just sent, from `from` on. */
export function keepRequests({ requests }: Observer, out: Outbox, from: number, dice: Jitter): void {
  for (let i = from; i < out.length; i++) {
    const effect = out[i];
    if (effect?.kind !== 'send') continue;
    const bytes = joinParts(effect.parts);
    if (peekRequest(bytes.subarray(LENGTH_BYTES))?.apiKey !== PRODUCE) continue;
    if (requests.length < KEPT_MAX) requests.push(bytes);
    else requests[jitter(dice, KEPT_MAX)] = bytes;
  }
}

function create(options: RepeatingOptions): Repeating {
  const never = { nextMs: Number.POSITIVE_INFINITY, untilMs: Number.POSITIVE_INFINITY };
  return { options, dice: createJitter(1), connection: 0, bytes: null, ...never };
}

function step(state: Repeating, env: Env, input: Input, out: Outbox): void {
  const { options, dice, connection } = state;
  switch (input.kind) {
    case 'start':
      state.dice = createJitter(input.seed);
      state.connection = 0;
      state.nextMs = env.nowMs + jitter(state.dice, options.everyMs);
      end(state);
      return;
    case 'stop':
      state.nextMs = Number.POSITIVE_INFINITY;
      return;
    case 'wake':
      if (env.nowMs >= state.untilMs) out.push({ kind: 'close', connection, abort: true });
      if (env.nowMs >= state.untilMs) end(state);
      if (env.nowMs < state.nextMs) return;
      state.nextMs = env.nowMs + 1 + jitter(dice, 2 * options.everyMs);
      begin(state, env, out);
      return;
    case 'connected':
      if (input.connection === connection && state.bytes !== null) {
        out.push({ kind: 'send', connection, parts: [state.bytes] });
      }
      return;
    case 'frame':
      if (input.connection !== connection) return;
      env.reached(options.between === null ? 'sim.repeated' : 'sim.repeated.between');
      out.push({ kind: 'close', connection, abort: false });
      end(state);
      return;
    case 'connectFailed':
    case 'closed':
      if (input.connection === connection) end(state);
      return;
    default:
  }
}

function end(state: Repeating): void {
  state.bytes = null;
  state.untilMs = Number.POSITIVE_INFINITY;
}

function addressBytes(address: Address | KeptRequest | undefined): Uint8Array | undefined {
  return address !== undefined && 'bytes' in address ? address.bytes : undefined;
}

/** Takes any of the requests, unless one is on its way or this one may not be repeated yet, or ever. */
function begin(state: Repeating, env: Env, out: Outbox): void {
  const { dice, options } = state;
  const { observer, bootstrap, between } = options;
  if (state.bytes !== null) return;
  const address = between === null ? bootstrap[jitter(dice, bootstrap.length)] : between[jitter(dice, between.length)];
  const bytes = addressBytes(address) ?? observer.requests[jitter(dice, observer.requests.length)];
  if (bytes === undefined || address === undefined) return;
  if (between === null && !mayRepeat(observer, env.codecs, bytes)) return;
  state.bytes = bytes;
  state.untilMs = env.nowMs + ANSWER_MAX_MS;
  state.connection -= 1;
  const { host, port } = address;
  const limits = { timeoutMs: ANSWER_MAX_MS, frameBytesMax: FRAME_BYTES_MAX };
  out.push({ kind: 'connect', connection: state.connection, host, port, ...limits });
}

function mayRepeat({ history }: Observer, codecs: Codecs, bytes: Uint8Array): boolean {
  const frame = bytes.subarray(LENGTH_BYTES);
  const { body } = decodeRequest(PRODUCE, peekRequest(frame)?.apiVersion ?? 0, frame);
  const partitions = body.topicData.flatMap(({ partitionData }) => partitionData);
  return partitions.every(({ records }) => {
    return readRecords(records ?? new Uint8Array(0), codecs).every(({ value }) => {
      const send = history.sends[decodeValue(value)];
      if (send === undefined || !send.isIdempotent || send.acks !== -1 || send.outcome !== 'acknowledged') return false;
      return history.partitions[send.partition]?.isSlot !== true;
    });
  });
}

/** The API key of what is on its way; -1 for nothing. */
export function repeatedKey(state: unknown): number {
  const { bytes } = state as Repeating;
  return bytes === null ? -1 : (peekRequest(bytes.subarray(LENGTH_BYTES))?.apiKey ?? -1);
}

/** The machine of a repeating process. */
export const REPEATING = asAnyMachine<Repeating, RepeatingOptions>({
  create,
  step,
  deadlineMs: ({ nextMs, untilMs }) => Math.min(nextMs, untilMs),
  check: () => {},
});
