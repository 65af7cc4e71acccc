/**
 * Reading ahead: once a reader of files has gone on where it ended before, the next range is read while it works, so
 * that its next request is answered from memory.
 *
 * An ahead begins as a read job like any other and ends as whole batches whose checksums hold. It belongs to no reader:
 * whoever asks for its offset first takes it, and takes over its job if that is still under way. At most AHEADS_MAX are
 * kept for one log, the oldest goes first; one that nobody has taken for AHEAD_IDLE_MS is dropped. Like every job it
 * sees nothing at or above the high watermark of its time, so that no cut can reach it. A crash loses it.
 */
import type { Env, Outbox } from '../lib/world.ts';
import { advanceJob } from './cold.ts';
import { JOBS_MAX, type ReadJob, type ReadRequest, startJob } from './read.ts';
import { findRecent } from './ring.ts';
import { damageFrom, type Log, segmentIndexFor } from './state.ts';
import type { ReadOutcome } from './types.ts';

/** Ranges read ahead of one log's readers. */
export const AHEADS_MAX = 4;
/** How long a range waits for its reader, ms. */
export const AHEAD_IDLE_MS = 2_000;

/** One range: being read, or read. */
export interface Ahead {
  /** Where its reader goes on. */
  readonly offset: number;
  /** Of its job. */
  readonly ticket: number;
  /** The memory that it may take. */
  readonly sizeBytes: number;
  /** When it is dropped, `env.nowMs`. */
  readonly untilMs: number;
  /** Null while it is being read. */
  batches: Extract<ReadOutcome, { kind: 'batches' }> | null;
}

/** What is to be read ahead, and for which limits. */
export interface AheadRequest {
  readonly offset: number;
  readonly sizeBytesMax: number;
  /** Readers see nothing at or above it. */
  readonly upTo: number;
}

/** Begins to read what a reader will ask next, unless that is in memory, damaged or being read ahead already. */
export function readAhead(log: Log, env: Env, request: AheadRequest, out: Outbox): void {
  const { offset, sizeBytesMax } = request;
  const upTo = Math.min(request.upTo, log.end);
  if (log.state !== 'open' || offset < log.start || offset >= upTo) return;
  if (damageFrom(log, offset) !== null || (log.ring !== null && findRecent(log.ring, offset) >= 0)) return;
  if (log.aheads?.some((known) => known.offset === offset) === true) return;
  if (log.jobs !== null && log.jobs.length >= JOBS_MAX / 2) return;
  const purpose = { kind: 'fetch', sizeBytesMax, minOne: false } as const;
  const job = startJob(log, purpose, offset, upTo, Math.max(0, segmentIndexFor(log, offset)));
  job.isSequential = true;
  const ahead = {
    offset,
    ticket: job.ticket,
    sizeBytes: sizeBytesMax,
    untilMs: env.nowMs + AHEAD_IDLE_MS,
    batches: null,
  };
  log.aheads = [...(log.aheads ?? []).slice(1 - AHEADS_MAX), ahead];
  advanceJob(log, env, job, out);
}

/**
 * What was read ahead for this request: its batches, or 'pending' under the ticket of a job that is the reader's from
 * now on. Null when there is nothing that fits.
 */
export function takeAhead(log: Log, env: Env, request: ReadRequest, upTo: number): ReadOutcome | null {
  const ahead = log.aheads?.find(({ offset }) => offset === request.offset);
  if (ahead === undefined) return null;
  drop(log, ahead);
  const { batches } = ahead;
  if (batches !== null) {
    const fits = batches.sizeBytes <= request.sizeBytesMax && (batches.goesOnAt ?? Infinity) <= upTo;
    if (fits) env.reached('log.read.ahead');
    return fits ? batches : null;
  }
  const job = log.jobs?.find(({ ticket }) => ticket === ahead.ticket);
  if (job === undefined) return null;
  env.reached('log.read.ahead_under_way');
  job.purpose = { kind: 'fetch', sizeBytesMax: request.sizeBytesMax, minOne: request.minOne };
  return { kind: 'pending', ticket: job.ticket };
}

/** A job has ended. True if no reader waits for it: then its batches are kept for one, and nobody is told. */
export function landAhead(log: Log, job: ReadJob, outcome: ReadOutcome): boolean {
  const ahead = log.aheads?.find(({ ticket }) => ticket === job.ticket);
  if (ahead === undefined) return false;
  if (outcome.kind === 'batches' && outcome.sizeBytes > 0 && outcome.goesOnAt !== undefined) ahead.batches = outcome;
  else drop(log, ahead); // Its reader finds out itself what is wrong there.
  return true;
}

/** Drops what begins below the start of the log. */
export function cutAheads(log: Log): void {
  for (const ahead of log.aheads ?? []) if (ahead.offset < log.start) drop(log, ahead);
}

/** Drops what nobody has taken in time. */
export function dropIdleAheads(log: Log, nowMs: number): void {
  for (const ahead of log.aheads ?? []) if (ahead.untilMs <= nowMs) drop(log, ahead);
}

/** When the first range is dropped, `env.nowMs`; Infinity when there is none. */
export function aheadsUntilMs(log: Log): number {
  return log.aheads === null ? Number.POSITIVE_INFINITY : (log.aheads[0]?.untilMs ?? Number.POSITIVE_INFINITY);
}

/** The memory that ranges take which were read ahead, or are being read. */
export function aheadBytes(log: Log): number {
  let sizeBytes = 0;
  for (const ahead of log.aheads ?? []) sizeBytes += ahead.sizeBytes;
  return sizeBytes;
}

/** A job that is under way goes on to its end; its outcome is passed over. */
function drop(log: Log, ahead: Ahead): void {
  const kept = (log.aheads ?? []).filter((other) => other !== ahead);
  log.aheads = kept.length === 0 ? null : kept;
}
