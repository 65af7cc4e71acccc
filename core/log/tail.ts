/**
 * Where a scan ends or stumbles: damage that is kept out of service, torn tails that are cut, gaps between
 * segments.
 *
 * The line between the two is `opening.protect`: what is known to have been synced. A bad batch above it is a torn
 * tail even if sound batches follow, because a power loss may keep a later sector and lose an earlier one.
 */
import type { Env, Outbox } from '../lib/world.ts';
import { addDamage, huntIn, startHunt } from './damage.ts';
import { flushIndexes, pushTidy, removeSegment, segmentPath } from './files.ts';
import { addTimeEntry } from './index.ts';
import { deletedBelow } from './opened.ts';
import { distrust, type Opening, type SegmentScan } from './opening.ts';
import { startSegment } from './probe.ts';
import { offsetMaxOf, readOn } from './recovery.ts';
import { type Log, type Segment, TIMESTAMP_UNKNOWN } from './state.ts';

/** Something is wrong at `scan.position`: damage, a torn tail, or a stop that was not clean. */
export function takeBad(log: Log, env: Env, opening: Opening, scan: SegmentScan, out: Outbox): void {
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
    if (file !== 0) pushTidy(log, out, { kind: 'closeFile', file });
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
export function takeHunted(
  log: Log,
  env: Env,
  opening: Opening,
  scan: SegmentScan,
  bytes: Uint8Array,
  out: Outbox,
): void {
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
  if (end > deletedBelow(opening)) addDamage(log, env, segment, range, out);
  scan.hunt = null;
  scan.stage = 'data';
  scan.expected = end;
  scan.position = positionEnd;
  readOn(log, scan, out);
}

/** The segment is scanned to its end. Its records must reach its successor. */
export function endSegment(log: Log, env: Env, opening: Opening, scan: SegmentScan, out: Outbox): void {
  const segment = scan.segment;
  if (scan.position < segment.sizeBytes) {
    readOn(log, scan, out);
    return;
  }
  const next = log.segments[log.segments.indexOf(segment) + 1];
  // Below the start of the log segments are removed, and a power loss brings some of them back.
  const isGap = next !== undefined && scan.expected < next.base && next.base > deletedBelow(opening);
  if (next !== undefined && isGap && !scan.isOnlyIndex) {
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
  // A snapshot may speak of batches that are not there. And a clean stop whose recovery point is below the end could
  // not write all that is kept beside the batches: the disk was full.
  const isDoubtful = opening.replayFrom > log.end || opening.found.recoveryPoint < log.end;
  if (isLast && opening.isClean && isDoubtful) {
    closeScan(log, segment, out);
    distrust(log, env, opening, out);
    return;
  }
  opening.scanAt++;
  startSegment(log, env, opening, out);
}
