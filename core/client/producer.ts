/**
 * A producer: records go in by ticket, batches leave by partition, and every ticket gets exactly one event, ever.
 *
 * Batches wait in lines (`lines.ts`), one a partition, and travel in requests, one batch of a line in each. Records of
 * a partition land in the order in which they were taken: an idempotent producer keeps up to five batches of a
 * partition on their way, any other one, because a retry would overtake. The buffer is bounded: `produce` answers -1
 * when it is full. There is no count of retries, only the delivery time-out.
 *
 * Not done: splitting a batch that the broker finds too large; its records fail. A crash loses the producer; records
 * without an event may or may not be in the log.
 */
import { backoffMs } from '../channel/backoff.ts';
import { type Address, type Answer, answerBody, type ChannelEvent } from '../channel/channel.ts';
import { assert } from '../lib/assert.ts';
import { type Ids, nextTicket } from '../lib/ids.ts';
import type { Env, NetworkInput, Outbox } from '../lib/world.ts';
import type { Codec } from '../protocol/compression.ts';
import { ErrorCode, errorInfo } from '../protocol/errors.ts';
import type { RecordHeader } from '../protocol/records.ts';
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
import { checkIdentity, type Identity, identityDeadlineMs, pursueIdentity, takeIdentity } from './identity.ts';
import {
  acknowledged,
  addRecord,
  checkLine,
  createLine,
  expire,
  failLine,
  isIdle,
  type Ledger,
  type Line,
  lineDeadlineMs,
  mend,
  refused,
  SENT_MAX,
} from './lines.ts';
import { doubtLeader, learnLeader } from './metadata.ts';
import { doubtsLeader, isIdentityError } from './outcomes.ts';
import { post } from './posting.ts';
import { type Posted, pairAnswers } from './produce-call.ts';

/** How a producer behaves; all of it plain data. */
export interface ProducerOptions {
  readonly clientId: string;
  /** Shared by all machines of one node or client process. */
  readonly ids: Ids;
  readonly bootstrap: readonly Address[];
  /** 0: never answered; 1: the leader wrote it; -1: every in-sync replica has it. */
  readonly acks: 0 | 1 | -1;
  /** Asks for a producer id and numbers its batches; only with acks -1. */
  readonly idempotent: boolean;
  readonly lingerMs: number;
  readonly batchBytesMax: number;
  /** Unanswered requests on one connection; at most 5 when idempotent. */
  readonly inFlightMax: number;
  readonly requestTimeoutMs: number;
  /** From `produce` to the event, at most. */
  readonly deliveryTimeoutMs: number;
  readonly retryBackoffMs: number;
  readonly compression: Codec;
  /** An unsigned 32-bit integer: jitter of back-offs. */
  readonly seed: number;
  /** Bytes of records waiting for their event, at most; default 32 MiB. */
  readonly bufferBytesMax?: number;
  /** Of one request, unless a single batch is larger; default 1 MiB. */
  readonly requestBytesMax?: number;
  /** Whether sending to a missing topic may create it; default true. */
  readonly createsTopics?: boolean;
}

/** A record to be sent. */
export interface ProducerRecord {
  readonly topic: string;
  readonly partition: number;
  readonly key: Uint8Array | null;
  readonly value: Uint8Array | null;
  readonly headers?: readonly RecordHeader[];
  /** Ms since 1970; the wall clock if absent. */
  readonly timestampMs?: number;
}

/** What became of a record. */
export type ProducerEvent =
  /** `offset` is -1 where it is not known: acks 0, or a duplicate that the broker no longer remembers exactly. */
  | {
      readonly kind: 'acknowledged';
      readonly ticket: number;
      readonly topic: string;
      readonly partition: number;
      readonly offset: number;
      /** The broker's time for topics that it stamps, else the record's. */
      readonly timestampMs: number;
    }
  | {
      readonly kind: 'failed';
      readonly ticket: number;
      readonly topic: string;
      readonly partition: number;
      /** A Kafka error code. */
      readonly error: number;
      readonly message: string;
      /** The record may be in the log all the same. */
      readonly maybeWritten: boolean;
    };

/** What a producer is told. */
export type ProducerInput = NetworkInput | { readonly kind: 'wake' };

