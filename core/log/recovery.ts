/**
 * Scanning segments after a crash, and the tail of the last one after a clean stop.
 *
 * Batches are read in chunks and each is checked: header, checksum, offsets without a gap, leader epochs that never
 * fall. Indexes, producer state and leader epochs are built from them. A bad batch below what is known to be synced
 * (`opening.protect`) is damage: it is kept out of service and the scan goes on behind it. Above that it is a torn tail:
 * the log is cut there, even if sound batches follow, because a power loss may keep a later sector and lose an earlier
 * one; nobody was told of anything up there.
 */
import { nextFile } from '../lib/ids.ts';
import type { DiskInput, Env, Outbox } from '../lib/world.ts';
import * as batch from '../protocol/batch.ts';
import { addDamage, huntIn, startHunt } from './damage.ts';
import { cutEpochs, withEpoch } from './epochs.ts';
import { ask, flushIndexes, pushTidy, removeSegment, segmentPath } from './files.ts';
import { addTimeEntry, INDEX_ENTRY_BYTES, indexBatch, offsetEntry, TIME_ENTRY_BYTES, timeEntry } from './index.ts';
import { pathOf, SNAPSHOT_SUFFIX } from './names.ts';
import { syncFound } from './opened.ts';
import { distrust, type Opening, pushOpening, type SegmentScan } from './opening.ts';
import { afterReplay, setProducer } from './producers.ts';
import { type Expected, type Sight, sightBatch } from './scan.ts';
import { encodeSnapshot } from './snapshot.ts';
import { createSegment, type Log, type Segment, TIMESTAMP_UNKNOWN } from './state.ts';
import type { LogEvent } from './types.ts';

/** Bytes that are read at a time. */
export const SCAN_CHUNK_BYTES = 1024 * 1024;

/** Decides which segments are scanned, and starts. `isEverything`: the epochs are lost and built from all batches. */
export function beginScan(log: Log, env: Env, opening: Opening, isEverything: boolean, out: Outbox): void {
  opening.phase = 'scan';
  const epochsFrom = isEverything ? 0 : Infinity;
  dropHeadless(log, env, opening, out);
  if (log.segments.length === 0) log.segments = [createSegment(opening.found.logStartOffset)];
  const last = log.segments.length - 1;
  const syncFrom = opening.isClean ? last : indexAt(log, opening.found.recoveryPoint);
  const replayFrom = indexAt(log, opening.replayFrom);
  for (const [i, segment] of log.segments.entries()) {
    if (segment.sizeBytes === 0 && i < last && !opening.isClean && i < syncFrom) continue;
    const isUnsynced = !opening.isClean && i >= syncFrom;
    const isNeeded = i >= Math.min(syncFrom, replayFrom, epochsFrom);
    if (!segment.isOnDisk || (!isNeeded && !segment.isIndexBroken)) continue;
    const isRebuilt = isUnsynced || segment.isIndexBroken;
    if (segment.isIndexBroken) env.reached('log.index.rebuilt');
    opening.scans.push(scanOf(segment, isRebuilt, isUnsynced, !isNeeded));
  }
  // What the scan sees again is built from batches; what lies before it is believed.
  const first = opening.scans.find((scan) => !scan.isOnlyIndex);
  const from = first === undefined ? 0 : first.segment.base;
  const kept = opening.fileEpochs ?? [];
  log.epochs = opening.isClean && !isEverything ? kept : cutEpochs(kept, from);
  startSegment(log, env, opening, out);
}

/**
 * Retention removes only what was synced. Where the first segment begins above that, the one before it lost its name in
 * a power loss, and nothing behind it was durable either.
 */
function dropHeadless(log: Log, env: Env, opening: Opening, out: Outbox): void {
  const first = log.segments[0];
  if (first === undefined || first.base <= Math.max(opening.protect, opening.found.logStartOffset)) return;
  env.reached('log.recovery.headless');
  for (const segment of log.segments) removeSegment(log, segment, out);
  log.segments = [];
  log.sizeBytes = 0;
  opening.isFolderTouched = true;
}

/** Index of the segment that holds `offset`; the first one when none does. */
function indexAt(log: Log, offset: number): number {
  let at = 0;
  for (const [i, segment] of log.segments.entries()) if (segment.base <= offset) at = i;
  return at;
}

