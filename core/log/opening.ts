/**
 * Opening a log: what lies in its folder is listed, judged, and brought back into service.
 *
 * After a clean stop nothing is scanned but the tail of the last segment, from its last index entry on; where that
 * shows that the stop could not write everything, the log is opened as after a crash. After a crash everything from the
 * recovery point's segment on is scanned (`recovery.ts`), and whatever was found is synced, with the folder and its
 * name in the parent, before the log says 'opened': the cache of a crashed process is not the disk. Every step can be
 * repeated: a crash in the middle leaves files from which the same state is found again.
 */
import type { DiskEffect, DiskInput, Env, FolderEntry, Outbox } from '../lib/world.ts';
import { type Hunt, sayFound } from './damage.ts';
import { decodeEpochs, type EpochEntry } from './epochs.ts';
import { ask, pushTidy } from './files.ts';
import { INDEX_ENTRY_BYTES, TIME_ENTRY_BYTES } from './index.ts';
import * as names from './names.ts';
import { finishOpening, syncFound } from './opened.ts';
import { beginScan } from './probe.ts';
import type { Producer } from './producers.ts';
import { takeScan } from './recovery.ts';
import { decodeSnapshot } from './snapshot.ts';
import { createSegment, type Log, type Segment, TIMESTAMP_UNKNOWN } from './state.ts';
import type { LogEvent, LogFound } from './types.ts';

/** Where an opening stands; plain data. */
export interface Opening {
  readonly found: LogFound;
  /** Whether the last stop is still believed to have been clean. */
  isClean: boolean;
  phase: 'list' | 'folder' | 'tidy' | 'epochs' | 'snapshot' | 'scan' | 'quiet' | 'sync';
  /** Answers that the phase waits for. */
  pending: number;
  /** Offsets of the snapshot files, ascending. */
  snapshots: number[];
  hasEpochs: boolean;
  /** leader-epoch-checkpoint as it was found; null when it is missing or broken. */
  fileEpochs: readonly EpochEntry[] | null;
  /** Producer state as of `replayFrom`; batches from there on are replayed. */
  replayFrom: number;
  producers: Map<number, Producer>;
  /** A bad batch below it is damage, one above it is a torn tail. */
  protect: number;
  /** Segments that are scanned, in order, and which is being scanned. */
  scans: SegmentScan[];
  scanAt: number;
  /** Names in the folder have changed, or may not be durable yet. */
  isFolderTouched: boolean;
}

/** One segment's scan. */
export interface SegmentScan {
  readonly segment: Segment;
  /** The index files are made anew. */
  readonly isRebuilt: boolean;
  /** The file is synced afterwards: it was not known to be. */
  readonly isSynced: boolean;
  /** Only the index is made anew: neither producers nor the tail matter. */
  readonly isOnlyIndex: boolean;
  /** What the next answer is. */
  stage: 'index' | 'time' | 'first' | 'data' | 'hunt';
  position: number;
  /** Bytes asked for. */
  length: number;
  /** Offset of the next batch; -1 when the scan starts in the middle and takes what it finds. */
  expected: number;
  epochMin: number;
  /** The last batch whose leader epoch was larger than the one before. */
  raise: { offset: number; next: number; position: number; before: number } | null;
  /** While hunting behind damage: see `damage.ts`. */
  hunt: Hunt | null;
}

/** Opens the log: events 'opened' or 'failed' follow. Creates the folder if it is missing. */
export function openLog(log: Log, _env: Env, found: LogFound, out: Outbox): void {
  log.state = 'opening';
  log.segments = [];
  // With flush off, what readers were shown was not synced: a power loss may have taken it, and that is no damage.
  const isSynced = log.config.flushMessages <= 1;
  log.opening = {
    found,
    isClean: found.clean,
    phase: 'list',
    pending: 0,
    snapshots: [],
    hasEpochs: false,
    fileEpochs: null,
    replayFrom: 0,
    producers: new Map(),
    protect: isSynced ? Math.max(found.recoveryPoint, found.highWatermark) : found.recoveryPoint,
    scans: [],
    scanAt: 0,
    isFolderTouched: false,
  };
  pushOpening(log, out, { kind: 'list', path: log.folder });
}

/** An effect without who asked. */
type Unasked<E> = E extends unknown ? Omit<E, 'owner' | 'ticket'> : never;

/** Asks for something that the opening waits for. */
export function pushOpening(log: Log, out: Outbox, effect: Unasked<DiskEffect>): void {
  if (log.opening !== null) log.opening.pending++;
  const ticket = ask(log, { kind: 'opening' });
  out.push({ ...effect, owner: log.owner, ticket } as DiskEffect);
}

