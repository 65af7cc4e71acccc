/**
 * Cutting a log at its tail, as a follower must whose last records the leader does not have; and beginning anew.
 *
 * The log goes on serving what it holds, refuses appends, and waits until the disk has answered all that was asked:
 * from then on nothing under way can land behind the cut. `locate.ts` finds the batch to cut at, reading files where
 * memory does not know. The cut itself is one step: bookkeeping moves, files are truncated and removed, and the event
 * 'truncated' comes. Until then the log can close, or take the lead, as if the cut had never been asked for.
 *
 * A cut ends at a batch: where `offset` lies within one, the whole batch goes and the log ends below `offset`.
 *
 * The owner's part, before it asks: the recovery point and the high watermark in its checkpoints are at or below
 * `offset`, durably, and for `resetTo` the log's start is `offset`. Recovery takes what is missing below them for
 * damage. Then a crash at any effect leaves the log as before the cut, as after it, or with a piece of what was to go;
 * nothing of that is shown, because `durable` moves only once the removed names are gone and the truncate is synced.
 */
import { assert } from '../lib/assert.ts';
import type { DiskInput, Env, Outbox } from '../lib/world.ts';
import { ErrorCode } from '../protocol/errors.ts';
import { finishJob } from './cold.ts';
import { removeSegmentsAfter, removeSnapshot } from './cut.ts';
import { cutEpochs, lastEpoch } from './epochs.ts';
import { ask, openForAppend, pushTidy, removeSegment, unname, unsettle } from './files.ts';
import { INDEX_ENTRY_BYTES, TIME_ENTRY_BYTES } from './index.ts';
import { type Found, freshSearch, goOnSearching, type Search, takeSearched } from './locate.ts';
import { offsetOf, SNAPSHOT_SUFFIX } from './names.ts';
import { cutProducers } from './producers.ts';
import { cutRing } from './ring.ts';
import { writeEpochs } from './roll.ts';
import { createSegment, type DamagedRange, type Log, type Segment } from './state.ts';
import type { LogEvent } from './types.ts';

/** A cut that waits for the disk; plain data. */
export interface Truncation {
  readonly offset: number;
  /** Nothing is kept, and the log begins at `offset`. */
  readonly isReset: boolean;
  stage: 'quiet' | 'list' | 'search';
  /** Answers that the stage waits for. */
  pending: number;
  /** Offsets of the producer snapshots in the folder. */
  snapshots: readonly number[];
  /** Null until the folder is listed, and where nothing has to be looked up. */
  search: Search | null;
  retries: number;
}

/** A cut starts over so often because the disk would not show a file. */
const RETRIES_MAX = 8;

/**
 * Removes what is at or above `offset`. True when that is done at once, because nothing is there: `log.end` says so.
 * False when the event 'truncated' will follow. Below the first segment nothing can be kept: the log begins anew.
 */
export function truncateTo(log: Log, env: Env, offset: number, out: Outbox): boolean {
  assert(log.state === 'open', 'only an open log is cut');
  assert(offset >= 0, 'a log is cut at an offset');
  if (offset >= log.end) {
    log.truncation = null;
    // Epochs under which nothing was appended go too, or the leader would ask for this cut again and again.
    forgetEpochs(log, log.end, out);
    return true;
  }
  env.reached('log.truncate');
  begin(log, env, offset, offset < (log.segments[0] as Segment).base, out);
  return false;
}

/** Removes everything: the log begins anew at `offset`. The event 'truncated' follows. */
export function resetTo(log: Log, env: Env, offset: number, out: Outbox): void {
  assert(log.state === 'open', 'only an open log is reset');
  assert(offset >= 0, 'a log is reset to an offset');
  env.reached('log.reset');
  begin(log, env, offset, true, out);
}

/** The cut that was asked for is not wanted any more: this node leads. Nothing was cut if 'truncated' has not come. */
export function keepTail(log: Log): void {
  log.truncation = null;
}

function begin(log: Log, env: Env, offset: number, isReset: boolean, out: Outbox): void {
  log.truncation = { offset, isReset, stage: 'quiet', pending: 0, snapshots: [], search: null, retries: 0 };
  if (isQuiet(log)) listFolder(log, log.truncation, out);
  else env.reached('log.truncate.waits');
}