function scanOf(segment: Segment, isRebuilt: boolean, isSynced: boolean, isOnlyIndex: boolean): SegmentScan {
  return {
    segment,
    isRebuilt,
    isSynced,
    isOnlyIndex,
    stage: 'data',
    position: 0,
    length: 0,
    expected: segment.base,
    epochMin: -1,
    hunt: null,
  };
}

/** Opens the files of the next segment to be scanned; when there is none, all that was found is synced. */
function startSegment(log: Log, env: Env, opening: Opening, out: Outbox): void {
  const scan = opening.scans[opening.scanAt];
  if (scan === undefined) {
    syncFound(log, env, opening, out);
    return;
  }
  const segment = scan.segment;
  const before = opening.scans[opening.scanAt - 1];
  if (before !== undefined && !before.isOnlyIndex) scan.epochMin = before.epochMin;
  if (!scan.isOnlyIndex) noteBoundary(log, env, opening, segment, out);
  segment.logFile = openFound(log, segment, 'log', false, out);
  if (scan.isRebuilt) {
    resetStatistics(segment);
    segment.indexFile = openFound(log, segment, 'index', true, out);
    segment.timeFile = openFound(log, segment, 'time', true, out);
    for (const file of [segment.indexFile, segment.timeFile]) pushTidy(log, out, { kind: 'truncate', file, size: 0 });
    return;
  }
  const canSkip = opening.replayFrom >= lastBase(log) && segment.base === lastBase(log) && opening.fileEpochs !== null;
  if (canSkip && segment.indexCount > 0 && segment.timeCount > 0) {
    scan.stage = 'index';
    segment.indexFile = openFound(log, segment, 'index', false, out);
    segment.timeFile = openFound(log, segment, 'time', false, out);
  }
}

function lastBase(log: Log): number {
  return log.segments[log.segments.length - 1]?.base ?? 0;
}

function resetStatistics(segment: Segment): void {
  segment.isIndexBroken = false;
  segment.indexCount = 0;
  segment.timeCount = 0;
  segment.lastTimeMs = -1;
  segment.tail = null;
  segment.firstTimestampMs = -1;
  segment.maxTimestampMs = -1;
  segment.maxTimestampOffset = -1;
  segment.sinceIndexBytes = 0;
}

/** Producer state at the head of a segment is worth keeping: the next recovery starts from it. */
function noteBoundary(log: Log, env: Env, opening: Opening, segment: Segment, out: Outbox): void {
  if (opening.isClean || segment.base <= opening.replayFrom || opening.snapshots.includes(segment.base)) return;
  opening.snapshots.push(segment.base);
  const path = pathOf(log.folder, segment.base, SNAPSHOT_SUFFIX);
  const ticket = ask(log, { kind: 'snapshot', offset: segment.base });
  const bytes = encodeSnapshot(opening.producers, env.crc32c);
  out.push({ kind: 'replace', path, bytes, owner: log.owner, ticket });
}

function openFound(log: Log, segment: Segment, role: 'log' | 'index' | 'time', create: boolean, out: Outbox): number {
  const file = nextFile(log.ids);
  pushOpening(log, out, { kind: 'open', file, path: segmentPath(log, segment, role), create });
  return file;
}

/** The answer to an open or a read of the scan. */
export function takeScan(
  log: Log,
  env: Env,
  opening: Opening,
  input: DiskInput,
  out: Outbox,
  events: LogEvent[],
): void {
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
      takeChunk(log, env, opening, scan, input.bytes, out, events);
      break;
    case 'hunt':
      takeHunted(log, env, opening, scan, input.bytes, out);
      break;
  }
}

