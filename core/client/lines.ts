/**
 * The line of batches that one partition of a producer has: open, queued, sent, and what an answer does to it.
 *
 * A record joins the open batch; a full batch is queued; a batch that has been given out is in `sent`, oldest first,
 * until it is answered for good. Retries give out the same bytes with the same sequence number, oldest first, and
 * never while a later batch is out. What makes promise 4 hold:
 *
 * - A batch that was given a sequence number and leaves without an acknowledgement breaks the line: numbers after it
 *   have a gap before them. The line waits until nothing of it is in flight, then goes on under the next producer
 *   epoch with number 0 (KIP-360), which also shuts out late copies of the old epoch.
 * - A batch that may have been written is never given out again under a new epoch: it could land twice. It fails, and
 *   its records are reported as maybe written.
 * - Under a fresh epoch one batch is out at a time until the first is acknowledged: a broker that knows nothing of a
 *   producer takes any first number, and so would take the second batch when it had refused the first.
 * - At most SENT_MAX numbers are open at a time, because brokers remember the last five batches.
 *
 * A crash loses the line; what was in flight may still land.
 */
import { assert } from '../lib/assert.ts';
import { ErrorCode, errorInfo } from '../protocol/errors.ts';
import type { RecordInput } from '../protocol/records.ts';
import { isIdentityError, isSequenceError, leavesUnwritten } from './outcomes.ts';
import type { ProducerEvent } from './producer.ts';

/** Batches of one partition and epoch that a broker recognises when they come again. */
export const SENT_MAX = 5;
/** How often a batch may move to a new epoch before it fails. */
export const RESTARTS_MAX = 8;
/** The highest producer epoch; after it a new producer id is needed. */
export const EPOCH_MAX = 0x7fff;
const SEQUENCE_MASK = 0x7fffffff;

/** Records that travel together. */
export interface Batch {
  readonly records: RecordInput[];
  /** One a record. */
  readonly tickets: number[];
  /** An upper estimate. */
  sizeBytes: number;
  readonly createdMs: number;
  /** When lingering ends. */
  readyAtMs: number;
  /** As given out; null before the first time and after a change of epoch. */
  bytes: Uint8Array | null;
  /** Of the first record; -1 before it is given one. */
  sequence: number;
  /** Its place among the batches that the line has given out. */
  place: number;
  /** The ticket of the request that carries it; 0 for none. */
  request: number;
  /** Some attempt may have been written, as far as answers say. */
  maybeWritten: boolean;
  /** Its events are out: it only waits for its answer. */
  isSettled: boolean;
  /** Moves to a new epoch. */
  restarts: number;
  /** Of the last attempt. */
  error: number;
  message: string;
}

/** One partition's batches. */
export interface Line {
  readonly topic: string;
  readonly partition: number;
  open: Batch | null;
  /** Never given out in this epoch; oldest first. */
  queue: Batch[];
  /** Given out and not answered for good; places ascend. */
  sent: Batch[];
  /** Nothing is given out before this. */
  retryAtMs: number;
  failures: number;
  /** The peer to which what is in flight went. */
  peer: string;
  nextPlace: number;
  /** -1 until one is adopted. */
  producerId: number;
  producerEpoch: number;
  nextSequence: number;
  /** A batch of this epoch has been acknowledged. */
  isProven: boolean;
  /** The numbers have a gap: wait for what is in flight, then change the epoch. */
  isBroken: boolean;
}

/** What the lines of one producer share. */
export interface Ledger {
  readonly isIdempotent: boolean;
  /** Batches of a line that may be open in `sent`. */
  readonly sentMax: number;
  readonly deliveryTimeoutMs: number;
  /** Bytes of records whose events are not out. */
  bufferedBytes: number;
}

/** A line without records. */
export function createLine(topic: string, partition: number): Line {
  return {
    topic,
    partition,
    open: null,
    queue: [],
    sent: [],
    retryAtMs: 0,
    failures: 0,
    peer: '',
    nextPlace: 0,
    producerId: -1,
    producerEpoch: -1,
    nextSequence: 0,
    isProven: false,
    isBroken: false,
  };
}

function newBatch(nowMs: number, readyAtMs: number): Batch {
  return {
    records: [],
    tickets: [],
    sizeBytes: 0,
    createdMs: nowMs,
    readyAtMs,
    bytes: null,
    sequence: -1,
    place: -1,
    request: 0,
    maybeWritten: false,
    isSettled: false,
    restarts: 0,
    error: ErrorCode.NONE,
    message: '',
  };
}

/** Adds a record of `sizeBytes` to the open batch; true if a full batch was queued. */
export function addRecord(
  line: Line,
  record: RecordInput,
  ticket: number,
  sizeBytes: number,
  times: { readonly nowMs: number; readonly lingerMs: number },
  batchBytesMax: number,
): boolean {
  let isFull = line.open !== null && line.open.sizeBytes + sizeBytes > batchBytesMax;
  if (isFull) closeOpen(line);
  line.open ??= newBatch(times.nowMs, times.nowMs + times.lingerMs);
  line.open.records.push(record);
  line.open.tickets.push(ticket);
  line.open.sizeBytes += sizeBytes;
  if (line.open.sizeBytes >= batchBytesMax) {
    closeOpen(line);
    isFull = true;
  }
  return isFull;
}

