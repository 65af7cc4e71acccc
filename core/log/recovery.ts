/**
 * Scanning segments after a crash, and the tail of the last one after a clean stop.
 *
 * Batches are read in chunks and each is checked: header, checksum, offsets without a gap, leader epochs that never
 * fall. Indexes, producer state and leader epochs are built from them. `probe.ts` says which segments are scanned and
 * from where, `tail.ts` what a bad batch means: damage below what is known to be synced, a torn tail above it.
 */
import type { DiskInput, Env, Outbox } from '../lib/world.ts';
import * as batch from '../protocol/batch.ts';
import { addDamage } from './damage.ts';
import { cutEpochs, withEpoch } from './epochs.ts';
import { flushIndexes } from './files.ts';
import { INDEX_ENTRY_BYTES, indexBatch, TIME_ENTRY_BYTES } from './index.ts';
import { type Opening, pushOpening, type SegmentScan } from './opening.ts';
import { takeFirst, takeLastEntry } from './probe.ts';
import { afterReplay, producerBatchAt, setProducer } from './producers.ts';
import { type Expected, type Sight, sightBatch } from './scan.ts';
import type { Log, Segment } from './state.ts';
import { endSegment, takeBad, takeHunted } from './tail.ts';

/** Bytes that are read at a time. */
export const SCAN_CHUNK_BYTES = 1024 * 1024;

/** The answer to an open or a read of the scan. */
export function takeScan(log: Log, env: Env, opening: Opening, input: DiskInput, out: Outbox): void {
  const scan = opening.scans[opening.scanAt];
  if (scan === undefined || opening.pending > 0) return;
  if (input.kind !== 'read') {
    readOn(log, scan, out);
    return;
  }
  switch (scan.stage) {
    case 'index':
    case 'time':
      takeLastEntry(log, env, opening, scan, input.bytes, out);
      break;
    case 'first':
      takeFirst(log, env, opening, scan, input.bytes, out);
      break;
    case 'data':
      takeChunk(log, env, opening, scan, input.bytes, out);
      break;
    case 'hunt':
      takeHunted(log, env, opening, scan, input.bytes, out);
      break;
  }
}

/** Reads what the scan's stage needs next. */
export function readOn(log: Log, scan: SegmentScan, out: Outbox): void {
  const segment = scan.segment;
  if (scan.stage === 'index' || scan.stage === 'time') {
    const isIndex = scan.stage === 'index';
    const length = isIndex ? INDEX_ENTRY_BYTES : TIME_ENTRY_BYTES;
    const position = ((isIndex ? segment.indexCount : segment.timeCount) - 1) * length;
    const file = isIndex ? segment.indexFile : segment.timeFile;
    pushOpening(log, out, { kind: 'read', file, position, length });
    return;
  }
  if (scan.stage === 'first') {
    pushOpening(log, out, { kind: 'read', file: segment.logFile, position: 0, length: batch.BATCH_HEADER_BYTES });
    return;
  }
  const position = scan.hunt === null ? scan.position : scan.hunt.position;
  const wanted = scan.hunt === null ? Math.max(scan.length, SCAN_CHUNK_BYTES) : scan.hunt.length;
  scan.length = Math.max(0, Math.min(wanted, segment.sizeBytes - position));
  pushOpening(log, out, { kind: 'read', file: segment.logFile, position, length: scan.length });
}

/** A piece of the log. */
function takeChunk(log: Log, env: Env, opening: Opening, scan: SegmentScan, bytes: Uint8Array, out: Outbox): void {
  const segment = scan.segment;
  const view = batch.dataViewOf(bytes);
  let at = 0;
  let sight: Sight = 'sound';
  while (scan.position + at < segment.sizeBytes) {
    const expected: Expected = {
      offset: scan.expected,
      offsetMax: offsetMaxOf(log, segment),
      epochMin: scan.epochMin,
      end: segment.sizeBytes - scan.position,
    };
    sight = sightBatch(bytes, view, at, expected, env.crc32c);
    if (sight === 'bad' && distrustRaise(log, env, opening, scan, bytes, view, at, expected, out)) continue;
    if (sight !== 'sound') break;
    takeBatch(log, env, opening, scan, view, at, scan.position + at);
    at += batch.batchSizeBytes(view, at);
  }
  scan.position += at;
  if (scan.isRebuilt) flushIndexes(log, segment, false, out);
  const isShorter = bytes.length < scan.length;
  if (sight === 'short' && !isShorter) {
    const size = bytes.length - at >= batch.BATCH_HEADER_BYTES ? batch.batchSizeBytes(view, at) : 0;
    scan.length = size;
    readOn(log, scan, out);
    return;
  }
  if (sight === 'sound') endSegment(log, env, opening, scan, out);
  else takeBad(log, env, opening, scan, out);
}

