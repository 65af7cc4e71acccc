/**
 * Finding records by time (ListOffsets, KIP-79, KIP-734): the first that reaches a timestamp, and the latest of
 * all.
 *
 * The largest timestamp of a segment rules whole segments out, the time index says up to which offset nothing is
 * as late, and the batches from there on are walked by their headers. Only the one batch that reaches the
 * timestamp is inflated, under the usual cap. Answers at or above `upTo` count as not found, as in Kafka.
 */
import { ProtocolError } from '../lib/protocol-error.ts';
import type { Env, Outbox } from '../lib/world.ts';
import * as batch from '../protocol/batch.ts';
import { ErrorCode } from '../protocol/errors.ts';
import { type LogRecord, readRecords } from '../protocol/records.ts';
import { advanceJob, dropJob, finishJob, locate } from './cold.ts';
import { epochAt } from './epochs.ts';
import { searchTail, timeEntry } from './index.ts';
import { JOBS_MAX, type ReadJob, startJob } from './read.ts';
import { type Log, type Segment, segmentIndexFor, TIMESTAMP_UNKNOWN } from './state.ts';
import type { LogEvent, TimestampFound } from './types.ts';
import { goOn } from './walk.ts';

/** The answer to a question by timestamp: at once, or later by the event 'timestampFound'. */
export type TimestampOutcome =
  | { readonly kind: 'found'; readonly found: TimestampFound }
  | { readonly kind: 'pending'; readonly ticket: number };

const NOT_FOUND: TimestampFound = { error: ErrorCode.NONE, offset: -1, timestampMs: -1, leaderEpoch: -1 };

/** The first record below `upTo` whose timestamp is at least `timestampMs` (ListOffsets). */
export function findTimestamp(log: Log, env: Env, timestampMs: number, upTo: number, out: Outbox): TimestampOutcome {
  const refused = refusal(log);
  if (refused !== null) return refused;
  const index = nextSegment(log, Math.max(0, segmentIndexFor(log, log.start)), timestampMs);
  if (index < 0 || log.start >= upTo) return { kind: 'found', found: NOT_FOUND };
  const job = startJob(log, { kind: 'reach', timestampMs }, log.start, Math.min(upTo, log.end), index);
  advanceJob(log, env, job, out);
  return { kind: 'pending', ticket: job.ticket };
}

/** The first record that has the largest timestamp of all below `upTo` (ListOffsets -3, KIP-734). */
export function maxTimestamp(log: Log, env: Env, upTo: number, out: Outbox): TimestampOutcome {
  const refused = refusal(log);
  if (refused !== null) return refused;
  const first = Math.max(0, segmentIndexFor(log, log.start));
  const unknown = firstUnknown(log, first);
  const latest = latestSegment(log, first);
  if (log.start >= upTo || (unknown < 0 && latest < 0)) return { kind: 'found', found: NOT_FOUND };
  const job = startJob(log, { kind: 'latest' }, log.start, Math.min(upTo, log.end), unknown < 0 ? latest : unknown);
  advanceJob(log, env, job, out);
  return { kind: 'pending', ticket: job.ticket };
}

function refusal(log: Log): TimestampOutcome | null {
  const isBusy = log.jobs !== null && log.jobs.length >= JOBS_MAX;
  if (log.state === 'open' && !isBusy) return null;
  return { kind: 'found', found: { ...NOT_FOUND, error: ErrorCode.KAFKA_STORAGE_ERROR } };
}

/** Index of the first segment from `from` on that may reach `timestampMs`; -1 when none can. */
function nextSegment(log: Log, from: number, timestampMs: number): number {
  for (let i = from; i < log.segments.length; i++) {
    const segment = log.segments[i] as Segment;
    if (segment.sizeBytes === 0) continue;
    if (segment.maxTimestampMs === TIMESTAMP_UNKNOWN || segment.maxTimestampMs >= timestampMs) return i;
  }
  return -1;
}

function firstUnknown(log: Log, from: number): number {
  const isUnknown = (segment: Segment, i: number): boolean =>
    i >= from && segment.maxTimestampMs === TIMESTAMP_UNKNOWN && segment.timeCount > 0;
  return log.segments.findIndex(isUnknown);
}

