/**
 * Which segments are scanned at an opening, and from where: planning, opening files, probing the indexes of the
 * last one.
 *
 * After a clean stop the last entries of the last segment's indexes say where its tail begins; they are checked
 * against what is found there, and where they do not fit the whole segment is scanned and its indexes are built
 * again.
 */
import { nextFile } from '../lib/ids.ts';
import type { Env, Outbox } from '../lib/world.ts';
import * as batch from '../protocol/batch.ts';
import { addDamage, sayFound } from './damage.ts';
import { cutEpochs } from './epochs.ts';
import { ask, pushTidy, removeSegment, segmentPath } from './files.ts';
import { INDEX_ENTRY_BYTES, offsetEntry, TIME_ENTRY_BYTES, timeEntry } from './index.ts';
import { INDEX_SUFFIX, nameOf, pathOf, SNAPSHOT_SUFFIX } from './names.ts';
import { syncFound } from './opened.ts';
import { type Opening, pushOpening, type SegmentScan } from './opening.ts';
import { readOn } from './recovery.ts';
import { encodeSnapshot } from './snapshot.ts';
import { createSegment, type Log, type Segment } from './state.ts';
import { takeBad } from './tail.ts';

/** Decides which segments are scanned, and starts. `isEverything`: the epochs are lost and built from all batches. */
export function beginScan(log: Log, env: Env, opening: Opening, isEverything: boolean, out: Outbox): void {
  opening.phase = 'scan';
  const epochsFrom = isEverything ? 0 : Infinity;
  dropHeadless(log, env, opening, out);
  if (opening.isClean) noteEmptied(log, env, out);
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
    if (segment.isIndexBroken) {
      env.reached('log.index.rebuilt');
      const text = 'an index is missing or not whole: both of the segment are built again';
      sayFound(log, opening.isClean ? 'warn' : 'info', nameOf(segment.base, INDEX_SUFFIX), text, out);
    }
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
 * Retention removes only what was synced. Where the first segment begins above that, the one before it lost its
 * name in a power loss, and nothing behind it was durable either.
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

/** After a clean stop only the last segment may be empty: what another one held is gone, and that is damage. */
function noteEmptied(log: Log, env: Env, out: Outbox): void {
  for (const [i, segment] of log.segments.entries()) {
    const next = log.segments[i + 1];
    if (next === undefined || segment.sizeBytes > 0) continue;
    const range = { start: segment.base, end: next.base, segment: segment.base, position: 0, positionEnd: 0 };
    addDamage(log, env, segment, range, out);
  }
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
    raise: null,
    hunt: null,
  };
}

/** Opens the files of the next segment to be scanned; when there is none, all that was found is synced. */
export function startSegment(log: Log, env: Env, opening: Opening, out: Outbox): void {
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

/** The last entry of an index of the last segment: the tail is scanned from there, unless it does not fit. */
export function takeLastEntry(
  log: Log,
  env: Env,
  opening: Opening,
  scan: SegmentScan,
  bytes: Uint8Array,
  out: Outbox,
): void {
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
export function takeFirst(
  log: Log,
  env: Env,
  opening: Opening,
  scan: SegmentScan,
  bytes: Uint8Array,
  out: Outbox,
): void {
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
    if (file !== 0) pushTidy(log, out, { kind: 'closeFile', file });
  }
  segment.isIndexBroken = true;
  opening.scans[opening.scanAt] = scanOf(segment, true, scan.isSynced, scan.isOnlyIndex);
  startSegment(log, env, opening, out);
}
