/**
 * Finding the batch at which a log is cut, and what its segment looks like up to there.
 *
 * Memory knows the bases of segments and the newest index entries; the rest is read: slices of the two indexes, from
 * their ends backwards because cuts are near the end, then the headers from the last kept entry on. What an index says
 * is checked against the batch it points to; one that does not fit is given up, and the segment is walked from its
 * head. Reads are not ordered with opens, so nothing is read before the files are open.
 */
import type { Env, Outbox } from '../lib/world.ts';
import * as batch from '../protocol/batch.ts';
import { ask, breakIndex, openForAppend } from './files.ts';
import { INDEX_ENTRY_BYTES, offsetEntry, searchTail, TIME_ENTRY_BYTES, timeEntry } from './index.ts';
import { sightHeader } from './scan.ts';
import { type Log, type Segment, segmentEnd, segmentIndexFor, TIMESTAMP_UNKNOWN } from './state.ts';
import type { Truncation } from './truncate.ts';

/** Entries of an index that are read at a time. */
const SLICE_ENTRIES = 4096;
/** Bytes of the log that are read at a time. */
const CHUNK_BYTES = 64 * 1024;

/** A search under way; plain data. */
export interface Search {
  readonly segment: Segment;
  /** What is cut away begins at or below it. */
  readonly offset: number;
  stage: 'open' | 'index' | 'time' | 'first' | 'data' | 'done';
  /** The walk has come to what is no batch, below the cut. */
  isAtDamage: boolean;
  /** A read was asked for. */
  isAsking: boolean;
  /** The file was closed while it was read: the search begins again. */
  isClosed: boolean;
  /** Entries that may still be looked at: [0, high); the slice that was asked for begins at `from`. */
  high: number;
  from: number;
  /** Entries kept of each index, those that are only in memory included. */
  offsetsKept: number;
  timesKept: number;
  /** The last offset of the batch that the index points to; -1 when the walk begins at the head. */
  key: number;
  /** Where the next batch begins, and its offset. */
  position: number;
  expected: number;
  lastTimeMs: number;
  maxTimestampMs: number;
  maxTimestampOffset: number;
  sinceIndexBytes: number;
}

/** Where a segment is cut, and its statistics up to there. */
export interface Found {
  readonly segment: Segment;
  readonly position: number;
  /** The log ends here then. */
  readonly end: number;
  readonly offsetsKept: number;
  readonly timesKept: number;
  readonly lastTimeMs: number;
  readonly maxTimestampMs: number;
  readonly maxTimestampOffset: number;
  readonly sinceIndexBytes: number;
}

/** A search for the batch that holds `offset`, which is at or above the first segment's base. */
export function freshSearch(log: Log, offset: number): Search {
  const segment = log.segments[Math.max(0, segmentIndexFor(log, offset))] as Segment;
  return {
    segment,
    offset,
    stage: offset <= segment.base ? 'done' : 'open',
    isAtDamage: false,
    isAsking: false,
    isClosed: false,
    high: 0,
    from: 0,
    offsetsKept: 0,
    timesKept: 0,
    key: -1,
    position: 0,
    expected: segment.base,
    lastTimeMs: -1,
    maxTimestampMs: -1,
    maxTimestampOffset: -1,
    sinceIndexBytes: 0,
  };
}

/** Takes steps until something must be waited for (null; `isAsking` when it is a read) or the place is found. */
export function goOnSearching(log: Log, env: Env, truncation: Truncation, search: Search, out: Outbox): Found | null {
  if (search.stage === 'done') return foundOf(search);
  if (search.stage === 'open') {
    openForAppend(log, search.segment, out);
    if (search.segment.opensLeft > 0) return null;
    beginIndex(search);
  }
  if (search.segment.opensLeft > 0) return null;
  if (isStageOver(search)) nextStage(search);
  askNext(log, env, truncation, search, out);
  return null;
}