/** Whether nothing is under way that could land behind the cut. */
function isQuiet(log: Log): boolean {
  if (log.removesLeft > 0 || log.writes.length > 0) return false;
  for (const what of log.asks?.values() ?? []) {
    if (what.kind !== 'read' && what.kind !== 'openCold' && what.kind !== 'tidy' && what.kind !== 'truncation') {
      if (what.kind !== 'epochs') return false;
    }
  }
  return true;
}

function listFolder(log: Log, truncation: Truncation, out: Outbox): void {
  truncation.stage = 'list';
  truncation.pending = 1;
  const ticket = ask(log, { kind: 'truncation', truncation });
  out.push({ kind: 'list', path: log.folder, owner: log.owner, ticket });
}

/** An answer to what a cut has asked. */
export function takeTruncation(log: Log, env: Env, truncation: Truncation, input: DiskInput, out: Outbox): void {
  if (truncation !== log.truncation) return;
  truncation.pending--;
  if (truncation.stage === 'list') {
    const names = input.kind === 'listed' ? input.entries : [];
    truncation.snapshots = names.map(({ name }) => offsetOf(name, SNAPSHOT_SUFFIX)).filter((offset) => offset >= 0);
    truncation.stage = 'search';
    truncation.search = truncation.isReset ? null : freshSearch(log, truncation.offset);
    return;
  }
  const { search } = truncation;
  if (search === null) return;
  if (input.kind === 'read') {
    takeSearched(log, env, search, input.bytes, out);
    return;
  }
  // The file was closed under our hands.
  truncation.retries++;
  search.isClosed = true;
}

/** Takes the next step of a cut, after any answer of the disk. */
export function goOnTruncating(log: Log, env: Env, out: Outbox, events: LogEvent[]): void {
  const truncation = log.truncation;
  if (truncation === null || log.state !== 'open') return;
  if (truncation.stage === 'quiet') {
    if (isQuiet(log)) listFolder(log, truncation, out);
    return;
  }
  if (truncation.stage === 'list' || truncation.pending > 0) return;
  if (truncation.isReset) {
    cutAll(log, env, truncation, out, events);
    return;
  }
  assert(truncation.retries <= RETRIES_MAX, 'a file that is open can be read');
  const search = truncation.search;
  if (search === null || search.segment.isGone || search.isClosed) {
    truncation.search = freshSearch(log, truncation.offset);
  }
  const now = truncation.search as Search;
  const found = goOnSearching(log, env, truncation, now, out);
  if (now.isAsking) truncation.pending = 1;
  if (found === null) return;
  cutAt(log, env, truncation, found, out, events);
}

/** Cuts at a batch of a segment that stays. */
function cutAt(log: Log, env: Env, truncation: Truncation, found: Found, out: Outbox, events: LogEvent[]): void {
  const { segment, position, end } = found;
  log.truncation = null;
  const isUnrolled = removeSegmentsAfter(log, segment, out);
  openForAppend(log, segment, out);
  log.sizeBytes -= segment.sizeBytes - position;
  segment.sizeBytes = position;
  segment.sealedAt = -1;
  segment.syncedUpTo = Math.min(segment.syncedUpTo, end);
  pushTidy(log, out, { kind: 'truncate', file: segment.logFile, size: position });
  cutIndexes(log, found, out);
  // The truncate is synced even if nothing is ever appended: a clean stop must not bring back what was cut.
  segment.isSyncing = true;
  const ticket = ask(log, { kind: 'sync', segment, file: segment.logFile, upTo: end });
  out.push({ kind: 'sync', file: segment.logFile, owner: log.owner, ticket });
  unsettle(log, segment);
  if (isUnrolled) unname(log, segment);
  endAt(log, env, truncation, end, out, events);
}

function cutIndexes(log: Log, found: Found, out: Outbox): void {
  const { segment } = found;
  segment.firstTimestampMs = found.position === 0 ? -1 : segment.firstTimestampMs;
  segment.maxTimestampMs = found.maxTimestampMs;
  segment.maxTimestampOffset = found.maxTimestampOffset;
  segment.sinceIndexBytes = found.sinceIndexBytes;
  segment.lastTimeMs = found.lastTimeMs;
  segment.indexSyncsLeft = 0;
  if (segment.isIndexBroken) return;
  if (segment.tail !== null) {
    segment.tail.offsets.length = Math.max(0, found.offsetsKept - segment.indexCount) * 2;
    segment.tail.times.length = Math.max(0, found.timesKept - segment.timeCount) * 2;
  }
  if (found.offsetsKept < segment.indexCount) {
    segment.indexCount = found.offsetsKept;
    pushTidy(log, out, { kind: 'truncate', file: segment.indexFile, size: segment.indexCount * INDEX_ENTRY_BYTES });
  }
  if (found.timesKept < segment.timeCount) {
    segment.timeCount = found.timesKept;
    pushTidy(log, out, { kind: 'truncate', file: segment.timeFile, size: segment.timeCount * TIME_ENTRY_BYTES });
  }
}