/** Default of `bufferBytesMax`, as Kafka's `buffer.memory`. */
export const BUFFER_BYTES_MAX = 32 * 1024 * 1024;
/** The longest wait between two attempts of a batch. */
export const RETRY_BACKOFF_MAX_MS = 1000;
/** Bytes that a record takes beside its key, value and headers, at most; the head of its batch included. */
const RECORD_OVERHEAD_BYTES = 96;
const TOPIC_NAME = /^[a-zA-Z0-9._-]{1,249}$/;
const PRODUCE = 0;

/** A producer's state: plain data. */
export interface Producer extends Ledger {
  readonly options: ProducerOptions;
  readonly cluster: Cluster;
  readonly identity: Identity;
  readonly lines: Map<string, Map<number, Line>>;
  /** Lines with something in them; the one that was served longest ago is first. */
  readonly active: Set<Line>;
  /** By ticket of the request. */
  readonly requests: Map<number, Posted[]>;
  /** Events of `produce` that the next step hands over. */
  owed: ProducerEvent[];
  /** Something can be done that could not at `drivenAtMs`. */
  isDirty: boolean;
  isStopped: boolean;
  drivenAtMs: number;
}

/** A producer that has not connected yet; it starts with its first record. */
export function createProducer(options: ProducerOptions): Producer {
  const { acks, idempotent, inFlightMax } = options;
  assert(!idempotent || acks === -1, 'only acks -1 make an idempotent producer');
  assert(!idempotent || inFlightMax <= SENT_MAX, 'brokers remember five batches');
  return {
    options,
    cluster: createCluster({ ...options, createsTopics: options.createsTopics ?? true }),
    identity: { state: 'none', producerId: -1, producerEpoch: -1, ticket: 0, retryAtMs: 0, failures: 0, error: 0 },
    lines: new Map(),
    active: new Set(),
    requests: new Map(),
    owed: [],
    isDirty: false,
    isStopped: false,
    drivenAtMs: 0,
    isIdempotent: idempotent,
    sentMax: idempotent ? Math.min(SENT_MAX, inFlightMax) : 1,
    deliveryTimeoutMs: options.deliveryTimeoutMs,
    bufferedBytes: 0,
  };
}

/** Takes a record: its ticket, or -1 when the buffer is full and the caller must wait for events. */
export function produce(producer: Producer, env: Env, record: ProducerRecord, out: Outbox): number {
  const sizeBytes = recordBytes(record);
  const { bufferBytesMax = BUFFER_BYTES_MAX, ids, lingerMs, batchBytesMax } = producer.options;
  const fault = faultOf(producer, record, sizeBytes);
  if (fault === null && producer.bufferedBytes + sizeBytes > bufferBytesMax) return -1;
  const ticket = nextTicket(ids);
  if (fault !== null) {
    const { topic, partition } = record;
    const message = errorInfo(fault).message;
    producer.owed.push({ kind: 'failed', ticket, topic, partition, error: fault, message, maybeWritten: false });
    producer.isDirty = true;
    return ticket;
  }
  const line = lineOf(producer, record.topic, record.partition);
  const { key, value, headers } = record;
  const timestampMs = record.timestampMs ?? env.wallMs;
  const input = headers === undefined ? { timestampMs, key, value } : { timestampMs, key, value, headers };
  const isNew = line.open === null;
  const isFull = addRecord(line, input, ticket, sizeBytes, { nowMs: env.nowMs, lingerMs }, batchBytesMax);
  producer.bufferedBytes += sizeBytes;
  producer.active.add(line);
  if (isNew && lingerMs === 0) producer.isDirty = true;
  if (isFull) drive(producer, env, out, producer.owed);
  return ticket;
}

function recordBytes({ key, value, headers = [] }: ProducerRecord): number {
  let size = RECORD_OVERHEAD_BYTES + (key?.length ?? 0) + (value?.length ?? 0);
  for (const header of headers) size += 3 * header.key.length + (header.value?.length ?? 0) + 10;
  return size;
}