function foundOf(search: Search): Found {
  const { segment, position, expected, offsetsKept, timesKept } = search;
  const { lastTimeMs, maxTimestampMs, maxTimestampOffset, sinceIndexBytes } = search;
  const counts = { offsetsKept, timesKept, lastTimeMs, maxTimestampMs, maxTimestampOffset, sinceIndexBytes };
  return { segment, position, end: Math.min(expected, search.offset), ...counts };
}

/** The entries in memory are the newest: where one of them is kept, all in the file are. */
function beginIndex(search: Search): void {
  const { segment } = search;
  search.stage = 'index';
  const offsets = segment.tail === null ? [] : segment.tail.offsets;
  const at = searchTail(offsets, search.offset - 1);
  search.high = at >= 0 || segment.isIndexBroken ? 0 : segment.indexCount;
  if (at < 0) return;
  search.offsetsKept = segment.indexCount + at + 1;
  search.key = offsets[at * 2] as number;
  search.position = offsets[at * 2 + 1] as number;
}

function beginTime(search: Search): void {
  const { segment } = search;
  search.stage = 'time';
  const times = segment.tail === null ? [] : segment.tail.times;
  let kept = 0;
  while (kept * 2 < times.length && (times[kept * 2 + 1] as number) < search.offset) kept++;
  search.high = kept > 0 || segment.isIndexBroken ? 0 : segment.timeCount;
  if (kept === 0) return;
  search.timesKept = segment.timeCount + kept;
  noteTime(search, times[kept * 2 - 2] as number, times[kept * 2 - 1] as number);
}

function noteTime(search: Search, timestampMs: number, offset: number): void {
  search.lastTimeMs = timestampMs;
  search.maxTimestampMs = timestampMs;
  search.maxTimestampOffset = offset;
}

function isStageOver(search: Search): boolean {
  return (search.stage === 'index' || search.stage === 'time') && search.high === 0;
}

/** Goes on behind an index that has nothing more to say. */
function nextStage(search: Search): void {
  if (search.stage === 'index') beginTime(search);
  if (search.stage !== 'time' || search.high > 0) return;
  const isFirstUnknown = search.segment.firstTimestampMs === TIMESTAMP_UNKNOWN && search.position > 0;
  search.stage = isFirstUnknown ? 'first' : 'data';
}

function askNext(log: Log, env: Env, truncation: Truncation, search: Search, out: Outbox): void {
  const { segment, stage } = search;
  const file = stage === 'index' ? segment.indexFile : stage === 'time' ? segment.timeFile : segment.logFile;
  if (file === 0) {
    // A reader's last file was closed in passing.
    search.stage = 'open';
    openForAppend(log, segment, out);
    return;
  }
  let position = search.position;
  let length = Math.min(CHUNK_BYTES, segment.sizeBytes - search.position);
  if (stage === 'index' || stage === 'time') {
    const entryBytes = stage === 'index' ? INDEX_ENTRY_BYTES : TIME_ENTRY_BYTES;
    search.from = Math.max(0, search.high - SLICE_ENTRIES);
    position = search.from * entryBytes;
    length = (search.high - search.from) * entryBytes;
    env.reached('log.truncate.index_read');
  } else if (stage === 'first') {
    position = 0;
    length = batch.BATCH_HEADER_BYTES;
  }
  search.isAsking = true;
  const ticket = ask(log, { kind: 'truncation', truncation });
  out.push({ kind: 'read', file, position, length: Math.max(1, length), owner: log.owner, ticket });
}

/** The answer to the search's read. */
export function takeSearched(log: Log, env: Env, search: Search, bytes: Uint8Array, out: Outbox): void {
  search.isAsking = false;
  switch (search.stage) {
    case 'index':
    case 'time':
      if (!takeSlice(search, bytes)) distrust(log, env, search, out);
      break;
    case 'first':
      takeFirst(search, bytes);
      break;
    default:
      walk(log, env, search, bytes, out);
  }
}