function closeOpen(line: Line): void {
  if (line.open !== null) line.queue.push(line.open);
  line.open = null;
}

/** The batch that may be given out to `peer` now; null if none may. */
export function nextBatch(line: Line, ledger: Ledger, nowMs: number, peer: string): Batch | null {
  if (line.isBroken || line.retryAtMs > nowMs) return null;
  let inFlight = 0;
  let waiting: Batch | null = null;
  for (const batch of line.sent) {
    if (batch.request === 0) waiting ??= batch;
    else if (waiting !== null) return null;
    else inFlight += 1;
  }
  if (inFlight > 0 && line.peer !== peer) return null;
  if (inFlight > 0 && ledger.isIdempotent && !line.isProven) return null;
  if (waiting !== null) return waiting;
  const oldest = line.sent[0];
  if (oldest !== undefined && line.nextPlace - oldest.place >= ledger.sentMax) return null;
  return line.queue[0] ?? (line.open !== null && line.open.readyAtMs <= nowMs ? line.open : null);
}

/** Moves a batch that `nextBatch` gave into `sent`, with a sequence number if the producer is idempotent. */
export function giveOut(line: Line, ledger: Ledger, batch: Batch, peer: string): void {
  line.peer = peer;
  if (batch.place >= 0) return;
  if (line.queue[0] === batch) line.queue.shift();
  else line.open = null;
  batch.place = line.nextPlace;
  line.nextPlace += 1;
  line.sent.push(batch);
  if (!ledger.isIdempotent) return;
  assert(line.producerId >= 0, 'a batch is numbered without a producer id');
  batch.sequence = line.nextSequence;
  line.nextSequence = (line.nextSequence + batch.records.length) & SEQUENCE_MASK;
}

/** Takes over a producer id, from which numbers start anew. Only for a line with nothing in `sent`. */
export function adopt(line: Line, producerId: number, producerEpoch: number): void {
  assert(line.sent.length === 0, 'an id was changed with batches out');
  line.producerId = producerId;
  line.producerEpoch = producerEpoch;
  line.nextSequence = 0;
  line.isProven = false;
}

/** A batch is in the log. `baseOffset` is -1 if not known; `timeMs` is the broker's stamp or -1. */
export function acknowledged(
  line: Line,
  ledger: Ledger,
  batch: Batch,
  at: { readonly baseOffset: number; readonly timeMs: number },
  events: ProducerEvent[],
): void {
  remove(line, batch);
  line.isProven = true;
  line.failures = 0;
  if (batch.isSettled) return;
  settle(ledger, batch);
  const { topic, partition } = line;
  for (const [index, ticket] of batch.tickets.entries()) {
    const offset = at.baseOffset < 0 ? -1 : at.baseOffset + index;
    const timestampMs = at.timeMs >= 0 ? at.timeMs : (batch.records[index] as RecordInput).timestampMs;
    events.push({ kind: 'acknowledged', ticket, topic, partition, offset, timestampMs });
  }
}

/**
 * An attempt has failed. 'wait': the batch stays in line behind those before it. 'retry': it is to be given out again,
 * after a back-off. 'failed': it is out of line and its records are reported.
 */
export function refused(
  line: Line,
  ledger: Ledger,
  batch: Batch,
  why: { readonly error: number; readonly message: string },
  events: ProducerEvent[],
): 'wait' | 'retry' | 'failed' {
  batch.request = 0;
  batch.error = why.error;
  batch.message = why.message;
  if (!leavesUnwritten(why.error)) batch.maybeWritten = true;
  if (batch.isSettled) {
    drop(line, batch);
    return 'failed';
  }
  if (ledger.isIdempotent && isIdentityError(why.error)) {
    line.isBroken = true;
    return 'wait';
  }
  if (ledger.isIdempotent && isSequenceError(why.error)) {
    // Behind a batch that was not written, the gap is no surprise; at the head of the line it is.
    if (batch === line.sent[0]) line.isBroken = true;
    return 'wait';
  }
  if (errorInfo(why.error).retriable) return 'retry';
  failBatch(line, ledger, batch, events);
  return 'failed';
}

/** Takes a batch out of line and reports its records as failed. */
function failBatch(line: Line, ledger: Ledger, batch: Batch, events: ProducerEvent[]): void {
  if (batch === line.open) line.open = null;
  else drop(line, batch);
  report(line, ledger, batch, events);
}

function drop(line: Line, batch: Batch): void {
  if (batch.place >= 0) {
    remove(line, batch);
    if (batch.sequence >= 0) line.isBroken = true;
  } else {
    const index = line.queue.indexOf(batch);
    if (index >= 0) line.queue.splice(index, 1);
  }
}