/** An answer that the opening waited for. */
export function takeOpening(log: Log, env: Env, input: DiskInput, out: Outbox, events: LogEvent[]): void {
  const opening = log.opening;
  if (opening === null) return;
  opening.pending--;
  switch (opening.phase) {
    case 'list':
      if (input.kind === 'listed') classify(log, env, opening, input.entries, out);
      else makeFolder(log, opening, out);
      break;
    case 'folder':
      if (opening.pending === 0) finishOpening(log, env, opening, out, events);
      break;
    case 'epochs':
      if (opening.pending > 0) return;
      opening.fileEpochs = input.kind === 'loaded' ? decodeEpochs(input.bytes) : null;
      if (opening.fileEpochs === null) {
        sayFound(
          log,
          'warn',
          names.EPOCHS_NAME,
          'the leader epochs cannot be read: they are taken from the batches',
          out,
        );
      }
      loadSnapshot(log, env, opening, out);
      break;
    case 'snapshot':
      takeSnapshot(log, env, opening, input, out);
      break;
    case 'scan':
      takeScan(log, env, opening, input, out);
      break;
    default:
      break;
  }
  finishIfDone(log, env, out, events);
}

function finishIfDone(log: Log, env: Env, out: Outbox, events: LogEvent[]): void {
  const opening = log.opening;
  if (opening?.phase === 'sync' && opening.pending === 0) finishOpening(log, env, opening, out, events);
}

function makeFolder(log: Log, opening: Opening, out: Outbox): void {
  opening.phase = 'folder';
  pushOpening(log, out, { kind: 'makeFolder', path: log.folder });
  pushOpening(log, out, { kind: 'syncFolder', path: names.parentOf(log.folder) });
  log.segments = [createSegment(opening.found.logStartOffset)];
}

/** Sorts what lies in the folder: segments, snapshots, leftovers. */
function classify(log: Log, env: Env, opening: Opening, entries: readonly FolderEntry[], out: Outbox): void {
  const sizes = new Map<string, number>();
  for (const entry of entries) if (!entry.isFolder) sizes.set(entry.name, entry.sizeBytes);
  finishSwaps(log, env, opening, sizes, out);
  for (const [name, sizeBytes] of sizes) {
    if (names.LEFTOVER_SUFFIXES.some((suffix) => name.endsWith(suffix))) {
      env.reached('log.recovery.leftover');
      removeFile(log, opening, name, out);
      continue;
    }
    const snapshot = names.offsetOf(name, names.SNAPSHOT_SUFFIX);
    if (snapshot >= 0) opening.snapshots.push(snapshot);
    const base = names.offsetOf(name, names.LOG_SUFFIX);
    if (base >= 0) log.segments.push(foundSegment(base, sizeBytes, sizes));
    removeOrphan(log, env, opening, name, sizes, out);
  }
  log.segments.sort((a, b) => a.base - b.base);
  opening.snapshots.sort((a, b) => a - b);
  log.sizeBytes = log.segments.reduce((sum, segment) => sum + segment.sizeBytes, 0);
  opening.hasEpochs = sizes.has(names.EPOCHS_NAME);
  opening.phase = 'tidy';
  if (log.removesLeft === 0) loadEpochs(log, env, opening, out);
}

/** Goes on once what was to be removed or renamed is: opens are not ordered with that. */
export function goOnOpening(log: Log, env: Env, out: Outbox, events: LogEvent[]): void {
  const opening = log.opening;
  if (opening?.phase === 'tidy') loadEpochs(log, env, opening, out);
  else if (opening?.phase === 'quiet') syncFound(log, env, opening, out);
  finishIfDone(log, env, out, events);
}

function loadEpochs(log: Log, env: Env, opening: Opening, out: Outbox): void {
  opening.phase = 'epochs';
  if (opening.hasEpochs) pushOpening(log, out, { kind: 'load', path: `${log.folder}/${names.EPOCHS_NAME}` });
  else loadSnapshot(log, env, opening, out);
}

function foundSegment(base: number, sizeBytes: number, sizes: ReadonlyMap<string, number>): Segment {
  const segment = createSegment(base);
  const indexBytes = sizes.get(names.nameOf(base, names.INDEX_SUFFIX)) ?? -1;
  const timeBytes = sizes.get(names.nameOf(base, names.TIME_INDEX_SUFFIX)) ?? -1;
  const isMissing = sizeBytes > 0 && (indexBytes < 0 || timeBytes < 0);
  const isOdd = indexBytes % INDEX_ENTRY_BYTES > 0 || timeBytes % TIME_ENTRY_BYTES > 0;
  segment.sizeBytes = sizeBytes;
  segment.isOnDisk = true;
  segment.isNamed = true;
  segment.isIndexBroken = isMissing || isOdd;
  segment.indexCount = indexBytes < 0 ? 0 : Math.floor(indexBytes / INDEX_ENTRY_BYTES);
  segment.timeCount = timeBytes < 0 ? 0 : Math.floor(timeBytes / TIME_ENTRY_BYTES);
  if (sizeBytes > 0) {
    segment.firstTimestampMs = TIMESTAMP_UNKNOWN;
    segment.maxTimestampMs = TIMESTAMP_UNKNOWN;
  }
  return segment;
}

