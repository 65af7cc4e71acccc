/**
 * What one partition's log remembers. Plain data: numbers, arrays, Maps and views; no functions.
 *
 * Invariants, always:
 * - start <= durable <= written <= end, where `written` is where the answered appends end.
 * - `segments` ascends by base, and the last one is the active one. It is empty only while the log holds nothing and
 *   has no files: then `activeSegment` makes it when it is needed.
 * - `unsettled` holds segments in their order; whatever is not in it is synced, named and indexed.
 * - `writes` holds exactly the appends that the disk has not answered, oldest first. A crash loses all of this;
 *   `recovery.ts` builds it again from the files.
 *
 * A log at rest must cost little, because a node may hold 100,000 of them: whatever only a busy log needs is null
 * until then, and files are opened by the first append or cold read.
 */
import type { Ids } from '../lib/ids.ts';
import type { FileId } from '../lib/world.ts';
import type { Ahead } from './ahead.ts';
import { createSharedEpochs, type EpochEntry, type SharedEpochs } from './epochs.ts';
import type { Opening } from './opening.ts';
import type { Producer } from './producers.ts';
import type { ReadJob } from './read.ts';
import type { Ring } from './ring.ts';
import type { Truncation } from './truncate.ts';
import type { LogConfig } from './types.ts';

/** Offsets whose bytes are bad or gone: a fetch there is answered by CORRUPT_MESSAGE. */
export interface DamagedRange {
  /** The first offset that is lost. */
  readonly start: number;
  /** The first offset after it that is served again. */
  readonly end: number;
  /** Base of the segment where the damage lies. */
  readonly segment: number;
  /** Where the bad bytes begin in that segment's file. */
  readonly position: number;
  /** Where the next sound batch begins in that file, or its size. */
  readonly positionEnd: number;
}

/** Numbers of `maxTimestampMs` and `firstTimestampMs` of a segment that was not looked at since the start. */
export const TIMESTAMP_UNKNOWN = -2;

/** Index entries that are not yet in the index file, as pairs in one array: offset, position or timestamp, offset. */
export interface IndexTail {
  readonly offsets: number[];
  readonly times: number[];
}

/** One segment: a log file and its two indexes. */
export interface Segment {
  /** Offset of the first record, and the name of the files. */
  readonly base: number;
  /** Bytes of the log file, appends under way included. */
  sizeBytes: number;
  /** Largest timestamp of the first batch, ms; -1 for none, or TIMESTAMP_UNKNOWN. */
  firstTimestampMs: number;
  /** Largest timestamp, ms; -1 for none, or TIMESTAMP_UNKNOWN. */
  maxTimestampMs: number;
  /** Last offset of the batch that has it. */
  maxTimestampOffset: number;
  /** Bytes of log since the last index entry. */
  sinceIndexBytes: number;
  /** 0 when the file is not open. */
  logFile: FileId;
  indexFile: FileId;
  timeFile: FileId;
  /** Entries in the index file, appends under way included. */
  indexCount: number;
  timeCount: number;
  /** Timestamp of the last time index entry, -1 for none. */
  lastTimeMs: number;
  tail: IndexTail | null;
  /** The index could not be written whole: it is removed at the end, and rebuilt at the next start. */
  isIndexBroken: boolean;
  /** The log file exists. */
  isOnDisk: boolean;
  /** The names of its files survive a power loss. */
  isNamed: boolean;
  /** Every record below it is synced; within [base, end of the segment]. */
  syncedUpTo: number;
  /** A sync of the log file is under way. */
  isSyncing: boolean;
  /** Where its records end once a successor exists and nothing is appended any more; -1 before that. */
  sealedAt: number;
  /** Syncs of index files that are under way or still to come, after sealing. */
  indexSyncsLeft: number;
  /** Opens under way: reads wait for them, since reads are not ordered with other effects. */
  opensLeft: number;
  /** Cut away: answers for its files mean nothing. */
  isGone: boolean;
}

/** What was known of a producer before a batch of its was appended; null for nothing. */
export interface ProducerUndo {
  readonly producerId: number;
  readonly before: Producer | null;
}