/** Reads what the scan's stage needs next. */
function readOn(log: Log, scan: SegmentScan, out: Outbox): void {
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

/** The last entry of an index of the last segment: the tail is scanned from there, unless it does not fit. */
function takeLastEntry(log: Log, env: Env, opening: Opening, scan: SegmentScan, bytes: Uint8Array, out: Outbox): void {
  const segment = scan.segment;
  const view = batch.dataViewOf(bytes);
  const isIndex = scan.stage === 'index';
  const isWhole = bytes.length === (isIndex ? INDEX_ENTRY_BYTES : TIME_ENTRY_BYTES);
  const entry = !isWhole ? null : isIndex ? offsetEntry(view, 0, segment.base) : timeEntry(view, 0, segment.base);
  const fits = isIndex
    ? entry !== null && entry.key >= segment.base && entry.value >= 0 && entry.value < segment.sizeBytes
    : entry !== null && entry.value >= segment.base && entry.key >= 0;
  if (!fits || entry === null) {
    distrustIndex(log, env, opening, scan, out);
    return;
  }
  if (isIndex) {
    scan.stage = 'time';
    scan.position = entry.value;
    // The scan starts in the middle, where only the batches behind the snapshot count.
    scan.expected = entry.key > opening.replayFrom ? segment.base : -1;
    if (scan.expected >= 0) scan.position = 0;
  } else {
    scan.stage = 'first';
    segment.maxTimestampMs = entry.key;
    segment.maxTimestampOffset = entry.value;
    segment.lastTimeMs = entry.key;
  }
  readOn(log, scan, out);
}

/** The first header of the last segment: its timestamp says when the segment rolls. */
function takeFirst(log: Log, env: Env, opening: Opening, scan: SegmentScan, bytes: Uint8Array, out: Outbox): void {
  const isWhole = bytes.length === batch.BATCH_HEADER_BYTES;
  const view = batch.dataViewOf(bytes);
  if (!isWhole || batch.magic(view, 0) !== batch.MAGIC || batch.baseOffset(view, 0) !== scan.segment.base) {
    takeBad(log, env, opening, scan, out);
    return;
  }
  scan.segment.firstTimestampMs = batch.maxTimestamp(view, 0);
  scan.stage = 'data';
  readOn(log, scan, out);
}

/** The index of the last segment does not fit: it is built again from the whole segment. */
function distrustIndex(log: Log, env: Env, opening: Opening, scan: SegmentScan, out: Outbox): void {
  env.reached('log.index.rebuilt');
  const segment = scan.segment;
  for (const file of [segment.logFile, segment.indexFile, segment.timeFile]) {
    if (file !== 0) pushTidy(log, out, { kind: 'close', file });
  }
  segment.isIndexBroken = true;
  opening.scans[opening.scanAt] = scanOf(segment, true, scan.isSynced, scan.isOnlyIndex);
  startSegment(log, env, opening, out);
}

/** A piece of the log. */
function takeChunk(
  log: Log,
  env: Env,
  opening: Opening,
  scan: SegmentScan,
  bytes: Uint8Array,
  out: Outbox,
  events: LogEvent[],
): void {
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
  if (sight === 'sound') endSegment(log, env, opening, scan, out, events);
  else takeBad(log, env, opening, scan, out);
}

function offsetMaxOf(log: Log, segment: Segment): number {
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
  scan.epochMin = Math.max(scan.epochMin, epoch);
  if (scan.isRebuilt || segment === log.segments[log.segments.length - 1]) {
    noteStatistics(log, segment, scan, next - 1, timestampMs, position, size);
  }
  if (scan.isOnlyIndex) return;
  if (epoch >= 0) log.epochs = withEpoch(log.epochs, epoch, baseOffset);
  const producerId = batch.producerId(view, at);
  if (producerId < 0 || baseOffset < opening.replayFrom || batch.isControl(view, at)) return;
  const firstSequence = batch.baseSequence(view, at);
  const lastSequence = batch.lastSequence(view, at);
  const replayed = { firstSequence, lastSequence, baseOffset, lastOffset: next - 1, timestampMs };
  const known = opening.producers.get(producerId);
  const producer = afterReplay(known, batch.producerEpoch(view, at), replayed, env.nowMs);
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

/** Something is wrong at `scan.position`: damage, a torn tail, or a stop that was not clean. */
function takeBad(log: Log, env: Env, opening: Opening, scan: SegmentScan, out: Outbox): void {
  const segment = scan.segment;
  if (opening.isClean && !scan.isOnlyIndex) {
    closeScan(log, segment, out);
    distrust(log, env, opening, out);
    return;
  }
  const offset = Math.max(scan.expected, segment.base);
  if (offset < opening.protect || scan.isOnlyIndex) {
    env.reached('log.recovery.damage');
    scan.stage = 'hunt';
    scan.hunt = startHunt(offset, scan.position, offsetMaxOf(log, segment), segment.sizeBytes);
    readOn(log, scan, out);
    return;
  }
  cutTail(log, env, opening, scan, out);
}

function closeScan(log: Log, segment: Segment, out: Outbox): void {
  for (const file of [segment.logFile, segment.indexFile, segment.timeFile]) {
    if (file !== 0) pushTidy(log, out, { kind: 'close', file });
  }
  segment.logFile = 0;
  segment.indexFile = 0;
  segment.timeFile = 0;
}

/** Cuts the log at `scan.position`, and whatever comes after the segment. */
function cutTail(log: Log, env: Env, opening: Opening, scan: SegmentScan, out: Outbox): void {
  env.reached('log.recovery.torn_tail');
  const segment = scan.segment;
  say(log, segment, scan.position, scan.expected, out);
  pushTidy(log, out, { kind: 'truncate', file: segment.logFile, size: scan.position });
  log.sizeBytes -= segment.sizeBytes - scan.position;
  segment.sizeBytes = scan.position;
  removeAfter(log, opening, segment, out);
  endScan(log, env, opening, scan, out);
}

function say(log: Log, segment: Segment, position: number, offset: number, out: Outbox): void {
  const fields = new Map<string, string | number | boolean>([
    ['topic', log.topic],
    ['partition', log.partition],
    ['file', segmentPath(log, segment, 'log')],
    ['position', position],
    ['offset', offset],
    ['bytesCut', segment.sizeBytes - position],
  ]);
  out.push({ kind: 'say', level: 'warn', text: 'unfinished writes at the end of the log are cut off', fields });
}

/** Removes the segments behind `segment` with their snapshots. */
function removeAfter(log: Log, opening: Opening, segment: Segment, out: Outbox): void {
  for (;;) {
    const last = log.segments[log.segments.length - 1] as Segment;
    if (last === segment) break;
    log.segments.pop();
    log.sizeBytes -= last.sizeBytes;
    removeSegment(log, last, out);
    opening.isFolderTouched = true;
  }
  opening.scans = opening.scans.filter((scan) => !scan.segment.isGone);
}

/** The next sound batch behind damage, if there is one. */
function takeHunted(log: Log, env: Env, opening: Opening, scan: SegmentScan, bytes: Uint8Array, out: Outbox): void {
  const hunt = scan.hunt;
  if (hunt === null) return;
  const found = huntIn(hunt, bytes, env.crc32c);
  if (found === 'more') {
    readOn(log, scan, out);
    return;
  }
  const segment = scan.segment;
  const max = offsetMaxOf(log, segment);
  const last = max === Number.MAX_SAFE_INTEGER ? Math.max(opening.protect, hunt.offset + 1) : max;
  const end = found === 'none' ? last : found.base;
  const positionEnd = found === 'none' ? segment.sizeBytes : found.position;
  const range = { start: hunt.offset, end, segment: segment.base, position: hunt.damageAt, positionEnd };
  addDamage(log, env, segment, range, out);
  scan.hunt = null;
  scan.stage = 'data';
  scan.expected = end;
  scan.position = positionEnd;
  readOn(log, scan, out);
}

/** The segment is scanned to its end. Its records must reach its successor. */
function endSegment(log: Log, env: Env, opening: Opening, scan: SegmentScan, out: Outbox, _events: LogEvent[]): void {
  const segment = scan.segment;
  if (scan.position < segment.sizeBytes) {
    readOn(log, scan, out);
    return;
  }
  const next = log.segments[log.segments.indexOf(segment) + 1];
  if (next !== undefined && scan.expected < next.base && !scan.isOnlyIndex) {
    if (opening.isClean) {
      closeScan(log, segment, out);
      distrust(log, env, opening, out);
      return;
    }
    const offset = Math.max(scan.expected, segment.base);
    if (offset >= opening.protect) {
      env.reached('log.recovery.gap');
      cutTail(log, env, opening, scan, out);
      return;
    }
    env.reached('log.recovery.damage');
    const position = segment.sizeBytes;
    addDamage(
      log,
      env,
      segment,
      { start: offset, end: next.base, segment: segment.base, position, positionEnd: position },
      out,
    );
  }
  endScan(log, env, opening, scan, out);
}

/** Finishes the indexes of a scanned segment, asks for its syncs, and goes on with the next. */
function endScan(log: Log, env: Env, opening: Opening, scan: SegmentScan, out: Outbox): void {
  const segment = scan.segment;
  const isLast = segment === log.segments[log.segments.length - 1];
  if (scan.isRebuilt) {
    if (!isLast) addTimeEntry(segment);
    flushIndexes(log, segment, true, out);
    opening.isFolderTouched = true;
  }
  if (segment.maxTimestampMs === TIMESTAMP_UNKNOWN && isLast) segment.maxTimestampMs = -1;
  if (isLast) log.end = Math.max(scan.expected, segment.base);
  opening.scanAt++;
  startSegment(log, env, opening, out);
}
