/**
 * The steps of a read job: where to look, which file to open, what to read next. `walk.ts` looks at the bytes.
 *
 * Index files are searched in slices, so that no lookup reads a whole large index. Cursors remember where sequential
 * readers go on, so that most reads need no lookup at all. Files are opened when first needed and a few stay open.
 */
import { assert } from '../lib/assert.ts';
import { nextFile } from '../lib/ids.ts';
import type { DiskError, DiskInput, Env, Outbox } from '../lib/world.ts';
import { dataViewOf } from '../protocol/batch.ts';
import { ErrorCode } from '../protocol/errors.ts';
import { landAhead } from './ahead.ts';
import { ask, closeFiles, segmentPath } from './files.ts';
import { INDEX_ENTRY_BYTES, type IndexEntry, offsetEntry, searchTail, TIME_ENTRY_BYTES, timeEntry } from './index.ts';
import type { ReadJob } from './read.ts';
import { hasJob } from './settle.ts';
import { activeSegment, type Cursor, type FileRole, type Log, type Segment } from './state.ts';
import { startReach, takeMaxTimestamp } from './timestamp.ts';
import type { LogEvent, ReadOutcome } from './types.ts';
import { takeData, takeHunt } from './walk.ts';

/** Index entries that are read at a time. */
const SLICE_ENTRIES = 2048;
/** The least that is read of a log file at once, bytes. */
const READ_BYTES_MIN = 16 * 1024;
/** The most that one read of a file brings, bytes, but for a single batch that is larger. */
export const READ_BYTES_MAX = 4 * 1024 * 1024;
/** Sequential readers whose place is remembered, for one log. */
const CURSORS_MAX = 8;
/** Sealed segments whose files stay open after a read, for one log. */
const COLD_OPEN_MAX = 2;
/** A read that a truncate overtook is tried again so often. */
const RETRIES_MAX = 8;

/** Takes the next step of a job; always asks the disk for something. */
export function advanceJob(log: Log, env: Env, job: ReadJob, out: Outbox): void {
  if (job.stage === 'start') {
    if (job.purpose.kind === 'fetch') locate(log, job);
    else startReach(log, job);
  }
  issue(log, env, job, out);
}

/** Decides where the search for `job.offset` begins in the job's segment. */
export function locate(log: Log, job: ReadJob): void {
  const segment = job.segment;
  job.expected = -1;
  job.isGuess = true;
  job.stage = 'data';
  const cursor = log.cursors?.find((known) => known.offset === job.offset && known.segment === segment.base);
  if (cursor !== undefined) {
    job.position = cursor.position;
    job.isSequential = true;
    job.expected = job.offset;
    return;
  }
  const tail = segment.tail === null ? [] : segment.tail.offsets;
  const at = searchTail(tail, job.offset);
  if (at >= 0) {
    job.position = tail[at * 2 + 1] as number;
  } else if (job.offset <= segment.base || segment.indexCount === 0) {
    fromHead(job);
  } else {
    job.stage = 'index';
    job.low = 0;
    job.high = segment.indexCount;
    job.best = -1;
  }
}

/** Begins at the head of the segment, which needs no index. */
export function fromHead(job: ReadJob): void {
  job.stage = 'data';
  job.position = 0;
  job.expected = job.segment.base;
  job.isGuess = false;
}

/** Asks for what the job's stage needs: a file, or a piece of it. */
export function issue(log: Log, env: Env, job: ReadJob, out: Outbox): void {
  const segment = job.segment;
  const role: FileRole = job.stage === 'index' ? 'index' : job.stage === 'max' || job.stage === 'time' ? 'time' : 'log';
  if (!isReady(log, segment, role, out)) {
    job.isWaiting = true;
    return;
  }
  job.isWaiting = false;
  const range = rangeOf(log, job);
  const ticket = ask(log, { kind: 'read', job });
  const file = role === 'log' ? segment.logFile : role === 'index' ? segment.indexFile : segment.timeFile;
  assert(file !== 0, 'a read needs an open file');
  if (job.stage === 'data') env.reached('log.read.cold');
  // A reader's bytes are sent once, to it alone, and nothing is kept of them.
  const isLent = job.stage === 'data' && job.purpose.kind === 'fetch';
  out.push({ kind: 'read', file, position: range[0], length: range[1], isLent, owner: log.owner, ticket });
}

/** The position and length of the next read. */
function rangeOf(log: Log, job: ReadJob): [number, number] {
  const segment = job.segment;
  switch (job.stage) {
    case 'max':
      return [(segment.timeCount - 1) * TIME_ENTRY_BYTES, TIME_ENTRY_BYTES];
    case 'time':
    case 'index': {
      const entryBytes = job.stage === 'time' ? TIME_ENTRY_BYTES : INDEX_ENTRY_BYTES;
      const count = Math.min(job.high - job.low, SLICE_ENTRIES);
      job.sliceFrom = job.low + ((job.high - job.low - count) >>> 1);
      return [job.sliceFrom * entryBytes, count * entryBytes];
    }
    case 'hunt':
      return job.hunt === null ? [0, 1] : [job.hunt.position, Math.max(1, job.hunt.length)];
    default: {
      const wanted = job.purpose.kind === 'fetch' ? job.purpose.sizeBytesMax : READ_BYTES_MIN;
      // What lies between the index entry and the offset is read and skipped.
      const skipped = job.expected === job.offset ? 0 : log.config.indexIntervalBytes;
      const length = Math.min(Math.max(wanted, READ_BYTES_MIN) + skipped, READ_BYTES_MAX);
      job.length = Math.max(1, Math.min(Math.max(length, job.length), segment.sizeBytes - job.position));
      return [job.position, job.length];
    }
  }
}

