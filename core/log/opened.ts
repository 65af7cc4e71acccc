/**
 * The end of an opening: what was found is made durable, then the log takes its state.
 */
import { assert } from '../lib/assert.ts';
import type { Env, Outbox } from '../lib/world.ts';
import { addDamage, sayFound } from './damage.ts';
import { scheduleExpiry } from './expiry.ts';
import { closeFiles, openForAppend, pushTidy, removeSegment } from './files.ts';
import { LOG_SUFFIX, nameOf, parentOf, SNAPSHOT_SUFFIX } from './names.ts';
import { type Opening, pushOpening } from './opening.ts';
import { writeEpochs } from './roll.ts';
import { activeSegment, createSegment, dropBlank, type Log, type Segment } from './state.ts';
import type { LogEvent } from './types.ts';

/** Syncs whatever the scan touched or could not trust to be on the disk. */
export function syncFound(log: Log, env: Env, opening: Opening, out: Outbox): void {
  // A removal that is still under way would not be covered by the sync of the folder.
  opening.phase = log.removesLeft > 0 ? 'quiet' : 'sync';
  if (log.removesLeft > 0) return;
  for (const scan of opening.scans) {
    const segment = scan.segment;
    if (scan.isSynced) pushOpening(log, out, { kind: 'sync', file: segment.logFile });
    if (scan.isRebuilt && !segment.isIndexBroken) {
      pushOpening(log, out, { kind: 'sync', file: segment.indexFile });
      pushOpening(log, out, { kind: 'sync', file: segment.timeFile });
    }
    closeFiles(log, segment, out);
  }
  if (!opening.isClean || opening.isFolderTouched) {
    env.reached('log.recovery.synced');
    pushOpening(log, out, { kind: 'syncFolder', path: log.folder });
    pushOpening(log, out, { kind: 'syncFolder', path: parentOf(log.folder) });
  }
}

/** The log is open. */
export function finishOpening(log: Log, env: Env, opening: Opening, out: Outbox, events: LogEvent[]): void {
  assert(opening.pending === 0, 'an opening ends when nothing is under way');
  log.state = 'open';
  const last = activeSegment(log);
  log.end = Math.max(log.end, last.base);
  log.start = Math.max(opening.found.logStartOffset, (log.segments[0] as Segment).base);
  for (const [i, segment] of log.segments.entries()) {
    const next = log.segments[i + 1];
    segment.sealedAt = next === undefined ? -1 : next.base;
    segment.syncedUpTo = next === undefined ? log.end : next.base;
  }
  if (log.start > log.end) settleStart(log, opening, out);
  reachProtected(log, env, opening, out);
  log.opening = null;
  log.durable = log.end;
  log.syncTo = log.end;
  log.snapshotAt = opening.replayFrom;
  log.producers = opening.producers.size === 0 ? null : opening.producers;
  if (log.producers !== null) scheduleExpiry(log, env.nowMs);
  removeStraySnapshots(log, opening, out);
  if (isSame(log, opening)) log.epochsOnDisk = log.epochs;
  else writeEpochs(log, out);
  dropBlank(log);
  events.push({ kind: 'opened' });
}

/**
 * Below this offset the records of the log were deleted: where it is said to start, if another checkpoint knows that it
 * reached so far, and 0 if none does. For a start is never above what readers were shown, which is written down first.
 */
export function deletedBelow({ found }: Opening): number {
  const { logStartOffset, recoveryPoint, highWatermark } = found;
  return logStartOffset <= Math.max(recoveryPoint, highWatermark) ? logStartOffset : 0;
}

/**
 * The log is said to start behind its end. Where that is to be believed, all that was found lies below the start. Else
 * the number is wrong, or tells of a reset that a crash cut short, which the owner begins again where it is wanted.
 * Records must not go for either.
 */
function settleStart(log: Log, opening: Opening, out: Outbox): void {
  const first = log.segments[0] as Segment;
  const name = nameOf(first.base, LOG_SUFFIX);
  if (deletedBelow(opening) === log.start) {
    sayFound(log, 'warn', name, `all of the log lies below its start, offset ${log.start}: it is removed`, out);
    startAfresh(log, out);
    return;
  }
  const ends = `the log ends at offset ${log.end} and`;
  if (opening.found.wasReset === true) {
    sayFound(log, 'warn', name, `${ends} was to begin anew at ${log.start}: a crash came in between`, out);
  } else {
    sayFound(log, 'error', name, `${ends} is said to start at ${log.start}: that is passed over`, out);
  }
  log.start = first.base;
}

/** Everything that was found lies below the start of the log: it begins anew there. */
function startAfresh(log: Log, out: Outbox): void {
  for (const segment of log.segments) removeSegment(log, segment, out);
  log.segments = [createSegment(log.start)];
  log.sizeBytes = 0;
  log.end = log.start;
  log.epochs = [];
}

/**
 * Records that were synced, or shown to readers, are gone from the end of the log. Their offsets are never given out
 * again: they count as damage and the log goes on behind them.
 */
function reachProtected(log: Log, env: Env, opening: Opening, out: Outbox): void {
  if (log.end >= opening.protect) return;
  env.reached('log.recovery.lost_end');
  const last = activeSegment(log);
  const position = last.sizeBytes;
  const range = { start: log.end, end: opening.protect, segment: last.base, position, positionEnd: position };
  addDamage(log, env, last, range, out);
  log.end = opening.protect;
  last.sealedAt = log.end;
  last.syncedUpTo = log.end;
  const next = createSegment(log.end);
  log.segments.push(next);
  openForAppend(log, next, out);
}

/** Snapshots are kept at the head of each segment, and the newest. */
function removeStraySnapshots(log: Log, opening: Opening, out: Outbox): void {
  const newest = opening.snapshots[opening.snapshots.length - 1];
  for (const offset of opening.snapshots) {
    if (offset === newest || log.segments.some((segment) => segment.base === offset)) continue;
    pushTidy(log, out, { kind: 'remove', path: `${log.folder}/${nameOf(offset, SNAPSHOT_SUFFIX)}` });
  }
}

function isSame(log: Log, opening: Opening): boolean {
  const found = opening.fileEpochs ?? [];
  if (found.length !== log.epochs.length) return false;
  return found.every((entry, i) => {
    const other = log.epochs[i];
    return other !== undefined && other.epoch === entry.epoch && other.startOffset === entry.startOffset;
  });
}
