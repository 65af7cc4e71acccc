/**
 * A reader of one partition, without a group: whole batches come out in offset order, the position never goes back.
 *
 * It finds its start (ListOffsets), then fetches from the leader in a session, one call at a time. Control batches and
 * empty ones move the position and do not come out. When the partition has a new leader, the reader first asks where
 * the epoch of its last batch ended (KIP-320): if that lies below the position, records that it has delivered are gone,
 * which is an error for the caller. Leaving out the records of aborted transactions is the caller's work; the event
 * carries the list.
 *
 * Invariants: the position only rises, but for `seekReader` and the reset that the options ask for; no batch comes out
 * whose checksum is wrong. A crash loses the reader; whoever keeps its position can start another one there.
 */
import { backoffMs } from '../channel/backoff.ts';
import { type Answer, answerBody, type ChannelEvent, canCall, openPeer } from '../channel/channel.ts';
import { assert } from '../lib/assert.ts';
import type { Env, Outbox } from '../lib/world.ts';
import { ErrorCode, errorInfo } from '../protocol/errors.ts';
import {
  addTopic,
  type Cluster,
  checkCluster,
  closeCluster,
  clusterDeadlineMs,
  createCluster,
  driveCluster,
  markStale,
  stepCluster,
} from './cluster.ts';
import {
  answerFor,
  endSession,
  type FetchAnswer,
  type FetchSession,
  type FetchWish,
  keepSession,
  noSession,
  readBatches,
} from './fetch-call.ts';
import { doubtLeader, expectEpoch, leaderOf, learnLeader } from './metadata.ts';
import { type Nearby, nearbyOf, sourceOf } from './nearby.ts';
import { doubtsLeader } from './outcomes.ts';
import { call, FETCH, LIST_OFFSETS, OFFSET_FOR_LEADER_EPOCH, REQUEST_TIMEOUT_MS, wishOf } from './reader-calls.ts';
import type { ReaderEvent, ReaderInput, ReaderOptions } from './reader-options.ts';

export type { AbortedTransaction, ReaderEvent, ReaderInput, ReaderOptions } from './reader-options.ts';

/**
 * What the reader does next. locate: find `goal`. validate: ask where the epoch of the last batch ended. fetch: read.
 * stopped: nothing, until `seekReader`.
 */
export type ReaderPhase = 'locate' | 'validate' | 'fetch' | 'stopped';

/** A reader's state: plain data. */
export interface Reader {
  readonly options: ReaderOptions;
  readonly cluster: Cluster;
  phase: ReaderPhase;
  /** What 'locate' looks for. */
  goal: 'earliest' | 'latest';
  /** The next offset to be delivered; -1 until it is known. */
  position: number;
  /** The leader epoch of the batch below the position, as delivered; -1 for none. */
  positionEpoch: number;
  /** The leader epoch under which the position was last found to be good; -1 for none. */
  validatedEpoch: number;
  /** As last told by the leader; -1 until it is known. */
  highWatermark: number;
  paused: boolean;
  isClosed: boolean;
  readonly session: FetchSession;
  /** The replica that the leader has sent us to; null for none. */
  nearby: Nearby | null;
  /** The call that is out; 0 for none. */
  ticket: number;
  /** What the call that is out was about. */
  wish: FetchWish | null;
  retryAtMs: number;
  failures: number;
  isDirty: boolean;
  drivenAtMs: number;
}

/** Default of `retryBackoffMs`. */
export const RETRY_BACKOFF_MS = 100;
/** The longest wait between two attempts. */
export const RETRY_BACKOFF_MAX_MS = 1000;
const IN_FLIGHT_MAX = 5;
const NO_BYTES = new Uint8Array(0);
/** A reader that has not connected yet; it starts at the first 'wake'. */
export function createReader(options: ReaderOptions): Reader {
  const { requestTimeoutMs = REQUEST_TIMEOUT_MS, retryBackoffMs = RETRY_BACKOFF_MS, createsTopics = false } = options;
  const shared = { ...options, requestTimeoutMs, retryBackoffMs, createsTopics, inFlightMax: IN_FLIGHT_MAX };
  const cluster = createCluster(shared);
  addTopic(cluster, options.topic);
  const { from, fromEpoch = -1 } = options;
  if (fromEpoch >= 0) expectEpoch(cluster.view, options.topic, options.partition, fromEpoch);
  return {
    options,
    cluster,
    phase: typeof from === 'number' ? 'fetch' : 'locate',
    goal: typeof from === 'number' ? 'earliest' : from,
    position: typeof from === 'number' ? from : -1,
    positionEpoch: -1,
    validatedEpoch: -1,
    highWatermark: -1,
    paused: false,
    isClosed: false,
    session: noSession(),
    nearby: null,
    ticket: 0,
    wish: null,
    retryAtMs: 0,
    failures: 0,
    isDirty: true,
    drivenAtMs: 0,
  };
}

