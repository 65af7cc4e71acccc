/**
 * Cutting a log at its tail, as a follower must whose last records the leader does not have; and beginning anew.
 *
 * The log goes on serving what it holds, refuses appends, and waits until the disk has answered all that was asked:
 * from then on nothing under way can land behind the cut. `locate.ts` finds the batch to cut at, reading files where
 * memory does not know. The cut itself is one step: bookkeeping moves, files are truncated and removed, and the event
 * 'truncated' comes. Until then the log can close, or take the lead, as if the cut had never been asked for.
 *
 * A cut ends at a batch: where `offset` lies within one, or behind damage, nothing is cut and the event 'cutRefused'
 * names the offset to ask for instead, because the owner's part concerns that one. Damage that nobody knew of is in
 * `damaged` then, from that offset on: what is cut away with it may be committed, and counted on.
 *
 * The owner's part, before it asks: the recovery point and the high watermark in its checkpoints are at or below
 * `offset`, durably, and stay there until the event; for `resetTo` both are 0, and after that the log's start is
 * `offset`. Recovery takes what is missing below them for damage. (A log that opens with another start than the
 * checkpoint says has been overtaken by a crash: its owner corrects the checkpoint before it appends, and tells the
 * opening of the reset, `LogFound.wasReset`, or it would be called an error.) Then a crash at any effect leaves the log
 * as before the cut, as after it, or with a piece of what was to go; nothing of that is shown, because `durable` moves
 * only once the removed names are gone and the truncate is synced.
 */
import { assert } from '../lib/assert.ts';
import type { DiskInput, Env, Outbox } from '../lib/world.ts';
import { ErrorCode } from '../protocol/errors.ts';
import { finishJob } from './cold.ts';
import { removeSegmentsAfter, removeSnapshot } from './cut.ts';
import { addDamage } from './damage.ts';
import { cutEpochs, lastEpoch } from './epochs.ts';
import { ask, openForAppend, pushTidy, removeSegment, unname, unsettle } from './files.ts';
import { INDEX_ENTRY_BYTES, TIME_ENTRY_BYTES } from './index.ts';
import { type Found, freshSearch, goOnSearching, type Search, takeSearched } from './locate.ts';
import { offsetOf, SNAPSHOT_SUFFIX } from './names.ts';
import { cutProducers } from './producers.ts';
import { cutRing } from './ring.ts';
import { writeEpochs } from './roll.ts';
import { createSegment, type Log, type Segment, segmentEnd } from './state.ts';
import type { LogEvent } from './types.ts';

