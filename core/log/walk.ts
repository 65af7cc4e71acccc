/**
 * Walking what a read job has read of a log file: whole batches for a reader, the first record that reaches a
 * timestamp, or damage.
 *
 * Batches that are skipped are judged by their headers and must follow each other; those that leave are judged by
 * their checksums too (about a nanosecond a byte with the portable checksum).
 */
import type { Env, Outbox } from '../lib/world.ts';
import * as batch from '../protocol/batch.ts';
import { ErrorCode } from '../protocol/errors.ts';
import { finishJob, fromHead, issue, rememberCursor } from './cold.ts';
import { addDamage, huntIn, startHunt } from './damage.ts';
import { segmentPath } from './files.ts';
import type { ReadJob } from './read.ts';
import { type Expected, sightBatch, sightHeader } from './scan.ts';
import { type DamagedRange, type Log, type Segment, segmentEnd } from './state.ts';
import { takeReached } from './timestamp.ts';
import type { LogEvent } from './types.ts';

/** Where a walk over one chunk stands. */
interface Walk {
  /** In the chunk. */
  at: number;
  /** The chunk's range of batches for the reader; empty while from = to. */
  from: number;
  to: number;
  /** Offset after the last batch that was taken. */
  nextOffset: number;
  /** Why it ended. */
  end: 'chunk' | 'full' | 'bad' | 'damage' | 'reached';
}

/** The answer to a read of the log file. */
export function takeData(log: Log, env: Env, job: ReadJob, bytes: Uint8Array, out: Outbox, events: LogEvent[]): void {
  const view = batch.dataViewOf(bytes);
  const walk: Walk = { at: 0, from: 0, to: 0, nextOffset: -1, end: 'chunk' };
  const wantedBytes = walkChunk(log, env, job, bytes, view, walk);
  if (walk.to > walk.from && job.purpose.kind === 'fetch') {
    finishFetch(log, job, bytes, walk, out, events);
    return;
  }
  if (walk.end === 'reached') {
    takeReached(log, env, job, bytes, walk.at, out, events);
    return;
  }
  if (walk.end === 'full') {
    finishJob(log, job, { kind: 'batches', parts: [], sizeBytes: 0 }, out, events);
    return;
  }
  const position = job.position + walk.at;
  if (walk.end === 'bad') {
    takeBad(log, env, job, position, out);
    return;
  }
  if (walk.end === 'damage') {
    takeKnownDamage(log, env, job, position, out, events);
    return;
  }
  goOn(log, env, job, position, wantedBytes, out, events);
}

/** The chunk held nothing for the job: reads on, in this segment or the next. */
export function goOn(
  log: Log,
  env: Env,
  job: ReadJob,
  position: number,
  wantedBytes: number,
  out: Outbox,
  events: LogEvent[],
): void {
  if (position < job.segment.sizeBytes) {
    job.position = position;
    job.length = wantedBytes;
    issue(log, env, job, out);
    return;
  }
  const index = log.segments.indexOf(job.segment);
  const next = log.segments[index + 1];
  if (index < 0 || next === undefined) {
    finishJob(log, job, { kind: 'batches', parts: [], sizeBytes: 0 }, out, events);
    return;
  }
  job.segment = next;
  job.length = 0;
  fromHead(job);
  issue(log, env, job, out);
}

function finishFetch(log: Log, job: ReadJob, bytes: Uint8Array, walk: Walk, out: Outbox, events: LogEvent[]): void {
  const part = bytes.subarray(walk.from, walk.to);
  const cursor = { offset: walk.nextOffset, segment: job.segment.base, position: job.position + walk.to };
  rememberCursor(log, job.offset, cursor);
  // A batch that is larger than what the reader asks for would be read ahead in vain.
  const goesOn = job.isSequential && job.purpose.kind === 'fetch' && part.length <= job.purpose.sizeBytesMax;
  const outcome = { kind: 'batches', parts: [part], sizeBytes: part.length } as const;
  finishJob(log, job, goesOn ? { ...outcome, goesOnAt: walk.nextOffset } : outcome, out, events);
}

/**
 * Walks the chunk as far as it serves the job. Returns how many bytes are to be read at the next position: more than
 * usual where a batch did not fit.
 */
function walkChunk(log: Log, env: Env, job: ReadJob, bytes: Uint8Array, view: DataView, walk: Walk): number {
  const segment = job.segment;
  const offsetMax = segmentEnd(log, log.segments.indexOf(segment));
  for (;;) {
    if (job.expected >= job.upTo) return end(walk, 'full');
    const position = job.position + walk.at;
    if (position >= segment.sizeBytes) return end(walk, 'chunk');
    if (damageAt(log, segment, position) !== null) return end(walk, 'damage');
    const left = segment.sizeBytes - position;
    const expected: Expected = { offset: job.expected, offsetMax, epochMin: -1, end: walk.at + left };
    const sight = sightHeader(view, walk.at, expected);
    if (sight === 'bad') return end(walk, 'bad');
    if (sight === 'short') {
      const isRest = job.position + bytes.length >= segment.sizeBytes || (walk.at === 0 && bytes.length < job.length);
      if (isRest) return end(walk, 'bad');
      const isHeader = bytes.length - walk.at >= batch.BATCH_HEADER_BYTES;
      const size = isHeader ? batch.batchSizeBytes(view, walk.at) : 0;
      // A batch that is too large for the reader is not worth another read.
      if (isHeader && isTooLarge(job, walk, size) && batch.nextOffset(view, walk.at) > job.offset) {
        return end(walk, 'full');
      }
      end(walk, 'chunk');
      return size;
    }
    const verdict = takeBatch(env, job, bytes, view, walk, expected);
    if (verdict !== null) return end(walk, verdict);
  }
}

