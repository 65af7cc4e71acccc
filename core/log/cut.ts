/**
 * Taking appends back when the disk is full.
 *
 * The disk promises that an append is whole or an error, and that whatever was piped behind a failed one in the
 * same file fails too until a truncate. So the log ends again where the failed batch began: everything from there
 * on is undone, segments that were rolled meanwhile are removed, and the file is truncated to where it is already,
 * which lets later appends through. Nothing that was undone was durable, so nobody was told of it. The removed
 * names must be gone durably before the offsets they covered become durable a second time, hence the folder is
 * synced.
 */
import { assert } from '../lib/assert.ts';
import type { Env, Outbox } from '../lib/world.ts';
import { cutEpochs } from './epochs.ts';
import { breakIndex, closeFiles, pushTidy, removeSegment, unname } from './files.ts';
import { INDEX_ENTRY_BYTES, TIME_ENTRY_BYTES } from './index.ts';
import { pathOf, SNAPSHOT_SUFFIX } from './names.ts';
import { type Producer, undoAppend } from './producers.ts';
import { cutRing } from './ring.ts';
import { writeEpochs } from './roll.ts';
import type { Log, ProducerUndo, Segment, Write } from './state.ts';
import type { LogEvent } from './types.ts';

/** The append `failed` did not happen, nor did anything after it. */
export function cutBack(log: Log, env: Env, failed: Write, out: Outbox, events: LogEvent[]): void {
  assert(failed.base >= log.durable, 'what is durable is never cut');
  env.reached('log.cut_back');
  const segment = failed.segment;
  undoWrites(log, failed);
  if (log.state === 'closing') removeSnapshot(log, log.end, out);
  const isUnrolled = removeSegmentsAfter(log, segment, out);
  log.sizeBytes -= segment.sizeBytes - failed.position;
  segment.sizeBytes = failed.position;
  segment.sealedAt = -1;
  segment.syncedUpTo = Math.min(segment.syncedUpTo, failed.base);
  log.end = failed.base;
  log.syncTo = Math.min(log.syncTo, log.end);
  log.flushAtMs = Infinity;
  for (const [ticket, what] of log.asks ?? []) {
    // What was asked for before the cut must not vouch for what comes after it.
    if (what.kind === 'sync') what.upTo = Math.min(what.upTo, log.end);
    if (what.kind === 'syncIndex' && what.segment === segment) log.asks?.delete(ticket);
  }
  if (segment.logFile !== 0) pushTidy(log, out, { kind: 'truncate', file: segment.logFile, size: segment.sizeBytes });
  cutIndexes(log, segment, failed, out);
  if (log.ring !== null) cutRing(log.ring, log.end);
  if (log.cursors !== null) log.cursors = log.cursors.filter((cursor) => cursor.offset <= log.end);
  const epochs = cutEpochs(log.epochs, log.end);
  if (epochs !== log.epochs) {
    log.epochs = epochs;
    writeEpochs(log, out);
  }
  if (isUnrolled) unname(log, segment);
  events.push({ kind: 'cutBack', offset: log.end });
}

/** Newest first, so that each producer ends with what it had before its first undone batch. */
function undoWrites(log: Log, failed: Write): void {
  for (;;) {
    const write = log.writes.pop();
    assert(write !== undefined, 'a failed write is among the writes');
    log.asks?.delete(write.ticket);
    if (log.producers !== null && write.producersBefore !== null) undoAll(log.producers, write.producersBefore);
    if (write.producerId >= 0 && log.producers !== null) {
      undoAppend(log.producers, write.producerId, write.producerBefore, write.producerEpoch, write.baseSequence);
    }
    if (write === failed) return;
  }
}

/** A follower knows of its producers what the leader sent: what was unknown before is unknown again. */
function undoAll(producers: Map<number, Producer>, undo: readonly ProducerUndo[]): void {
  for (let i = undo.length - 1; i >= 0; i--) {
    const { producerId, before } = undo[i] as ProducerUndo;
    if (before === null) producers.delete(producerId);
    else producers.set(producerId, before);
  }
}

/** Removes the segments behind `segment` with their snapshots. True if there were any. */
export function removeSegmentsAfter(log: Log, segment: Segment, out: Outbox): boolean {
  let isRemoved = false;
  for (;;) {
    const last = log.segments[log.segments.length - 1] as Segment;
    if (last === segment) return isRemoved;
    isRemoved = true;
    log.segments.pop();
    log.sizeBytes -= last.sizeBytes;
    if (log.unsettled !== null) log.unsettled = log.unsettled.filter((other) => other !== last);
    removeSegment(log, last, out);
    removeSnapshot(log, last.base, out);
  }
}

/** A snapshot that speaks of batches that were taken back would make their retries look like duplicates. */
export function removeSnapshot(log: Log, offset: number, out: Outbox): void {
  pushTidy(log, out, { kind: 'remove', path: pathOf(log.folder, offset, SNAPSHOT_SUFFIX) });
}

function cutIndexes(log: Log, segment: Segment, failed: Write, out: Outbox): void {
  segment.firstTimestampMs = failed.firstTimestampBefore;
  segment.maxTimestampMs = failed.maxTimestampBefore;
  segment.maxTimestampOffset = failed.maxTimestampOffsetBefore;
  segment.sinceIndexBytes = failed.sinceIndexBefore;
  segment.lastTimeMs = failed.lastTimeBefore;
  segment.indexSyncsLeft = 0;
  if (segment.isIndexBroken) return;
  const offsetsKept = failed.indexCountBefore - segment.indexCount;
  const timesKept = failed.timeCountBefore - segment.timeCount;
  if (segment.tail !== null) {
    segment.tail.offsets.length = Math.max(0, offsetsKept) * 2;
    segment.tail.times.length = Math.max(0, timesKept) * 2;
  }
  if (offsetsKept < 0 && segment.indexFile !== 0) {
    segment.indexCount = failed.indexCountBefore;
    pushTidy(log, out, { kind: 'truncate', file: segment.indexFile, size: segment.indexCount * INDEX_ENTRY_BYTES });
  }
  if (timesKept < 0 && segment.timeFile !== 0) {
    segment.timeCount = failed.timeCountBefore;
    pushTidy(log, out, { kind: 'truncate', file: segment.timeFile, size: segment.timeCount * TIME_ENTRY_BYTES });
  }
}

/** The first append under way in `segment`, if there is one. */
function firstWriteOf(log: Log, segment: Segment): Write | undefined {
  return log.writes.find((write) => write.segment === segment);
}

/** A file of a segment could not be made: the disk is full. The next append tries again. */
export function openFailed(
  log: Log,
  env: Env,
  segment: Segment,
  isLog: boolean,
  out: Outbox,
  events: LogEvent[],
): void {
  const write = isLog ? firstWriteOf(log, segment) : undefined;
  if (!isLog || (write === undefined && segment.sizeBytes > 0)) {
    breakIndex(log, segment, out);
    return;
  }
  closeFiles(log, segment, out);
  if (write !== undefined) cutBack(log, env, write, out, events);
  if (segment.sizeBytes > 0) return;
  segment.isOnDisk = false;
  segment.isNamed = false;
  if (log.unsettled !== null) log.unsettled = log.unsettled.filter((other) => other !== segment);
}