/** Handles one input. Inputs for connections of others are ignored. */
export function stepReader(reader: Reader, env: Env, input: ReaderInput, out: Outbox, events: ReaderEvent[]): void {
  reader.isDirty = false;
  if (reader.isClosed) return;
  const told: ChannelEvent[] = [];
  stepCluster(reader.cluster, env, input, out, told);
  for (const event of told) {
    if (event.kind === 'down' && event.peer === reader.nearby?.peer) reader.nearby = null;
    if (event.kind !== 'answered' && event.kind !== 'lost') continue;
    if (event.ticket !== reader.ticket) continue;
    const { wish } = reader;
    reader.ticket = 0;
    reader.wish = null;
    if (event.kind === 'lost') {
      endSession(reader.session);
      retryLater(reader, env);
    } else if (wish !== null) {
      answered(reader, env, event, wish, events);
    }
  }
  drive(reader, env, out, events);
}

function retryLater(reader: Reader, env: Env): void {
  reader.failures += 1;
  const { channel, options } = reader.cluster;
  reader.retryAtMs = env.nowMs + backoffMs(channel, reader.failures, options.retryBackoffMs, RETRY_BACKOFF_MAX_MS);
}

function answered(reader: Reader, env: Env, event: Answer, wish: FetchWish, events: ReaderEvent[]): void {
  if (event.apiKey === LIST_OFFSETS) {
    const found = answerBody(event, LIST_OFFSETS).topics[0]?.partitions[0];
    located(reader, env, found ?? { errorCode: ErrorCode.UNKNOWN_SERVER_ERROR, offset: -1 }, events);
  } else if (event.apiKey === OFFSET_FOR_LEADER_EPOCH) {
    const found = answerBody(event, OFFSET_FOR_LEADER_EPOCH).topics[0]?.partitions[0];
    const none = { errorCode: ErrorCode.UNKNOWN_SERVER_ERROR, endOffset: -1 };
    validated(reader, env, wish.leaderEpoch, found ?? none, events);
  } else {
    fetched(reader, env, event, wish, events);
  }
}

type Located = { readonly errorCode: number; readonly offset: number };

function located(reader: Reader, env: Env, { errorCode, offset }: Located, events: ReaderEvent[]): void {
  if (reader.phase !== 'locate') return;
  if (errorCode !== ErrorCode.NONE || offset < 0) {
    troubled(reader, env, errorCode === ErrorCode.NONE ? ErrorCode.OFFSET_NOT_AVAILABLE : errorCode, events);
    return;
  }
  reader.position = offset;
  reader.positionEpoch = -1;
  reader.failures = 0;
  reader.phase = 'fetch';
}

type Ended = { readonly errorCode: number; readonly endOffset: number };

function validated(reader: Reader, env: Env, leaderEpoch: number, found: Ended, events: ReaderEvent[]): void {
  if (reader.phase !== 'validate') return;
  if (found.errorCode !== ErrorCode.NONE) {
    troubled(reader, env, found.errorCode, events);
    return;
  }
  reader.failures = 0;
  if (found.endOffset >= reader.position) {
    reader.validatedEpoch = leaderEpoch;
    reader.phase = 'fetch';
    return;
  }
  env.reached('reader.truncated');
  outOfRange(reader, 'records that were delivered are not in the log of the new leader', events);
}