function end(walk: Walk, why: Walk['end']): number {
  walk.end = why;
  return 0;
}

/** Takes or skips the whole batch at `walk.at`; null to go on. */
function takeBatch(
  env: Env,
  job: ReadJob,
  bytes: Uint8Array,
  view: DataView,
  walk: Walk,
  expected: Expected,
): Walk['end'] | null {
  const at = walk.at;
  const size = batch.batchSizeBytes(view, at);
  const base = batch.baseOffset(view, at);
  const next = batch.nextOffset(view, at);
  // An index that points behind the offset was wrong.
  if (job.expected < 0 && base > job.offset) return 'bad';
  if (next > job.offset) {
    if (next > job.upTo) return 'full';
    if (job.purpose.kind === 'fetch') {
      if (isTooLarge(job, walk, size)) return 'full';
      if (sightBatch(bytes, view, at, expected, env.crc32c) === 'bad') return 'bad';
      if (walk.to === walk.from) walk.from = at;
      walk.to = at + size;
      walk.nextOffset = next;
    } else if (job.purpose.kind === 'reach' && batch.maxTimestamp(view, at) >= job.purpose.timestampMs) {
      return sightBatch(bytes, view, at, expected, env.crc32c) === 'bad' ? 'bad' : 'reached';
    }
  }
  job.expected = next;
  walk.at = at + size;
  return null;
}

function isTooLarge(job: ReadJob, walk: Walk, size: number): boolean {
  if (job.purpose.kind !== 'fetch') return false;
  const taken = walk.to - walk.from;
  return taken + size > job.purpose.sizeBytesMax && (taken > 0 || !job.purpose.minOne);
}

function damageAt(log: Log, segment: Segment, position: number): DamagedRange | null {
  for (const range of log.damaged) {
    if (range.segment === segment.base && range.position <= position && position < range.positionEnd) return range;
  }
  return null;
}

/** The batch at `position` is not what it should be: a wrong index, or damage. */
function takeBad(log: Log, env: Env, job: ReadJob, position: number, out: Outbox): void {
  const segment = job.segment;
  if (job.isGuess) {
    env.reached('log.index.distrusted');
    const fields = new Map([['file', segmentPath(log, segment, 'index')]]);
    const text = 'an index does not fit its log, or the log is damaged: reading from the head of the segment';
    out.push({ kind: 'say', level: 'warn', text, fields });
    log.cursors = null;
    job.length = 0;
    fromHead(job);
    issue(log, env, job, out);
    return;
  }
  const end = segmentEnd(log, log.segments.indexOf(segment));
  job.hunt = startHunt(Math.max(job.expected, segment.base), position, end, segment.sizeBytes);
  job.stage = 'hunt';
  issue(log, env, job, out);
}

/** The answer to a read behind damage. */
export function takeHunt(log: Log, env: Env, job: ReadJob, bytes: Uint8Array, out: Outbox, events: LogEvent[]): void {
  const hunt = job.hunt;
  if (hunt === null) return;
  const found = huntIn(hunt, bytes, env.crc32c);
  if (found === 'more') {
    issue(log, env, job, out);
    return;
  }
  const segment = job.segment;
  const isFound = found !== 'none';
  const range: DamagedRange = {
    start: hunt.offset,
    end: isFound ? found.base : segmentEnd(log, log.segments.indexOf(segment)),
    segment: segment.base,
    position: hunt.damageAt,
    positionEnd: isFound ? found.position : segment.sizeBytes,
  };
  addDamage(log, env, segment, range, out);
  job.hunt = null;
  takeKnownDamage(log, env, job, hunt.damageAt, out, events);
}

/** The walk has come to damage: it ends the job if the wanted offset is in it, else it is passed over. */
function takeKnownDamage(log: Log, env: Env, job: ReadJob, position: number, out: Outbox, events: LogEvent[]): void {
  const range = damageAt(log, job.segment, position);
  if (range === null || (job.offset < range.end && job.purpose.kind === 'fetch')) {
    finishJob(log, job, { kind: 'error', error: ErrorCode.CORRUPT_MESSAGE }, out, events);
    return;
  }
  job.stage = 'data';
  job.expected = range.end;
  job.offset = Math.max(job.offset, range.end);
  job.isGuess = false;
  job.length = 0;
  goOn(log, env, job, range.positionEnd, 0, out, events);
}