/** Whether a file of the segment can be read; opens it if it is not open. */
function isReady(log: Log, segment: Segment, role: FileRole, out: Outbox): boolean {
  const open = role === 'log' ? segment.logFile : role === 'index' ? segment.indexFile : segment.timeFile;
  if (open !== 0) return segment.opensLeft === 0;
  const file = nextFile(log.ids);
  const ticket = ask(log, { kind: 'openCold', segment, role, file });
  segment.opensLeft++;
  if (role === 'log') segment.logFile = file;
  else if (role === 'index') segment.indexFile = file;
  else segment.timeFile = file;
  const path = segmentPath(log, segment, role);
  out.push({ kind: 'open', file, path, create: false, owner: log.owner, ticket });
  return false;
}

/** A file of `segment` is open: jobs that waited for it go on. */
export function resumeJobs(log: Log, env: Env, segment: Segment, out: Outbox): void {
  if (segment.opensLeft > 0 || log.jobs === null) return;
  for (const job of [...log.jobs]) if (job.isWaiting && job.segment === segment) advanceJob(log, env, job, out);
}

/** The answer to a job's read. */
export function takeRead(log: Log, env: Env, job: ReadJob, input: DiskInput, out: Outbox, events: LogEvent[]): void {
  if (log.jobs === null || !log.jobs.includes(job)) return;
  if (input.kind !== 'read') {
    takeFailure(log, env, job, input.kind === 'diskFailed' ? input.error : 'io', out, events);
    return;
  }
  switch (job.stage) {
    case 'max':
      takeMaxTimestamp(log, env, job, input.bytes, out, events);
      return;
    case 'time':
    case 'index':
      takeSlice(log, env, job, input.bytes, out);
      return;
    case 'hunt':
      takeHunt(log, env, job, input.bytes, out, events);
      return;
    default:
      takeData(log, env, job, input.bytes, out, events);
  }
}

function takeFailure(log: Log, env: Env, job: ReadJob, error: DiskError, out: Outbox, events: LogEvent[]): void {
  job.retries++;
  if (job.retries > RETRIES_MAX || (error !== 'stale' && error !== 'closed')) {
    finishJob(log, job, { kind: 'error', error: ErrorCode.KAFKA_STORAGE_ERROR }, out, events);
    return;
  }
  env.reached('log.read.stale');
  job.stage = 'start';
  job.length = 0;
  advanceJob(log, env, job, out);
}

/** Narrows the search in an index by the slice that was read; goes on with the log when it is done. */
function takeSlice(log: Log, env: Env, job: ReadJob, bytes: Uint8Array, out: Outbox): void {
  const isTime = job.stage === 'time';
  const base = job.segment.base;
  const view = dataViewOf(bytes);
  const count = Math.floor(bytes.length / (isTime ? TIME_ENTRY_BYTES : INDEX_ENTRY_BYTES));
  const entry = (i: number): IndexEntry => (isTime ? timeEntry(view, i, base) : offsetEntry(view, i, base));
  const target = isTime && job.purpose.kind === 'reach' ? job.purpose.timestampMs - 1 : job.offset;
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (entry(middle).key <= target) low = middle + 1;
    else high = middle;
  }
  if (low > 0) job.best = entry(low - 1).value;
  if (low === 0) job.high = job.sliceFrom;
  else if (low === count && job.high > job.sliceFrom + count && count > 0) job.low = job.sliceFrom + count;
  else job.low = job.high;
  if (job.low < job.high) {
    issue(log, env, job, out);
    return;
  }
  if (isTime) {
    job.offset = Math.max(job.offset, Math.min(job.best, log.end));
    locate(log, job);
  } else if (job.best >= 0 && job.best < job.segment.sizeBytes) {
    job.stage = 'data';
    job.position = job.best;
  } else {
    fromHead(job);
  }
  issue(log, env, job, out);
}

/** Ends a job with an outcome for its reader. */
export function finishJob(log: Log, job: ReadJob, outcome: ReadOutcome, out: Outbox, events: LogEvent[]): void {
  dropJob(log, job, out);
  if (landAhead(log, job, outcome)) return;
  if (job.purpose.kind === 'fetch') {
    events.push({ kind: 'readDone', ticket: job.ticket, outcome });
    return;
  }
  const error = outcome.kind === 'error' ? outcome.error : ErrorCode.NONE;
  const found = { error, offset: -1, timestampMs: -1, leaderEpoch: -1 };
  events.push({ kind: 'timestampFound', ticket: job.ticket, found });
}

/** Forgets a job; closes files that nobody reads any more, but for the last few. */
export function dropJob(log: Log, job: ReadJob, out: Outbox): void {
  if (log.jobs === null) return;
  log.jobs = log.jobs.filter((other) => other !== job);
  if (log.jobs.length === 0) log.jobs = null;
  const active = activeSegment(log);
  const open = log.segments.filter((segment) => segment.logFile + segment.indexFile + segment.timeFile > 0);
  if (open.length <= COLD_OPEN_MAX + 1) return;
  for (const segment of open) {
    const isBusy = segment === active || segment === job.segment || log.unsettled?.includes(segment) === true;
    const isRead = hasJob(log, segment);
    if (!isBusy && !isRead && segment.opensLeft === 0) {
      closeFiles(log, segment, out);
      return;
    }
  }
}

/** Remembers where the reader of `offset` goes on. */
export function rememberCursor(log: Log, from: number, cursor: Cursor): void {
  log.cursors ??= [];
  const known = log.cursors.findIndex((other) => other.offset === from);
  if (known >= 0) log.cursors.splice(known, 1);
  else if (log.cursors.length >= CURSORS_MAX) log.cursors.shift();
  log.cursors.push(cursor);
}
