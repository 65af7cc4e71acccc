/**
 * Reading whole batches: from memory at once, from the files by a job that goes on with each answer of the disk.
 *
 * A job remembers offsets, not bytes. It looks up where to begin (a cursor of an earlier read, the collected index
 * entries, the index file), reads a range, and walks the headers to whole batches. The checksum of every batch that
 * leaves a file is computed: a bad one becomes damage and is not served. What an index says is never believed: if the
 * walk does not fit, it starts again at the head of the segment. Jobs see nothing at or above `upTo`, so that a cut
 * below it cannot happen while they run. A crash loses jobs and their readers alike.
 */
import { nextTicket } from '../lib/ids.ts';
import type { Env, Outbox } from '../lib/world.ts';
import { ErrorCode } from '../protocol/errors.ts';
import { takeAhead } from './ahead.ts';
import { advanceJob } from './cold.ts';
import type { Hunt } from './damage.ts';
import { findRecent, type RecentBatch, type Ring } from './ring.ts';
import { writtenEnd } from './settle.ts';
import { damageFrom, type Log, type Segment, segmentIndexFor } from './state.ts';
import type { ReadOutcome } from './types.ts';

/** Reads of files that are under way for one log, at most; beyond that a reader gets nothing and asks again. */
export const JOBS_MAX = 1024;

/** What a reader asks: whole batches that contain records in [offset, upTo). */
export interface ReadRequest {
  readonly offset: number;
  readonly sizeBytesMax: number;
  /** The reader sees nothing at or above it. */
  readonly upTo: number;
  /** Give the first batch even when it is larger than `sizeBytesMax`. */
  readonly minOne: boolean;
}

/** What a job is for: bytes for a reader, or the first record that reaches a timestamp. */
export type Purpose =
  | { readonly kind: 'fetch'; readonly sizeBytesMax: number; readonly minOne: boolean }
  | { readonly kind: 'reach'; readonly timestampMs: number }
  | { readonly kind: 'latest' };

/** A read of files under way; plain data. */
export interface ReadJob {
  readonly ticket: number;
  /** A `latest` becomes a `reach` once the largest timestamp is known. */
  purpose: Purpose;
  readonly upTo: number;
  /** The first offset that is wanted. */
  offset: number;
  segment: Segment;
  /** What is read next: the last entry of a time index, a piece of an index, of the log, of what is behind damage. */
  stage: 'start' | 'max' | 'time' | 'index' | 'data' | 'hunt';
  /** The read waits until a file is open. */
  isWaiting: boolean;
  /** Entries of the index that the sought one may be among: [low, high); and the slice that was asked for. */
  low: number;
  high: number;
  sliceFrom: number;
  /** The best that the index has said: a position; for the time index an offset. */
  best: number;
  /** Where the next batch begins in the file, and how much was asked for. */
  position: number;
  length: number;
  /** Offset of the next batch when it is known, else -1. */
  expected: number;
  /** The reader has gone on where an earlier read ended: what follows is worth reading ahead. */
  isSequential: boolean;
  /** The position comes from an index or a cursor and may be wrong. */
  isGuess: boolean;
  hunt: Hunt | null;
  retries: number;
}

const NOTHING: ReadOutcome = { kind: 'batches', parts: [], sizeBytes: 0 };

/** Reads whole batches. 'pending' is followed by the event 'readDone'. */
export function readLog(log: Log, env: Env, request: ReadRequest, out: Outbox): ReadOutcome {
  if (log.state !== 'open') return { kind: 'error', error: ErrorCode.KAFKA_STORAGE_ERROR };
  const offset = request.offset;
  if (offset < log.start || offset > log.end) return { kind: 'error', error: ErrorCode.OFFSET_OUT_OF_RANGE };
  const upTo = Math.min(request.upTo, log.end);
  if (offset >= upTo) return NOTHING;
  if (log.damaged.length > 0) {
    const damage = damageFrom(log, offset);
    if (damage !== null && damage.start <= offset) return { kind: 'error', error: ErrorCode.CORRUPT_MESSAGE };
  }
  if (log.ring !== null) {
    const at = findRecent(log.ring, offset);
    if (at >= 0) return readRecent(log.ring, at, request, upTo);
  }
  const ahead = takeAhead(log, env, request, upTo);
  if (ahead !== null) return ahead;
  if (log.jobs !== null && log.jobs.length >= JOBS_MAX) return NOTHING;
  const purpose: Purpose = { kind: 'fetch', sizeBytesMax: request.sizeBytesMax, minOne: request.minOne };
  const job = startJob(
    log,
    purpose,
    offset,
    Math.min(upTo, writtenEnd(log)),
    Math.max(0, segmentIndexFor(log, offset)),
  );
  advanceJob(log, env, job, out);
  return { kind: 'pending', ticket: job.ticket };
}

function readRecent(ring: Ring, first: number, request: ReadRequest, upTo: number): ReadOutcome {
  const parts: Uint8Array[] = [];
  let sizeBytes = 0;
  for (let i = first; i < ring.items.length; i++) {
    const recent = ring.items[i] as RecentBatch;
    if (recent.next > upTo) break;
    const isForced = request.minOne && sizeBytes === 0;
    if (sizeBytes + recent.sizeBytes > request.sizeBytesMax && !isForced) break;
    for (const part of recent.parts) parts.push(part);
    sizeBytes += recent.sizeBytes;
  }
  return { kind: 'batches', parts, sizeBytes };
}

/** A new job that begins in the segment at `index`. */
export function startJob(log: Log, purpose: Purpose, offset: number, upTo: number, index: number): ReadJob {
  const job: ReadJob = {
    ticket: nextTicket(log.ids),
    purpose,
    upTo,
    offset,
    segment: log.segments[index] as Segment,
    stage: 'start',
    isWaiting: false,
    low: 0,
    high: 0,
    sliceFrom: 0,
    best: 0,
    position: 0,
    length: 0,
    expected: -1,
    isSequential: false,
    isGuess: false,
    hunt: null,
    retries: 0,
  };
  log.jobs ??= [];
  log.jobs.push(job);
  return job;
}
