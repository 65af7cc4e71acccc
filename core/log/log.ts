/**
 * The log of one partition: a machine that appends, reads, recovers and closes, on effects and answers of one
 * disk.
 *
 * The owner calls these functions and hands in the disk's answers whose owner is `log.owner`; what happened comes
 * back as `LogEvent`s. `state.ts` has the state and its invariants, `settle.ts` says when a record is durable,
 * `opening.ts` what a crash leaves and how it is found again. One offset is given out once, ever: what was synced
 * and is lost later is damage, not room for new records.
 */
import { assert } from '../lib/assert.ts';
import type { DiskInput, Env, Outbox } from '../lib/world.ts';
import { AHEADS_MAX, aheadsUntilMs, dropIdleAheads } from './ahead.ts';
import { takeAnswer } from './answers.ts';
import { endOfEpoch, lastEpoch, withEpoch } from './epochs.ts';
import { expire } from './expiry.ts';
import { ask, closeFiles, flushIndexes, openForAppend, takeAsk } from './files.ts';
import { addTimeEntry } from './index.ts';
import { shrinkRing } from './ring.ts';
import { writeEpochs, writeSnapshot } from './roll.ts';
import { pumpSyncs, settle, unknownEpoch, wantSync, writtenEnd } from './settle.ts';
import { activeSegment, type Log } from './state.ts';
import { goOnTruncating, keepTail } from './truncate.ts';
import type { LogEvent } from './types.ts';

export { type AheadRequest, aheadBytes, readAhead } from './ahead.ts';
export { appendAsLeader } from './append.ts';
export { appendOwn, roomOfLog } from './append-own.ts';
export { appendAsFollower } from './follow.ts';
export { openLog } from './opening.ts';
export { type ReadRequest, readLog } from './read.ts';
export { canRest, openRested, restBytesMax, writeRest } from './rest.ts';
export { recoveryPoint } from './settle.ts';
export { createLog, type DamagedRange, damageFrom, type Log, type LogOptions } from './state.ts';
export { findTimestamp, maxTimestamp, type TimestampOutcome } from './timestamp.ts';
export { deleteBelow, rollLog } from './trim.ts';
export { keepTail, resetTo, truncateTo } from './truncate.ts';

/** Takes an answer of the disk whose owner is `log.owner`. One for a ticket that is not known any more is dropped. */
export function stepLog(log: Log, env: Env, input: DiskInput, out: Outbox, events: LogEvent[]): void {
  const what = takeAsk(log, input.ticket);
  if (what === undefined) return;
  takeAnswer(log, env, what, input, out, events);
  if (log.truncation !== null) goOnTruncating(log, env, out, events);
  if (log.state === 'closing') goOnClosing(log, out, events);
  if (log.asks !== null && log.asks.size === 0) log.asks = null;
}

/**
 * Where `leaderEpoch`, or the largest known epoch below it, ends (KIP-101, KIP-279); -1, -1 when it is later than all
 * that are known.
 */
export function endOffsetForEpoch(log: Log, leaderEpoch: number): { leaderEpoch: number; endOffset: number } {
  return endOfEpoch(log.epochs, leaderEpoch, log.end);
}

/** The latest leader epoch that the log knows, -1 when none. */
export function latestEpoch(log: Log): number {
  return lastEpoch(log.epochs);
}

/**
 * Notes that `epoch` starts at `startOffset`; leader-epoch-checkpoint learns of it with the first append. Epochs that
 * are not below it are forgotten: false if there were any.
 */
export function assignEpoch(log: Log, epoch: number, startOffset: number): boolean {
  assert(log.state === 'open', 'a leader of an open log begins an epoch');
  const kept = log.epochs.filter((entry) => entry.epoch < epoch);
  const isAscending = kept.length === log.epochs.length;
  log.epochs = withEpoch(log.shared, isAscending ? log.epochs : kept, epoch, startOffset);
  log.areEpochsDirty = true;
  return isAscending;
}

/** Drops recent batches from memory until at most `bytesMax` are kept: for a node that is short of memory. */
export function shrinkRecent(log: Log, bytesMax: number): void {
  if (log.ring === null) return;
  shrinkRing(log.ring, bytesMax, writtenEnd(log));
  if (log.ring.sizeBytes === 0) log.ring = null;
}

/** Bytes of recent batches in memory. */
export function recentBytes(log: Log): number {
  return log.ring === null ? 0 : log.ring.sizeBytes;
}