/** An append that the disk has not answered, and what it takes to undo it. */
export interface Write {
  readonly kind: 'append';
  readonly ticket: number;
  readonly segment: Segment;
  /** Where the batch begins in the file. */
  readonly position: number;
  readonly base: number;
  next: number;
  isDone: boolean;
  /** Of a leader's append, and -1 where its batch has no producer. */
  producerId: number;
  baseSequence: number;
  producerEpoch: number;
  producerBefore: Producer | null;
  /** Of several batches, in their order: what was known of the producer of each. Null for a leader's append. */
  readonly producersBefore: readonly ProducerUndo[] | null;
  readonly firstTimestampBefore: number;
  readonly maxTimestampBefore: number;
  readonly maxTimestampOffsetBefore: number;
  readonly sinceIndexBefore: number;
  /** Index entries before this batch, in the file and in the tail. */
  readonly indexCountBefore: number;
  readonly timeCountBefore: number;
  readonly lastTimeBefore: number;
}

/** Which of a segment's files. */
export type FileRole = 'log' | 'index' | 'time';

/** What was asked of the disk, by ticket. */
export type Ask =
  | Write
  | { readonly kind: 'sync'; readonly segment: Segment; readonly file: FileId; upTo: number }
  | { readonly kind: 'syncIndex'; readonly segment: Segment }
  /** Open for appending; `sizeBytes` is what the file must hold. */
  | {
      readonly kind: 'open';
      readonly segment: Segment;
      readonly role: FileRole;
      readonly file: FileId;
      readonly sizeBytes: number;
    }
  | { readonly kind: 'openCold'; readonly segment: Segment; readonly role: FileRole; readonly file: FileId }
  | { readonly kind: 'names'; readonly segment: Segment; readonly file: FileId }
  | { readonly kind: 'indexAppend'; readonly segment: Segment; readonly role: 'index' | 'time' }
  | { readonly kind: 'read'; readonly job: ReadJob }
  | { readonly kind: 'opening' }
  | { readonly kind: 'closing' }
  | { readonly kind: 'truncation'; readonly truncation: Truncation }
  | { readonly kind: 'epochs'; readonly epochs: readonly EpochEntry[] }
  | { readonly kind: 'snapshot'; readonly offset: number }
  | { readonly kind: 'remove' }
  /** Only 'io' matters. */
  | { readonly kind: 'tidy' };

/** Where a sequential cold reader goes on: offset `offset` begins at `position` of the segment with base `segment`. */
export interface Cursor {
  offset: number;
  segment: number;
  position: number;
}

/** One partition's log; plain data. Others read only the fields above the line. */
export interface Log {
  readonly owner: number;
  readonly ids: Ids;
  readonly topic: string;
  readonly partition: number;
  readonly folder: string;
  config: LogConfig;
  state: 'new' | 'opening' | 'open' | 'closing' | 'closed' | 'failed';
  /** The first offset that is kept. */
  start: number;
  /** The next offset to assign. */
  end: number;
  /** Every record below it is synced (with flush off: written). */
  durable: number;
  /** Bytes of all segments. */
  sizeBytes: number;
  /** Ascending, disjoint. */
  damaged: readonly DamagedRange[];
  // ----
  segments: Segment[];
  unsettled: Segment[] | null;
  writes: Write[];
  /** Ticket of what was asked -> what. Null when nothing is under way. */
  asks: Map<number, Ask> | null;
  readonly shared: SharedEpochs;
  epochs: readonly EpochEntry[];
  /** The epochs have changed since leader-epoch-checkpoint was last written. */
  areEpochsDirty: boolean;
  isWritingEpochs: boolean;
  /** The epochs that leader-epoch-checkpoint holds durably: the recovery point does not pass the first that differs. */
  epochsOnDisk: readonly EpochEntry[];
  producers: Map<number, Producer> | null;
  /** A snapshot of this offset with the state of today is on the disk; -1 for none. */
  snapshotAt: number;
  /** When expired producers are looked for next, `env.nowMs`. */
  expireAtMs: number;
  /** Removals under way: no file is made meanwhile, since they are not ordered with opens. */
  removesLeft: number;
  ring: Ring | null;
  cursors: Cursor[] | null;
  /** Oldest first; never empty. */
  aheads: readonly Ahead[] | null;
  jobs: ReadJob[] | null;
  opening: Opening | null;
  /** A cut that waits for the disk: see `truncate.ts`. */
  truncation: Truncation | null;
  /** Every record below it is to be synced without further ado. */
  syncTo: number;
  /** With `flush.messages` above 1: records since the last background sync was asked for. */
  unsyncedRecords: number;
  /** When the oldest unsynced record must be synced (flush.ms), `env.nowMs`; Infinity when none. */
  flushAtMs: number;
}