/** The position is not in the log: the caller is told, and the options say where to go on. */
function outOfRange(reader: Reader, message: string, events: ReaderEvent[]): void {
  const { reset = 'none' } = reader.options;
  events.push({ kind: 'error', error: ErrorCode.OFFSET_OUT_OF_RANGE, message, fatal: reset === 'none' });
  endSession(reader.session);
  reader.positionEpoch = -1;
  reader.phase = reset === 'none' ? 'stopped' : 'locate';
  if (reset !== 'none') reader.goal = reset;
}

/** An error of a call: a new leader is looked for, or the call repeated, or the caller told that it is over. */
function troubled(reader: Reader, env: Env, error: number, events: ReaderEvent[]): void {
  const { topic, partition } = reader.options;
  if (doubtsLeader(error)) {
    doubtLeader(reader.cluster.view, topic, partition);
    markStale(reader.cluster);
  }
  retryLater(reader, env);
  if (errorInfo(error).retriable) return;
  events.push({ kind: 'error', error, message: errorInfo(error).message, fatal: true });
  reader.phase = 'stopped';
}

function fetched(reader: Reader, env: Env, event: Answer, wish: FetchWish, events: ReaderEvent[]): void {
  const body = answerBody(event, FETCH);
  if (body.errorCode !== ErrorCode.NONE) {
    env.reached('reader.sessionLost');
    Object.assign(reader.session, noSession());
    // Losing a session is no trouble, losing it again and again is.
    if (errorInfo(body.errorCode).retriable && reader.failures === 0) reader.failures = 1;
    else troubled(reader, env, body.errorCode, events);
    return;
  }
  keepSession(reader.session, event.peer, body.sessionId);
  const answer = answerFor(body, wish);
  if (answer === null) {
    reader.failures = 0;
    return;
  }
  if (answer.errorCode === ErrorCode.NONE) {
    taken(reader, env, answer, wish, events);
    if (answer.preferredReadReplica >= 0 && !wish.isNearby) turnTo(reader, env, answer.preferredReadReplica);
    return;
  }
  // The broker may leave a partition with an error out of the session's next answers.
  endSession(reader.session);
  if (wish.isNearby) {
    // Whatever it is, the leader knows better.
    env.reached('reader.nearbyLeft');
    reader.nearby = null;
    retryLater(reader, env);
    return;
  }
  if (wish.offset !== reader.position || reader.phase !== 'fetch') return;
  if (answer.errorCode === ErrorCode.OFFSET_OUT_OF_RANGE) {
    outOfRange(reader, errorInfo(answer.errorCode).message, events);
    return;
  }
  const at = { topic: wish.topic, partition: wish.partition };
  if (learnLeader(reader.cluster.view, at, answer.currentLeader, body.nodeEndpoints)) return;
  if (answer.errorCode === ErrorCode.CORRUPT_MESSAGE) complain(reader, events);
  troubled(reader, env, answer.errorCode, events);
}

/** The leader names a replica that is nearer. */
function turnTo(reader: Reader, env: Env, nodeId: number): void {
  const { cluster } = reader;
  reader.nearby = nearbyOf(cluster.view, nodeId, env.nowMs);
  endSession(reader.session);
  if (reader.nearby !== null) {
    env.reached('reader.nearby');
    return;
  }
  markStale(cluster);
  retryLater(reader, env);
}

function complain(reader: Reader, events: ReaderEvent[]): void {
  const message = `the batch at offset ${reader.position} is not sound`;
  events.push({ kind: 'error', error: ErrorCode.CORRUPT_MESSAGE, message, fatal: false });
}

/** Hands out the batches of a good answer. */
function taken(reader: Reader, env: Env, answer: FetchAnswer, wish: FetchWish, events: ReaderEvent[]): void {
  reader.highWatermark = answer.highWatermark;
  if (wish.offset !== reader.position || reader.phase !== 'fetch') return;
  const { batches, end } = readBatches(answer.records ?? NO_BYTES, reader.position, env);
  // Meeting the same bad batch again and again is trouble that grows.
  if (end === 'whole' || batches.length > 0) reader.failures = 0;
  for (const found of batches) {
    assert(found.nextOffset > reader.position, 'a batch leads back');
    if (found.hasRecords) {
      events.push({
        kind: 'batch',
        bytes: found.bytes,
        fromOffset: reader.position,
        highWatermark: answer.highWatermark,
        aborted: answer.abortedTransactions ?? [],
      });
    }
    reader.position = found.nextOffset;
    reader.positionEpoch = found.leaderEpoch;
    reader.validatedEpoch = Math.max(reader.validatedEpoch, wish.leaderEpoch);
  }
  if (end === 'whole') return;
  env.reached('reader.corrupt');
  complain(reader, events);
  endSession(reader.session);
  retryLater(reader, env);
}