/**
 * Nothing is kept. A segment of the very name that is needed next is emptied, not removed: a removal is not ordered
 * with the making of a file.
 */
function cutAll(log: Log, env: Env, truncation: Truncation, out: Outbox, events: LogEvent[]): void {
  const { offset } = truncation;
  const same = log.segments.find((segment) => segment.base === offset);
  if (same !== undefined) {
    for (const segment of log.segments) if (segment.base < offset) removeWhole(log, segment, out);
    log.segments = log.segments.filter((segment) => !segment.isGone);
    const empty = { maxTimestampMs: -1, maxTimestampOffset: -1, sinceIndexBytes: 0, lastTimeMs: -1 };
    const found = { segment: same, position: 0, end: offset, offsetsKept: 0, timesKept: 0, ...empty };
    log.start = offset;
    cutAt(log, env, truncation, found, out, events);
    if (log.removesLeft > 0) unname(log, same);
    return;
  }
  log.truncation = null;
  for (const segment of log.segments) removeWhole(log, segment, out);
  log.segments = [createSegment(offset)];
  log.start = offset;
  log.sizeBytes = 0;
  log.end = offset;
  // The file is made at once, so that the folder is synced once the others are removed, appends or not.
  openForAppend(log, log.segments[0] as Segment, out);
  endAt(log, env, truncation, offset, out, events);
}

function removeWhole(log: Log, segment: Segment, out: Outbox): void {
  log.sizeBytes -= segment.sizeBytes;
  if (log.unsettled !== null) log.unsettled = log.unsettled.filter((other) => other !== segment);
  removeSegment(log, segment, out);
}

/** What follows the files: the log ends, and what it remembers ends with it. */
function endAt(log: Log, env: Env, truncation: Truncation, end: number, out: Outbox, events: LogEvent[]): void {
  log.end = end;
  log.start = Math.min(log.start, end);
  log.durable = truncation.isReset ? end : Math.min(log.durable, end);
  log.syncTo = Math.min(log.syncTo, end);
  log.unsyncedRecords = 0;
  log.flushAtMs = Infinity;
  forgetEpochs(log, truncation.isReset ? -1 : end, out);
  forgetSnapshots(log, truncation, end, out);
  if (truncation.isReset) log.producers = null;
  else if (log.producers !== null) cutProducers(log.producers, end);
  if (log.ring !== null) {
    if (truncation.isReset) log.ring = null;
    else cutRing(log.ring, end);
  }
  if (log.ring !== null && log.ring.sizeBytes === 0) log.ring = null;
  if (log.cursors !== null) log.cursors = log.cursors.filter((cursor) => cursor.offset <= end && !truncation.isReset);
  log.damaged = log.damaged.filter((range: DamagedRange) => range.end <= end && !truncation.isReset);
  const outcome = { kind: 'error', error: ErrorCode.NOT_LEADER_OR_FOLLOWER } as const;
  for (const job of [...(log.jobs ?? [])]) {
    if (job.upTo > end || job.segment.isGone || truncation.isReset) finishJob(log, job, outcome, out, events);
  }
  env.reached(truncation.isReset ? 'log.reset.done' : 'log.truncate.done');
  events.push({ kind: 'truncated', offset: end });
}

/** Forgets the epochs that start at or above `end`. */
function forgetEpochs(log: Log, end: number, out: Outbox): void {
  const before = lastEpoch(log.epochs);
  log.epochs = cutEpochs(log.epochs, end);
  if (lastEpoch(log.epochs) === before) return;
  writeEpochs(log, out);
}

/** Snapshots that speak of batches that are gone; those of removed segments among them. */
function forgetSnapshots(log: Log, truncation: Truncation, end: number, out: Outbox): void {
  for (const offset of truncation.snapshots) {
    if (offset > end || truncation.isReset) removeSnapshot(log, offset, out);
  }
  if (log.snapshotAt > end || truncation.isReset) log.snapshotAt = -1;
}