/** Stops cleanly: the event 'closed' follows once all is synced and the producer snapshot is written. */
export function closeLog(log: Log, env: Env, out: Outbox): void {
  assert(log.state === 'open', 'only an open log is closed');
  log.state = 'closing';
  keepTail(log);
  const segment = activeSegment(log);
  wantSync(log);
  if (segment.isOnDisk && segment.lastTimeMs < segment.maxTimestampMs && !segment.isIndexBroken) {
    openForAppend(log, segment, out);
    addTimeEntry(segment);
  }
  if (segment.tail !== null && !segment.isIndexBroken) {
    flushIndexes(log, segment, true, out);
    for (const file of [segment.indexFile, segment.timeFile]) {
      segment.indexSyncsLeft++;
      out.push({ kind: 'sync', file, owner: log.owner, ticket: ask(log, { kind: 'syncIndex', segment }) });
    }
  }
  pumpSyncs(log, out);
  if (log.snapshotAt !== log.end) writeSnapshot(log, env, out);
  // A full disk may have kept them out of their file, and after a clean stop nobody looks into the batches.
  if (unknownEpoch(log) < log.end) writeEpochs(log, out);
  log.ring = null;
  log.aheads = null;
  // Something is always asked, so that the event comes with its answer.
  out.push({ kind: 'makeFolder', path: log.folder, owner: log.owner, ticket: ask(log, { kind: 'tidy' }) });
}

/**
 * Closes a log at once of which no file is open and nothing is under way, unwritten or unsynced; false, and nothing has
 * happened, where that is not so: `closeLog` is for it. No event follows.
 */
export function closeResting(log: Log): boolean {
  assert(log.state === 'open', 'only an open log is closed');
  if ((log.asks !== null && log.asks.size > 0) || log.unsettled !== null || log.writes.length > 0) return false;
  if (log.snapshotAt !== log.end || log.durable !== log.end || unknownEpoch(log) < log.end) return false;
  for (const segment of log.segments) {
    if (segment.logFile + segment.indexFile + segment.timeFile > 0 || segment.tail !== null) return false;
    if (segment.isOnDisk && segment.sealedAt < 0 && segment.lastTimeMs < segment.maxTimestampMs) return false;
  }
  log.ring = null;
  log.aheads = null;
  rest(log);
  return true;
}

function rest(log: Log): void {
  log.state = 'closed';
  log.asks = null;
  log.expireAtMs = Infinity;
}

function goOnClosing(log: Log, out: Outbox, events: LogEvent[]): void {
  if (log.asks !== null && log.asks.size > 0) return;
  pumpSyncs(log, out);
  if (log.asks !== null && log.asks.size > 0) return;
  for (const segment of log.segments) closeFiles(log, segment, out);
  if (log.asks !== null && log.asks.size > 0) return;
  rest(log);
  events.push({ kind: 'closed' });
}

/** When the log next has something to do by itself, in `env.nowMs`; Infinity when nothing waits. */
export function logDeadlineMs(log: Log): number {
  return Math.min(log.flushAtMs, log.expireAtMs, aheadsUntilMs(log));
}

/** The deadline has come, or might have. */
export function wakeLog(log: Log, env: Env, out: Outbox, events: LogEvent[]): void {
  dropIdleAheads(log, env.nowMs);
  if (log.state !== 'open') return;
  if (env.nowMs >= log.flushAtMs) {
    wantSync(log);
    pumpSyncs(log, out);
  }
  if (env.nowMs >= log.expireAtMs) expire(log, env);
  settle(log, out, events);
}

/** Asserts the invariants of the log. */
export function checkLog(log: Log): void {
  if (log.state !== 'open' && log.state !== 'closing') return;
  assert(log.start <= log.end, 'the start is not behind the end');
  assert(log.durable <= writtenEnd(log), 'what is durable is written');
  assert(log.durable <= log.end, 'what is durable is in the log');
  let sizeBytes = 0;
  const { segments } = log;
  for (let i = 0; i < segments.length; i++) {
    const segment = segments[i]!;
    const next = segments[i + 1];
    sizeBytes += segment.sizeBytes;
    assert(!segment.isGone, 'a segment of the log is not gone');
    assert(next === undefined || segment.sealedAt === next.base, 'a sealed segment ends where the next begins');
    assert(next !== undefined || segment.sealedAt < 0, 'the last segment is not sealed');
    assert(segment.base <= log.end, 'a segment begins in the log');
  }
  assert(sizeBytes === log.sizeBytes, 'the size of the log is that of its segments');
  let base = -1;
  for (const write of log.writes) {
    assert(write.base > base, 'writes ascend');
    base = write.base;
  }
  assert(
    log.aheads === null || (log.aheads.length > 0 && log.aheads.length <= AHEADS_MAX),
    'few ranges are read ahead',
  );
  if (log.ring !== null) {
    const newest = log.ring.items[log.ring.items.length - 1];
    assert(newest === undefined || newest === null || newest.next === log.end, 'the ring ends with the log');
  }
}