function remove(line: Line, batch: Batch): void {
  batch.request = 0;
  const index = line.sent.indexOf(batch);
  assert(index >= 0, 'a batch was answered that is not out');
  line.sent.splice(index, 1);
}

function settle(ledger: Ledger, batch: Batch): void {
  assert(!batch.isSettled, 'records are reported twice');
  batch.isSettled = true;
  ledger.bufferedBytes -= batch.sizeBytes;
}

function report(line: Line, ledger: Ledger, batch: Batch, events: ProducerEvent[]): void {
  if (batch.isSettled) return;
  settle(ledger, batch);
  const { topic, partition } = line;
  const { error, message, maybeWritten } = batch;
  for (const ticket of batch.tickets) {
    events.push({ kind: 'failed', ticket, topic, partition, error, message, maybeWritten });
  }
}

/**
 * Puts a broken line right once nothing of it is in flight: batches that may have been written fail, the others are
 * queued again, the epoch goes up. 'exhausted' if the id has no epoch left, and then one must be adopted.
 */
export function mend(line: Line, ledger: Ledger, events: ProducerEvent[]): 'whole' | 'mended' | 'exhausted' {
  if (!line.isBroken || line.sent.some((batch) => batch.request !== 0)) return 'whole';
  const kept: Batch[] = [];
  for (const batch of line.sent) {
    if (batch.maybeWritten || batch.restarts >= RESTARTS_MAX) {
      report(line, ledger, batch, events);
      continue;
    }
    batch.sequence = -1;
    batch.place = -1;
    batch.bytes = null;
    batch.restarts += 1;
    kept.push(batch);
  }
  line.sent = [];
  line.queue = [...kept, ...line.queue];
  line.isBroken = false;
  if (line.producerEpoch >= EPOCH_MAX) {
    adopt(line, -1, -1);
    return 'exhausted';
  }
  adopt(line, line.producerId, line.producerEpoch + 1);
  return 'mended';
}

/** Fails what has waited for longer than the delivery time-out. What is in flight is reported and then awaited. */
export function expire(line: Line, ledger: Ledger, nowMs: number, events: ProducerEvent[]): void {
  const bornMs = nowMs - ledger.deliveryTimeoutMs;
  for (const batch of [...line.sent]) {
    if (batch.createdMs > bornMs || batch.isSettled) continue;
    blameTime(batch);
    if (batch.request === 0) {
      failBatch(line, ledger, batch, events);
    } else {
      batch.maybeWritten = true;
      report(line, ledger, batch, events);
    }
  }
  for (let batch = line.queue[0]; batch !== undefined && batch.createdMs <= bornMs; batch = line.queue[0]) {
    blameTime(batch);
    failBatch(line, ledger, batch, events);
  }
  if (line.open !== null && line.open.createdMs <= bornMs) {
    blameTime(line.open);
    failBatch(line, ledger, line.open, events);
  }
}

function blameTime(batch: Batch): void {
  if (batch.error !== ErrorCode.NONE) return;
  batch.error = ErrorCode.REQUEST_TIMED_OUT;
  batch.message = 'the record was not delivered in time';
}

/** Fails all that is not in flight. */
export function failLine(
  line: Line,
  ledger: Ledger,
  why: { readonly error: number; readonly message: string },
  events: ProducerEvent[],
): void {
  for (const batch of [...line.sent, ...line.queue, ...(line.open === null ? [] : [line.open])]) {
    if (batch.request !== 0) continue;
    batch.error = why.error;
    batch.message = why.message;
    failBatch(line, ledger, batch, events);
  }
}

/** Whether nothing is in line. */
export function isIdle(line: Line): boolean {
  return line.open === null && line.queue.length === 0 && line.sent.length === 0 && !line.isBroken;
}

/** When the line next changes by itself, given that all that was possible at `drivenAtMs` has been done. */
export function lineDeadlineMs(line: Line, ledger: Ledger, drivenAtMs: number): number {
  let deadlineMs = Number.POSITIVE_INFINITY;
  if (line.retryAtMs > drivenAtMs) deadlineMs = line.retryAtMs;
  if (line.open !== null && line.open.readyAtMs > drivenAtMs) deadlineMs = Math.min(deadlineMs, line.open.readyAtMs);
  const oldest = line.sent.find((batch) => !batch.isSettled) ?? line.queue[0] ?? line.open;
  if (oldest !== null) deadlineMs = Math.min(deadlineMs, oldest.createdMs + ledger.deliveryTimeoutMs);
  return deadlineMs;
}

/** True between any two steps. */
export function checkLine(line: Line, ledger: Ledger): void {
  let place = -1;
  for (const batch of line.sent) {
    assert(batch.place > place, 'batches are out of order');
    place = batch.place;
    assert(batch.sequence >= 0 === ledger.isIdempotent, 'a batch is out without a number, or with one for no reason');
    assert(!batch.isSettled || batch.request !== 0, 'a batch is kept for no reason');
  }
  assert(line.sent.length <= ledger.sentMax, 'too many batches of a partition are open');
  for (const batch of line.queue) assert(batch.place === -1, 'a queued batch has been given out');
}