/** Options of a new log. */
export interface LogOptions {
  readonly owner: number;
  readonly ids: Ids;
  readonly topic: string;
  readonly partition: number;
  /** Absolute; its last piece is `<topic>-<partition>`. */
  readonly folder: string;
  readonly config: LogConfig;
  /** The same for all logs of a node that has many; without it the log shares with none. */
  readonly shared?: SharedEpochs;
}

/** Shared by all logs that have none. */
const NO_DAMAGE: readonly DamagedRange[] = [];
const NO_EPOCHS: readonly EpochEntry[] = [];
/** Never written to: who adds a segment makes a list first. */
const NO_SEGMENTS: Segment[] = [];

/** A log that has not been opened: nothing is asked of the world yet. */
export function createLog(options: LogOptions): Log {
  return {
    owner: options.owner,
    ids: options.ids,
    topic: options.topic,
    partition: options.partition,
    folder: options.folder,
    config: options.config,
    state: 'new',
    start: 0,
    end: 0,
    durable: 0,
    sizeBytes: 0,
    damaged: NO_DAMAGE,
    segments: NO_SEGMENTS,
    unsettled: null,
    writes: [],
    asks: null,
    shared: options.shared ?? createSharedEpochs(),
    epochs: NO_EPOCHS,
    areEpochsDirty: false,
    isWritingEpochs: false,
    epochsOnDisk: NO_EPOCHS,
    producers: null,
    snapshotAt: -1,
    expireAtMs: Infinity,
    removesLeft: 0,
    ring: null,
    cursors: null,
    aheads: null,
    jobs: null,
    opening: null,
    truncation: null,
    syncTo: 0,
    unsyncedRecords: 0,
    flushAtMs: Infinity,
  };
}

/** A segment that holds nothing yet and has no files. */
export function createSegment(base: number): Segment {
  return {
    base,
    sizeBytes: 0,
    firstTimestampMs: -1,
    maxTimestampMs: -1,
    maxTimestampOffset: -1,
    sinceIndexBytes: 0,
    logFile: 0,
    indexFile: 0,
    timeFile: 0,
    indexCount: 0,
    timeCount: 0,
    lastTimeMs: -1,
    tail: null,
    isIndexBroken: false,
    isOnDisk: false,
    isNamed: false,
    syncedUpTo: base,
    isSyncing: false,
    sealedAt: -1,
    opensLeft: 0,
    indexSyncsLeft: 0,
    isGone: false,
  };
}

/** The segment that appends go to; that of a log without any is made now, at its end. */
export function activeSegment(log: Log): Segment {
  const last = log.segments[log.segments.length - 1];
  if (last !== undefined) return last;
  const first = createSegment(log.end);
  log.segments = [first];
  return first;
}

/** Lets go of the segment of a log that holds nothing and has no files. */
export function dropBlank(log: Log): void {
  const [only, other] = log.segments;
  const isBlank = only === undefined || (only.isOnDisk === false && only.base === log.end);
  if (other === undefined && isBlank) log.segments = NO_SEGMENTS;
}

/** Index in `log.segments` of the last segment whose base is at or below `offset`; -1 when there is none. */
export function segmentIndexFor(log: Log, offset: number): number {
  let low = 0;
  let high = log.segments.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((log.segments[middle] as Segment).base <= offset) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** Where the records of the segment at `index` end: the base of its successor, or the end of the log. */
export function segmentEnd(log: Log, index: number): number {
  const next = log.segments[index + 1];
  return next === undefined ? log.end : next.base;
}

/** The damaged range that holds `offset`, or the first one after it; null when there is none. */
export function damageFrom(log: Log, offset: number): DamagedRange | null {
  for (const range of log.damaged) if (range.end > offset) return range;
  return null;
}