/** A cut that waits for the disk; plain data. */
export interface Truncation {
  readonly offset: number;
  /** Nothing is kept, and the log begins at `offset`. */
  readonly isReset: boolean;
  stage: 'quiet' | 'list' | 'search' | 'remove' | 'names';
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
 * False when an event will follow, 'truncated' or 'cutRefused'. Below the first segment nothing can be kept: the log
 * begins anew.
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

/**
 * The cut that was asked for is not wanted any more: this node leads, or closes. True if nothing was cut and nothing
 * will be; false where a reset has gone too far and ends with its event.
 */
export function keepTail(log: Log): boolean {
  const stage = log.truncation?.stage;
  if (stage === 'remove' || stage === 'names') return false;
  log.truncation = null;
  return true;
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
  if (truncation.stage === 'names') return;
  if (truncation.stage === 'list') {
    const names = input.kind === 'listed' ? input.entries : [];
    truncation.snapshots = names.map(({ name }) => offsetOf(name, SNAPSHOT_SUFFIX)).filter((offset) => offset >= 0);
    truncation.stage = 'search';
    truncation.search = truncation.isReset ? null : freshSearch(log, truncation.offset);
    return;
  }
  const now = truncation.search;
  if (now === null) return;
  if (input.kind === 'read') {
    takeSearched(log, env, now, input.bytes, out);
    return;
  }
  // The file was closed under our hands.
  truncation.retries++;
  now.isClosed = true;
}

/** Takes the next step of a cut, after any answer of the disk. */
export function goOnTruncating(log: Log, env: Env, out: Outbox, events: LogEvent[]): void {
  const truncation = log.truncation;
  if (truncation === null || log.state === 'failed') return;
  switch (truncation.stage) {
    case 'quiet':
      if (isQuiet(log)) listFolder(log, truncation, out);
      break;
    case 'list':
      break;
    case 'search':
      if (truncation.pending > 0) return;
      if (truncation.isReset) cutAll(log, env, truncation, out, events);
      else search(log, env, truncation, out, events);
      break;
    case 'remove':
      if (log.removesLeft === 0) syncNames(log, truncation, out);
      break;
    case 'names':
      if (truncation.pending > 0) return;
      log.truncation = null;
      if (log.state === 'open') events.push({ kind: 'truncated', offset: log.end });
      break;
  }
}

function search(log: Log, env: Env, truncation: Truncation, out: Outbox, events: LogEvent[]): void {
  assert(truncation.retries <= RETRIES_MAX, 'a file that is open can be read');
  let now = truncation.search;
  if (now === null || now.segment.isGone || now.isClosed) now = freshSearch(log, truncation.offset);
  truncation.search = now;
  const found = goOnSearching(log, env, truncation, now, out);
  if (now.isAsking) truncation.pending = 1;
  if (found === null) return;
  log.truncation = null;
  if (found.end < truncation.offset) {
    env.reached('log.truncate.within');
    const isNewlyDamaged = now.isAtDamage && takeOutOfService(log, env, found, out);
    events.push({ kind: 'cutRefused', offset: found.end, isNewlyDamaged });
    return;
  }
  env.reached('log.truncate.done');
  cutAt(log, truncation, found, out, events);
  events.push({ kind: 'truncated', offset: log.end });
}

/** What a walk could not read is damaged from there on to the end of its segment; false where that is known. */
function takeOutOfService(log: Log, env: Env, { segment, position, end: start }: Found, out: Outbox): boolean {
  if (log.damaged.some((known) => known.start <= start && start < known.end)) return false;
  const end = segmentEnd(log, log.segments.indexOf(segment));
  addDamage(log, env, segment, { start, end, segment: segment.base, position, positionEnd: segment.sizeBytes }, out);
  return true;
}

/** Cuts at a batch of a segment that stays. */
function cutAt(log: Log, truncation: Truncation, found: Found, out: Outbox, events: LogEvent[]): void {
  const { segment, position, end } = found;
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
  endAt(log, truncation, end, out, events);
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
 * with the making of a file. The event waits until the removed names are gone durably: before that the recovery point
 * must not rise, since an old segment might be found below it.
 */
function cutAll(log: Log, env: Env, truncation: Truncation, out: Outbox, events: LogEvent[]): void {
  const { offset } = truncation;
  env.reached('log.reset.done');
  const same = log.segments.find((segment) => segment.base === offset);
  for (const segment of log.segments) if (same === undefined || segment.base < offset) removeWhole(log, segment, out);
  log.segments = log.segments.filter((segment) => !segment.isGone);
  log.start = offset;
  if (same === undefined) {
    log.segments = [createSegment(offset)];
    endAt(log, truncation, offset, out, events);
  } else {
    const empty = { maxTimestampMs: -1, maxTimestampOffset: -1, sinceIndexBytes: 0, lastTimeMs: -1 };
    cutAt(
      log,
      truncation,
      { segment: same, position: 0, end: offset, offsetsKept: 0, timesKept: 0, ...empty },
      out,
      events,
    );
  }
  truncation.stage = 'remove';
  if (log.removesLeft === 0) syncNames(log, truncation, out);
}

function removeWhole(log: Log, segment: Segment, out: Outbox): void {
  log.sizeBytes -= segment.sizeBytes;
  if (log.unsettled !== null) log.unsettled = log.unsettled.filter((other) => other !== segment);
  removeSegment(log, segment, out);
}

function syncNames(log: Log, truncation: Truncation, out: Outbox): void {
  truncation.stage = 'names';
  truncation.pending = 1;
  const ticket = ask(log, { kind: 'truncation', truncation });
  out.push({ kind: 'syncFolder', path: log.folder, owner: log.owner, ticket });
}

/** What follows the files: the log ends, and what it remembers ends with it. */
function endAt(log: Log, truncation: Truncation, end: number, out: Outbox, events: LogEvent[]): void {
  const { isReset } = truncation;
  log.end = end;
  log.start = Math.min(log.start, end);
  log.durable = isReset ? end : Math.min(log.durable, end);
  log.syncTo = Math.min(log.syncTo, end);
  log.unsyncedRecords = 0;
  log.flushAtMs = Infinity;
  forgetEpochs(log, isReset ? -1 : end, out);
  for (const offset of truncation.snapshots) if (isReset || offset > end) removeSnapshot(log, offset, out);
  if (isReset || log.snapshotAt > end) log.snapshotAt = -1;
  if (isReset) log.producers = null;
  else if (log.producers !== null) cutProducers(log.producers, end);
  if (log.ring !== null) cutRing(log.ring, isReset ? -1 : end);
  if (log.ring !== null && log.ring.sizeBytes === 0) log.ring = null;
  if (log.cursors !== null) log.cursors = log.cursors.filter((cursor) => !isReset && cursor.offset <= end);
  log.damaged = log.damaged.filter((range) => !isReset && range.end <= end);
  const outcome = { kind: 'error', error: ErrorCode.NOT_LEADER_OR_FOLLOWER } as const;
  for (const job of [...(log.jobs ?? [])]) {
    if (isReset || job.upTo > end || job.segment.isGone) finishJob(log, job, outcome, out, events);
  }
}

/** Forgets the epochs that start at or above `end`. */
function forgetEpochs(log: Log, end: number, out: Outbox): void {
  const before = lastEpoch(log.epochs);
  log.epochs = cutEpochs(log.epochs, end);
  if (lastEpoch(log.epochs) === before) return;
  writeEpochs(log, out);
}