/** Makes the next call if one can be made. */
function drive(reader: Reader, env: Env, out: Outbox, events: ReaderEvent[]): void {
  reader.drivenAtMs = env.nowMs;
  const { cluster, options } = reader;
  const topicError = cluster.view.topics.get(options.topic)?.error ?? ErrorCode.NONE;
  if (reader.phase !== 'stopped' && topicError !== ErrorCode.NONE && !errorInfo(topicError).retriable) {
    troubled(reader, env, topicError, events);
  }
  const isAtRest = reader.phase === 'stopped' || (reader.paused && reader.phase === 'fetch');
  if (!isAtRest && reader.ticket === 0 && reader.retryAtMs <= env.nowMs) ask(reader, env, out, events);
  driveCluster(cluster, env, out);
}

function ask(reader: Reader, env: Env, out: Outbox, events: ReaderEvent[]): void {
  const { cluster, options } = reader;
  const leader = leaderOf(cluster.view, options.topic, options.partition);
  if (leader === null) {
    markStale(cluster);
    return;
  }
  const isNewLeader = reader.positionEpoch >= 0 && leader.leaderEpoch > reader.validatedEpoch;
  if (reader.phase === 'fetch' && isNewLeader) reader.phase = 'validate';
  const source = reader.phase === 'fetch' ? sourceOf(leader, reader.nearby, env.nowMs) : leader;
  openPeer(cluster.channel, env, source.address, out);
  if (!canCall(cluster.channel, source.peer)) return;
  const wish = wishOf(reader, source, source !== leader);
  const ticket = call(reader, env, source.peer, wish, out);
  if (ticket < 0) {
    troubled(reader, env, ErrorCode.UNSUPPORTED_VERSION, events);
    return;
  }
  reader.ticket = ticket;
  reader.wish = wish;
}

/** Starts no further fetch; what is under way is still delivered. */
export function pauseReader(reader: Reader): void {
  reader.paused = true;
}

/** Goes on after `pauseReader`. */
export function resumeReader(reader: Reader): void {
  reader.paused = false;
  reader.isDirty = true;
}

/** Moves the position, also after a fatal error. What is under way is not delivered. */
export function seekReader(reader: Reader, offset: number): void {
  reader.position = offset;
  reader.positionEpoch = -1;
  reader.phase = 'fetch';
  reader.failures = 0;
  reader.retryAtMs = 0;
  reader.isDirty = true;
}

/** Ends: connections are closed, nothing more is delivered. */
export function stopReader(reader: Reader, env: Env, out: Outbox): void {
  reader.drivenAtMs = env.nowMs;
  reader.isClosed = true;
  reader.phase = 'stopped';
  reader.ticket = 0;
  reader.wish = null;
  closeCluster(reader.cluster, out, []);
}

/** When the reader next wants a 'wake', on the monotonic clock; Infinity for never. */
export function readerDeadlineMs(reader: Reader): number {
  if (reader.isClosed) return Number.POSITIVE_INFINITY;
  if (reader.isDirty) return reader.drivenAtMs;
  const deadlineMs = clusterDeadlineMs(reader.cluster);
  return reader.retryAtMs > reader.drivenAtMs ? Math.min(deadlineMs, reader.retryAtMs) : deadlineMs;
}

/** True between any two steps. */
export function checkReader(reader: Reader): void {
  checkCluster(reader.cluster);
  assert((reader.ticket === 0) === (reader.wish === null), 'a call is out about nothing');
  assert(reader.phase !== 'fetch' || reader.position >= 0, 'a reader fetches from nowhere');
}