/** The last entry that is kept is in the slice, or below it. False where that one is of no batch of the segment. */
function takeSlice(search: Search, bytes: Uint8Array): boolean {
  const isIndex = search.stage === 'index';
  const view = batch.dataViewOf(bytes);
  const { base, sizeBytes } = search.segment;
  const count = Math.floor(bytes.length / (isIndex ? INDEX_ENTRY_BYTES : TIME_ENTRY_BYTES));
  for (let i = count - 1; i >= 0; i--) {
    const entry = isIndex ? offsetEntry(view, i, base) : timeEntry(view, i, base);
    const offset = isIndex ? entry.key : entry.value;
    if (offset >= search.offset) continue;
    if (offset < base || (isIndex && (entry.value < 0 || entry.value >= sizeBytes))) return false;
    search.high = 0;
    if (isIndex) {
      search.offsetsKept = search.from + i + 1;
      search.key = offset;
      search.position = entry.value;
    } else {
      search.timesKept = search.from + i + 1;
      noteTime(search, entry.key, offset);
    }
    return true;
  }
  search.high = search.from;
  return true;
}

function takeFirst(search: Search, bytes: Uint8Array): void {
  if (bytes.length === batch.BATCH_HEADER_BYTES) {
    search.segment.firstTimestampMs = batch.maxTimestamp(batch.dataViewOf(bytes), 0);
  }
  search.stage = 'data';
}

/** Walks the headers in a piece of the log. */
function walk(log: Log, env: Env, search: Search, bytes: Uint8Array, out: Outbox): void {
  const { segment } = search;
  const view = batch.dataViewOf(bytes);
  const offsetMax = segmentEnd(log, log.segments.indexOf(segment));
  const start = search.position;
  for (;;) {
    const at = search.position - start;
    if (search.position >= segment.sizeBytes) {
      search.stage = 'done';
      return;
    }
    if (at > 0 && bytes.length - at < batch.BATCH_HEADER_BYTES) return;
    const range = search.key >= 0 ? undefined : log.damaged.find((one) => holds(one, segment, search));
    if (range !== undefined) {
      search.position = range.positionEnd;
      search.expected = range.end;
      continue;
    }
    const offset = search.key >= 0 ? -1 : search.expected;
    const end = at + segment.sizeBytes - search.position;
    const sight = sightHeader(view, at, { offset, offsetMax, epochMin: -1, end });
    const isHeader = sight !== 'bad' && bytes.length - at >= batch.BATCH_HEADER_BYTES;
    if (search.key >= 0 && (!isHeader || batch.lastOffset(view, at) !== search.key)) {
      distrust(log, env, search, out);
      return;
    }
    // What lies behind damage cannot be told from what does not belong there: it all goes.
    if (!isHeader || batch.nextOffset(view, at) > search.offset) {
      search.isAtDamage = !isHeader;
      search.stage = 'done';
      return;
    }
    pass(search, view, at);
  }
}

/** Whether damage that is known, and ends below the cut, begins where the walk stands. */
function holds(range: Log['damaged'][number], segment: Segment, search: Search): boolean {
  const isHere = range.segment === segment.base && range.position <= search.position;
  return isHere && search.position < range.positionEnd && range.end <= search.offset;
}

/** The batch at `at` stays. */
function pass(search: Search, view: DataView, at: number): void {
  const timestampMs = batch.maxTimestamp(view, at);
  const sizeBytes = batch.batchSizeBytes(view, at);
  search.key = -1;
  search.expected = batch.nextOffset(view, at);
  search.position += sizeBytes;
  search.sinceIndexBytes += sizeBytes;
  if (timestampMs > search.maxTimestampMs) {
    search.maxTimestampMs = timestampMs;
    search.maxTimestampOffset = search.expected - 1;
  }
}

/** The index does not fit its log: it is given up until the next start, and the walk begins at the head. */
function distrust(log: Log, env: Env, search: Search, out: Outbox): void {
  env.reached('log.index.distrusted');
  breakIndex(log, search.segment, out);
  Object.assign(search, { ...freshSearch(log, search.offset), segment: search.segment, stage: 'data' });
}