/**
 * A '.swap' file was complete when it got its name. Where the original is gone already it takes its place; where it is
 * still there it is as good, and the swap is forgotten.
 */
function finishSwaps(log: Log, env: Env, opening: Opening, sizes: Map<string, number>, out: Outbox): void {
  for (const [name, sizeBytes] of [...sizes]) {
    if (!name.endsWith(names.SWAP_SUFFIX)) continue;
    env.reached('log.recovery.leftover');
    const target = name.slice(0, -names.SWAP_SUFFIX.length);
    sizes.delete(name);
    if (sizes.has(target)) {
      removeFile(log, opening, name, out);
      continue;
    }
    sizes.set(target, sizeBytes);
    opening.isFolderTouched = true;
    log.removesLeft++;
    const ticket = ask(log, { kind: 'remove' });
    const from = `${log.folder}/${name}`;
    out.push({ kind: 'rename', from, to: `${log.folder}/${target}`, owner: log.owner, ticket });
  }
}

/** An index without a log is of no use. */
function removeOrphan(
  log: Log,
  env: Env,
  opening: Opening,
  name: string,
  sizes: ReadonlyMap<string, number>,
  out: Outbox,
): void {
  for (const suffix of [names.INDEX_SUFFIX, names.TIME_INDEX_SUFFIX, names.TXN_INDEX_SUFFIX]) {
    const base = names.offsetOf(name, suffix);
    if (base < 0 || sizes.has(names.nameOf(base, names.LOG_SUFFIX))) continue;
    env.reached('log.recovery.orphan');
    sayFound(log, opening.isClean ? 'warn' : 'info', name, 'an index without its log is removed', out);
    removeFile(log, opening, name, out);
  }
}

function removeFile(log: Log, opening: Opening, name: string, out: Outbox): void {
  opening.isFolderTouched = true;
  pushTidy(log, out, { kind: 'remove', path: `${log.folder}/${name}` });
}

/** The newest snapshot that the scan may start from is loaded; without one, everything is replayed. */
function loadSnapshot(log: Log, env: Env, opening: Opening, out: Outbox): void {
  const first = log.segments[0];
  const isLost = opening.fileEpochs === null && first !== undefined && first.sizeBytes > 0;
  const limit = opening.isClean ? Infinity : opening.found.recoveryPoint;
  opening.phase = 'snapshot';
  // Behind the recovery point a snapshot may speak of batches that are no longer there.
  for (const offset of opening.snapshots.filter((other) => other > limit)) removeSnapshot(log, opening, offset, out);
  opening.snapshots = opening.snapshots.filter((offset) => offset <= limit);
  const newest = opening.snapshots[opening.snapshots.length - 1];
  if (newest === undefined) {
    opening.replayFrom = 0;
    beginScan(log, env, opening, isLost, out);
    return;
  }
  pushOpening(log, out, { kind: 'load', path: names.pathOf(log.folder, newest, names.SNAPSHOT_SUFFIX) });
}

function removeSnapshot(log: Log, opening: Opening, offset: number, out: Outbox): void {
  removeFile(log, opening, names.nameOf(offset, names.SNAPSHOT_SUFFIX), out);
}

function takeSnapshot(log: Log, env: Env, opening: Opening, input: DiskInput, out: Outbox): void {
  const newest = opening.snapshots[opening.snapshots.length - 1] as number;
  const producers = input.kind === 'loaded' ? decodeSnapshot(input.bytes, env.crc32c, env.nowMs) : null;
  if (producers === null) {
    env.reached('log.recovery.bad_snapshot');
    const text = 'a snapshot of producers cannot be read and is removed: an older one and the batches take its place';
    sayFound(log, 'warn', names.nameOf(newest, names.SNAPSHOT_SUFFIX), text, out);
    removeSnapshot(log, opening, newest, out);
    opening.snapshots.pop();
    loadSnapshot(log, env, opening, out);
    return;
  }
  opening.producers = producers;
  opening.replayFrom = newest;
  const first = log.segments[0];
  beginScan(log, env, opening, opening.fileEpochs === null && first !== undefined && first.sizeBytes > 0, out);
}

/** What was taken for a clean stop was none: starts over as after a crash. */
export function distrust(log: Log, env: Env, opening: Opening, out: Outbox): void {
  env.reached('log.recovery.dirty_clean');
  opening.isClean = false;
  opening.scans = [];
  opening.scanAt = 0;
  opening.producers = new Map();
  log.damaged = [];
  for (const segment of log.segments) segment.tail = null;
  loadSnapshot(log, env, opening, out);
}