/** Index of the first segment that has the largest known timestamp; -1 when there are no timestamps. */
function latestSegment(log: Log, from: number): number {
  let best = -1;
  for (let i = from; i < log.segments.length; i++) {
    const timestampMs = (log.segments[i] as Segment).maxTimestampMs;
    if (timestampMs >= 0 && (best < 0 || timestampMs > (log.segments[best] as Segment).maxTimestampMs)) best = i;
  }
  return best;
}

/** Decides where a job by timestamp begins in its segment. */
export function startReach(log: Log, job: ReadJob): void {
  const segment = job.segment;
  if (segment.maxTimestampMs === TIMESTAMP_UNKNOWN && segment.timeCount > 0) {
    job.stage = 'max';
    return;
  }
  if (job.purpose.kind === 'latest') job.purpose = { kind: 'reach', timestampMs: segment.maxTimestampMs };
  if (job.purpose.kind !== 'reach') return;
  const target = job.purpose.timestampMs - 1;
  const times = segment.tail === null ? [] : segment.tail.times;
  const at = searchTail(times, target);
  if (at >= 0) {
    job.offset = Math.max(job.offset, times[at * 2 + 1] as number);
  } else if (segment.timeCount > 0) {
    job.stage = 'time';
    job.low = 0;
    job.high = segment.timeCount;
    job.best = -1;
    return;
  }
  locate(log, job);
}

/** The last entry of a segment's time index was read: its largest timestamp. */
export function takeMaxTimestamp(
  log: Log,
  env: Env,
  job: ReadJob,
  bytes: Uint8Array,
  out: Outbox,
  events: LogEvent[],
): void {
  const segment = job.segment;
  const view = batch.dataViewOf(bytes);
  const entry = bytes.length < 12 ? null : timeEntry(view, 0, segment.base);
  // A time index that is shorter than it was says nothing: the segment is walked.
  if (entry === null) segment.timeCount = 0;
  else segment.maxTimestampMs = Math.max(-1, entry.key);
  if (entry !== null) segment.maxTimestampOffset = entry.value;
  const index = log.segments.indexOf(segment);
  let next: number;
  if (job.purpose.kind === 'latest') {
    const first = Math.max(0, segmentIndexFor(log, log.start));
    const unknown = firstUnknown(log, first);
    next = unknown < 0 ? latestSegment(log, first) : unknown;
  } else {
    next = job.purpose.kind === 'reach' ? nextSegment(log, index, job.purpose.timestampMs) : -1;
  }
  if (next < 0) {
    finishJob(log, job, { kind: 'batches', parts: [], sizeBytes: 0 }, out, events);
    return;
  }
  job.segment = log.segments[next] as Segment;
  job.stage = 'start';
  advanceJob(log, env, job, out);
}

/** The batch at `at` reaches the timestamp: finds the record. */
export function takeReached(
  log: Log,
  env: Env,
  job: ReadJob,
  bytes: Uint8Array,
  at: number,
  out: Outbox,
  events: LogEvent[],
): void {
  const view = batch.dataViewOf(bytes);
  const size = batch.batchSizeBytes(view, at);
  const timestampMs = job.purpose.kind === 'reach' ? job.purpose.timestampMs : 0;
  let record: LogRecord | undefined;
  try {
    const records = readRecords(bytes.subarray(at, at + size), env.codecs);
    record = records.find((one) => one.timestampMs >= timestampMs && one.offset >= job.offset);
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    finishJob(log, job, { kind: 'error', error: ErrorCode.CORRUPT_MESSAGE }, out, events);
    return;
  }
  if (record === undefined) {
    // The header promised more than the records hold, or the record lies before the start: the walk goes on behind it.
    job.expected = batch.nextOffset(view, at);
    job.offset = Math.max(job.offset, job.expected);
    job.isGuess = false;
    goOn(log, env, job, job.position + at + size, 0, out, events);
    return;
  }
  dropJob(log, job, out);
  const leaderEpoch = epochAt(log.epochs, record.offset);
  const found = { error: ErrorCode.NONE, offset: record.offset, timestampMs: record.timestampMs, leaderEpoch };
  events.push({ kind: 'timestampFound', ticket: job.ticket, found });
}