/** Why a record cannot be sent at all; null if it can. */
function faultOf(producer: Producer, record: ProducerRecord, sizeBytes: number): number | null {
  const { bufferBytesMax = BUFFER_BYTES_MAX } = producer.options;
  if (producer.isStopped) return ErrorCode.NETWORK_EXCEPTION;
  if (!TOPIC_NAME.test(record.topic)) return ErrorCode.INVALID_TOPIC_EXCEPTION;
  if (!Number.isInteger(record.partition) || record.partition < 0) return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION;
  return sizeBytes > bufferBytesMax ? ErrorCode.MESSAGE_TOO_LARGE : null;
}

function lineOf(producer: Producer, topic: string, partition: number): Line {
  let lines = producer.lines.get(topic);
  if (lines === undefined) {
    lines = new Map();
    producer.lines.set(topic, lines);
    addTopic(producer.cluster, topic);
  }
  let line = lines.get(partition);
  if (line === undefined) {
    line = createLine(topic, partition);
    lines.set(partition, line);
  }
  return line;
}

/** Handles one input. Inputs for connections of others are ignored. */
export function stepProducer(
  producer: Producer,
  env: Env,
  input: ProducerInput,
  out: Outbox,
  events: ProducerEvent[],
): void {
  handOver(producer, events);
  producer.isDirty = false;
  if (producer.isStopped) return;
  const told: ChannelEvent[] = [];
  stepCluster(producer.cluster, env, input, out, told);
  for (const event of told) handle(producer, env, event, events);
  drive(producer, env, out, events);
}

function handOver(producer: Producer, events: ProducerEvent[]): void {
  for (const event of producer.owed) events.push(event);
  producer.owed = [];
}

function handle(producer: Producer, env: Env, event: ChannelEvent, events: ProducerEvent[]): void {
  if (event.kind !== 'answered' && event.kind !== 'lost') return;
  if (event.ticket === producer.identity.ticket) {
    takeIdentity(producer.identity, producer.cluster, env, event);
    return;
  }
  const posted = producer.requests.get(event.ticket);
  if (posted === undefined) return;
  producer.requests.delete(event.ticket);
  if (event.kind === 'answered') {
    answered(producer, env, event, posted, events);
  } else {
    for (const item of posted) lost(producer, env, item, events);
  }
}

function lost(producer: Producer, env: Env, item: Posted, events: ProducerEvent[]): void {
  const error = ErrorCode.NETWORK_EXCEPTION;
  failed(producer, env, item, { error, message: errorInfo(error).message }, events);
}

function answered(producer: Producer, env: Env, event: Answer, posted: Posted[], events: ProducerEvent[]): void {
  const body = answerBody(event, PRODUCE);
  for (const [item, answer] of pairAnswers(body, event.version, posted)) {
    if (answer === null) {
      // The broker has left a partition out: as good as no answer.
      lost(producer, env, item, events);
      continue;
    }
    const { errorCode, baseOffset, logAppendTimeMs: timeMs } = answer;
    const { line, batch } = item;
    if (errorCode === ErrorCode.NONE) {
      acknowledged(line, producer, batch, { baseOffset, timeMs }, events);
      continue;
    }
    if (errorCode === ErrorCode.DUPLICATE_SEQUENCE_NUMBER) {
      env.reached('producer.duplicate');
      acknowledged(line, producer, batch, { baseOffset: -1, timeMs: -1 }, events);
      continue;
    }
    const hasNews = learnLeader(producer.cluster.view, line, answer.currentLeader, body.nodeEndpoints);
    if (doubtsLeader(errorCode) && !hasNews) doubt(producer, line);
    const message = answer.errorMessage ?? errorInfo(errorCode).message;
    failed(producer, env, item, { error: errorCode, message }, events);
    if (hasNews) line.retryAtMs = env.nowMs;
  }
}

function doubt({ cluster }: Producer, line: Line): void {
  doubtLeader(cluster.view, line.topic, line.partition);
  markStale(cluster);
}

function failed(
  producer: Producer,
  env: Env,
  { line, batch }: Posted,
  why: { readonly error: number; readonly message: string },
  events: ProducerEvent[],
): void {
  const verdict = refused(line, producer, batch, why, events);
  if (line.isBroken) env.reached('producer.broken');
  if (verdict === 'wait' && isIdentityError(why.error)) forgetIdentity(producer, line);
  if (verdict !== 'retry') return;
  line.failures += 1;
  const { retryBackoffMs } = producer.options;
  const waitMs = backoffMs(producer.cluster.channel, line.failures, retryBackoffMs, RETRY_BACKOFF_MAX_MS);
  line.retryAtMs = env.nowMs + waitMs;
}