/**
 * The leader epoch is not under the checksum. Where a batch is sound but for an epoch that falls, and the one right
 * before it was the only one to raise it, that one is the damaged one. True if it was, and the walk goes on.
 */
function distrustRaise(
  log: Log,
  env: Env,
  opening: Opening,
  scan: SegmentScan,
  bytes: Uint8Array,
  view: DataView,
  at: number,
  expected: Expected,
  out: Outbox,
): boolean {
  const raise = scan.raise;
  if (raise === null || raise.next !== scan.expected || raise.offset >= opening.protect) return false;
  if (sightBatch(bytes, view, at, { ...expected, epochMin: raise.before }, env.crc32c) !== 'sound') return false;
  env.reached('log.recovery.epoch_fell');
  const range = { start: raise.offset, end: raise.next, segment: scan.segment.base, position: raise.position };
  addDamage(log, env, scan.segment, { ...range, positionEnd: scan.position + at }, out);
  log.epochs = cutEpochs(log.epochs, raise.offset);
  scan.epochMin = raise.before;
  scan.raise = null;
  return true;
}

/** Offsets at or above this belong to the next segment. */
export function offsetMaxOf(log: Log, segment: Segment): number {
  const next = log.segments[log.segments.indexOf(segment) + 1];
  return next === undefined ? Number.MAX_SAFE_INTEGER : next.base;
}

/** A sound batch: indexes, epochs and producers move on. */
function takeBatch(
  log: Log,
  env: Env,
  opening: Opening,
  scan: SegmentScan,
  view: DataView,
  at: number,
  position: number,
): void {
  const segment = scan.segment;
  const baseOffset = batch.baseOffset(view, at);
  const next = batch.nextOffset(view, at);
  const timestampMs = batch.maxTimestamp(view, at);
  const size = batch.batchSizeBytes(view, at);
  const epoch = batch.leaderEpoch(view, at);
  scan.expected = next;
  if (epoch > scan.epochMin) scan.raise = { offset: baseOffset, next, position, before: scan.epochMin };
  scan.epochMin = Math.max(scan.epochMin, epoch);
  if (scan.isRebuilt || segment === log.segments[log.segments.length - 1]) {
    noteStatistics(log, segment, scan, next - 1, timestampMs, position, size);
  }
  if (scan.isOnlyIndex) return;
  if (epoch >= 0) log.epochs = withEpoch(log.shared, log.epochs, epoch, baseOffset);
  const producerId = batch.producerId(view, at);
  if (producerId < 0 || baseOffset < opening.replayFrom || batch.isControl(view, at)) return;
  const known = opening.producers.get(producerId);
  const producer = afterReplay(known, batch.producerEpoch(view, at), producerBatchAt(view, at), env.nowMs);
  setProducer(opening.producers, producerId, producer);
}

function noteStatistics(
  log: Log,
  segment: Segment,
  scan: SegmentScan,
  lastOffset: number,
  timestampMs: number,
  position: number,
  sizeBytes: number,
): void {
  if (position === 0) segment.firstTimestampMs = timestampMs;
  if (scan.isRebuilt) {
    indexBatch(segment, lastOffset, timestampMs, position, sizeBytes, log.config.indexIntervalBytes);
    return;
  }
  // The index is kept; only what is counted since its last entry matters.
  segment.sinceIndexBytes += sizeBytes;
  if (timestampMs > segment.maxTimestampMs) {
    segment.maxTimestampMs = timestampMs;
    segment.maxTimestampOffset = lastOffset;
  }
}
