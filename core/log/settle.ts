/**
 * What is durable, and how it becomes so: sync rounds, names of new segments, the recovery point.
 *
 * At most one sync is under way for each file; whatever is appended meanwhile forms the next round, so that one sync
 * answers for many appends. A batch is durable when its own append is answered, a sync that was issued after it is
 * answered, the names of its segment survive a power loss, and all that precedes it is durable too.
 */
import type { Outbox } from '../lib/world.ts';
import type { EpochEntry } from './epochs.ts';
import { ask, closeFiles } from './files.ts';
import type { Log, Segment, Write } from './state.ts';
import type { LogEvent } from './types.ts';

/** Where the records of a segment end, as far as they were handed to the disk. */
export function endOf(log: Log, segment: Segment): number {
  return segment.sealedAt < 0 ? log.end : segment.sealedAt;
}

/** Where the answered appends end. */
export function writtenEnd(log: Log): number {
  const oldest = log.writes[0];
  return oldest === undefined ? log.end : oldest.base;
}

/** Where the synced and named prefix of the log ends. */
function syncedEnd(log: Log): number {
  if (log.unsettled !== null) {
    for (const segment of log.unsettled) {
      if (!segment.isNamed) return segment.base;
      if (segment.syncedUpTo < endOf(log, segment)) return segment.syncedUpTo;
    }
  }
  return log.end;
}

/**
 * Where the first leader epoch starts that the file of epochs does not hold durably: the batches from there on must be
 * scanned after a crash, or records would count as those of an earlier leader, and a follower would keep what it has to
 * cut. Infinity when the file holds all.
 */
export function unknownEpoch(log: Log): number {
  const { epochs, epochsOnDisk, start } = log;
  if (epochs === epochsOnDisk) return Infinity;
  let here = headOf(epochs, start);
  let there = headOf(epochsOnDisk, start);
  // What the file says about offsets below the start of the log does not matter.
  if (epochs[here]?.epoch !== epochsOnDisk[there]?.epoch) return start;
  for (here++, there++; here < epochs.length || there < epochsOnDisk.length; here++, there++) {
    const mine = epochs[here];
    const known = epochsOnDisk[there];
    if (mine !== undefined && mine.epoch === known?.epoch && mine.startOffset === known.startOffset) continue;
    return Math.min(mine?.startOffset ?? Infinity, known?.startOffset ?? Infinity);
  }
  return Infinity;
}

/** Index of the entry under which `start` was appended; -1 when there is none. */
function headOf(entries: readonly EpochEntry[], start: number): number {
  let head = -1;
  while (head + 1 < entries.length && (entries[head + 1] as EpochEntry).startOffset <= start) head++;
  return head;
}

/** Every record below it is synced and so are the indexes of every segment that ends below it. */
export function recoveryPoint(log: Log): number {
  const synced = Math.min(syncedEnd(log), writtenEnd(log), unknownEpoch(log));
  // Files that are being removed still claim offsets: nothing more counts before they are gone.
  const point = log.removesLeft > 0 ? Math.min(synced, log.durable) : synced;
  if (log.unsettled !== null) {
    for (const segment of log.unsettled) if (segment.indexSyncsLeft > 0) return Math.min(point, segment.base);
  }
  return point;
}

/** Asks for the syncs that are due and not under way. */
export function pumpSyncs(log: Log, out: Outbox): void {
  if (log.unsettled === null) return;
  for (const segment of log.unsettled) {
    const end = endOf(log, segment);
    if (segment.isSyncing || segment.logFile === 0) continue;
    if (segment.syncedUpTo >= Math.min(end, log.syncTo)) continue;
    segment.isSyncing = true;
    const ticket = ask(log, { kind: 'sync', segment, file: segment.logFile, upTo: end });
    out.push({ kind: 'sync', file: segment.logFile, owner: log.owner, ticket });
  }
}

/** Notes an append that was handed to the disk: when is it to be synced? */
export function noteUnsynced(log: Log, records: number, nowMs: number): void {
  const config = log.config;
  if (config.flushMessages <= 1) {
    log.syncTo = log.end;
    return;
  }
  log.unsyncedRecords += records;
  if (log.unsyncedRecords >= config.flushMessages) wantSync(log);
  else if (log.flushAtMs === Infinity) log.flushAtMs = nowMs + config.flushMs;
}

/** All that was appended so far is to be synced. */
export function wantSync(log: Log): void {
  log.syncTo = log.end;
  log.unsyncedRecords = 0;
  log.flushAtMs = Infinity;
}

/** An append was answered. */
export function noteWritten(log: Log, write: Write): void {
  write.isDone = true;
  while (log.writes[0]?.isDone === true) log.writes.shift();
}

/** Moves `durable` up where it may, and lets go of segments that have come to rest. */
export function settle(log: Log, out: Outbox, events: LogEvent[]): void {
  const written = writtenEnd(log);
  const durable = log.config.flushMessages <= 1 ? Math.min(written, syncedEnd(log)) : written;
  // A file that a cut removes would, after a crash, still claim offsets that have been given out again.
  if (durable > log.durable && log.removesLeft === 0) {
    log.durable = durable;
    events.push({ kind: 'durable' });
  }
  while (log.unsettled !== null) {
    const segment = log.unsettled[0];
    if (segment === undefined) {
      log.unsettled = null;
      return;
    }
    if (!segment.isNamed || segment.syncedUpTo < endOf(log, segment) || segment.indexSyncsLeft > 0) return;
    log.unsettled.shift();
    if (segment.sealedAt >= 0 && !hasJob(log, segment)) closeFiles(log, segment, out);
  }
}

/** Whether a reader is at work in the segment. */
export function hasJob(log: Log, segment: Segment): boolean {
  if (log.jobs !== null) for (const job of log.jobs) if (job.segment === segment) return true;
  return false;
}