/** Asks for another producer id, unless that has been done since the line took over the one that failed. */
function forgetIdentity({ identity }: Producer, line: Line): void {
  if (identity.state === 'known' && identity.producerId === line.producerId) identity.state = 'none';
}

/** Does all that can be done now. */
function drive(producer: Producer, env: Env, out: Outbox, events: ProducerEvent[]): void {
  producer.drivenAtMs = env.nowMs;
  producer.isDirty = producer.owed.length > 0;
  if (producer.isIdempotent && producer.active.size > 0) {
    pursueIdentity(producer.identity, producer.cluster, env, out);
  }
  for (const line of producer.active) {
    tend(producer, env, line, events);
    if (isIdle(line)) producer.active.delete(line);
  }
  if (producer.cluster.view.topics.size === 0) return;
  post(producer, env, out, events);
  driveCluster(producer.cluster, env, out);
}

/** Ends what is beyond hope in a line and puts it right. */
function tend(producer: Producer, env: Env, line: Line, events: ProducerEvent[]): void {
  expire(line, producer, env.nowMs, events);
  const topicError = producer.cluster.view.topics.get(line.topic)?.error ?? ErrorCode.NONE;
  const error = producer.identity.state === 'refused' ? producer.identity.error : topicError;
  if (error !== ErrorCode.NONE && !errorInfo(error).retriable) {
    failLine(line, producer, { error, message: errorInfo(error).message }, events);
  }
  const state = mend(line, producer, events);
  if (state === 'whole') return;
  env.reached('producer.newEpoch');
  if (state === 'exhausted') producer.identity.state = 'none';
}

/** Sends what waits without lingering further. */
export function flushProducer(producer: Producer, env: Env): void {
  for (const line of producer.active) if (line.open !== null) line.open.readyAtMs = env.nowMs;
  producer.isDirty = true;
}

/** Ends: connections are closed and every open ticket fails. Whoever wants none to fail flushes and waits first. */
export function stopProducer(producer: Producer, env: Env, out: Outbox, events: ProducerEvent[]): void {
  handOver(producer, events);
  if (producer.isStopped) return;
  producer.isStopped = true;
  const told: ChannelEvent[] = [];
  closeCluster(producer.cluster, out, told);
  for (const event of told) handle(producer, env, event, events);
  const why = { error: ErrorCode.NETWORK_EXCEPTION, message: 'the producer was stopped' };
  for (const line of producer.active) failLine(line, producer, why, events);
  producer.active.clear();
}

/** When the producer next wants a 'wake', on the monotonic clock; Infinity for never. */
export function producerDeadlineMs(producer: Producer): number {
  const { drivenAtMs, identity, cluster } = producer;
  if (producer.isDirty) return drivenAtMs;
  if (producer.isStopped) return Number.POSITIVE_INFINITY;
  let deadlineMs = identityDeadlineMs(identity, drivenAtMs);
  if (cluster.view.topics.size > 0) deadlineMs = Math.min(deadlineMs, clusterDeadlineMs(cluster));
  for (const line of producer.active) deadlineMs = Math.min(deadlineMs, lineDeadlineMs(line, producer, drivenAtMs));
  return deadlineMs;
}

/** True between any two steps. */
export function checkProducer(producer: Producer): void {
  checkCluster(producer.cluster);
  checkIdentity(producer.identity);
  assert(producer.bufferedBytes >= 0, 'more was released than was buffered');
  let bufferedBytes = 0;
  for (const line of producer.active) {
    checkLine(line, producer);
    for (const batch of [...line.sent, ...line.queue, ...(line.open === null ? [] : [line.open])]) {
      if (!batch.isSettled) bufferedBytes += batch.sizeBytes;
    }
  }
  assert(bufferedBytes === producer.bufferedBytes, 'the buffer and its count differ');
  for (const [ticket, posted] of producer.requests) {
    for (const { batch } of posted) assert(batch.request === ticket, 'a request carries a batch that is not out');
  }
}
