/**
 * What a simulated disk holds of a log, read from its bytes and not from what a node believes.
 *
 * Either as its node would read it now, or *for sure*: what every power loss leaves, the durable bytes of files whose
 * names are durable. Each file is looked through once; a cut, or a crash, makes it be looked through again. So is each
 * folder, until a name in it changes: a log of many segments is asked after with every step. Reads disks, and changes
 * nothing.
 */
import {
  fileText,
  LOG_STARTS,
  PARTITION_METADATA,
  parseCheckpoint,
  parsePartitionMetadata,
} from '../../core/broker/checkpoints/files.ts';
import { LOG_SUFFIX, offsetOf } from '../../core/log/names.ts';
import * as batch from '../../core/protocol/batch.ts';
import { checkpointOf, QUORUM_STATE_NAME } from '../../core/raft/names.ts';
import { decodeQuorumState, type QuorumState } from '../../core/raft/quorum-state.ts';
import { type Content, type Inode, isDirty, readContent } from '../disk/content.ts';
import type { Disk } from '../disk/disk.ts';
import { type Entry, type Folder, isFolder } from '../disk/tree.ts';

/** The whole batches of one file, as far as it was looked through: an entry in each column for every batch. */
interface Scan {
  readonly life: number;
  readonly cuts: number;
  /** Where the last of them ends. */
  sizeBytes: number;
  readonly ends: number[];
  readonly nextOffsets: number[];
  readonly epochs: number[];
}

/** A file of batches, and where they begin. */
interface SegmentFile {
  readonly base: number;
  readonly file: Inode;
}

/** The files of batches of one folder, as they were after so many changes of its names. */
interface Listing {
  readonly changes: number;
  readonly segments: readonly SegmentFile[];
}

/** What was looked through. */
export interface Scans {
  readonly files: Map<Inode, Scan>;
  /** By name of a file: where the segment begins whose batches it holds; -1 for any other. */
  readonly bases: Map<string, number>;
  /** What folders show, and what is durable of it. */
  readonly shown: Map<Folder, Listing>;
  readonly durable: Map<Folder, Listing>;
  /** The topic that a folder is of, as it was after so many changes of its names. */
  readonly topics: Map<Folder, { readonly changes: number; readonly id: string }>;
  /** By path: the names on the way. */
  readonly paths: Map<string, readonly string[]>;
}

/** Nothing was looked through. */
export function createScans(): Scans {
  return {
    files: new Map(),
    bases: new Map(),
    shown: new Map(),
    durable: new Map(),
    topics: new Map(),
    paths: new Map(),
  };
}

/** What there is of one log. */
export interface Held {
  /** Every record below it, from where the log begins; 0 for nothing. */
  readonly end: number;
  /** The leader epoch of the last batch; -1 for none. */
  readonly lastEpoch: number;
  /** That of the batch that holds the record below the offset that was asked for; -1 where there is none. */
  readonly epoch: number;
}

/** Whose disk, and what of it. */
export interface Place {
  readonly disk: Disk;
  /** Of the node: what a crash has done to its files must be looked at anew. */
  readonly life: number;
  readonly folder: string;
  readonly isForSure: boolean;
}

/** What a replica has of a log. `offset`: whose epoch is wanted; `begin`: below it nothing is missed. */
export function heldOf(scans: Scans, place: Place, offset: number, begin = -1): Held {
  let end = -1;
  let lastEpoch = -1;
  let epoch = -1;
  for (const { base, file } of segmentsIn(scans, place)) {
    // What lies behind a gap is given up when the log is opened, but for a gap in what was deleted.
    if (end >= 0 && base !== end && base > Math.max(begin, keptStart(scans, place))) break;
    end = base;
    const scan = scanOf(scans, file, place.life);
    const count = place.isForSure ? countBelow(scan.ends, file.durable.shared) : scan.ends.length;
    if (count === 0) continue;
    if (offset > base && epoch < 0) epoch = scan.epochs[countBelow(scan.nextOffsets, offset - 1)] ?? -1;
    end = scan.nextOffsets[count - 1] as number;
    lastEpoch = scan.epochs[count - 1] as number;
  }
  // A log that begins anew where its leader's does has no files, and is whole from there on.
  if (end < offset) end = Math.max(end, keptStart(scans, place));
  return { end: Math.max(0, end), lastEpoch, epoch: end < offset ? -1 : epoch };
}

/** The same of a topic's partition; null where the folder is one of another topic, that had or has the same name. */
export function heldOfTopic(scans: Scans, place: Place, topicId: string, offset: number): Held | null {
  const folder = folderOf(scans.paths, { ...place, isForSure: false });
  const id = folder === null ? null : topicIn(scans, folder);
  return id !== null && id !== topicId ? null : heldOf(scans, place, offset);
}

/** The topic of a partition's folder; null where that is not to be read. */
function topicIn({ topics }: Scans, folder: Folder): string | null {
  const known = topics.get(folder);
  if (known?.changes === folder.changes) return known.id;
  const file = folder.entries.get(PARTITION_METADATA);
  if (file === undefined || isFolder(file)) return null;
  const id = parsePartitionMetadata(fileText(readContent(file.content, 0, file.content.size)));
  if (id === 'malformed') return null;
  topics.set(folder, { changes: folder.changes, id });
  return id;
}

/** Where a log is said to begin, for all records below were deleted; -1 where that is not said. */
function keptStart({ paths }: Scans, { disk, folder, isForSure }: Place): number {
  const slash = folder.lastIndexOf('/');
  const file = namesOf(paths, { disk, life: 0, folder: folder.slice(0, slash), isForSure }).get(LOG_STARTS);
  if (file === undefined || isFolder(file)) return -1;
  const starts = parseCheckpoint(fileText(readContent(file.content, 0, file.content.size)));
  return starts === 'malformed' ? -1 : (starts.get(folder.slice(slash + 1)) ?? -1);
}

const NO_SEGMENTS: readonly SegmentFile[] = [];

/** The files of batches in a folder, in their order. */
function segmentsIn(scans: Scans, place: Place): readonly SegmentFile[] {
  const folder = folderOf(scans.paths, place);
  if (folder === null) return NO_SEGMENTS;
  const listings = place.isForSure ? scans.durable : scans.shown;
  const known = listings.get(folder);
  if (known?.changes === folder.changes) return known.segments;
  const segments = segmentsOf(scans, place.isForSure ? folder.durable : folder.entries);
  listings.set(folder, { changes: folder.changes, segments });
  return segments;
}

/** The same of names, which mostly are in their order. */
function segmentsOf({ bases }: Scans, names: ReadonlyMap<string, Entry>): readonly SegmentFile[] {
  const segments: SegmentFile[] = [];
  let last = -1;
  let isInOrder = true;
  for (const [name, file] of names) {
    const base = bases.get(name) ?? offsetOf(name, LOG_SUFFIX);
    bases.set(name, base);
    if (base < 0 || isFolder(file)) continue;
    segments.push({ base, file });
    isInOrder &&= base > last;
    last = base;
  }
  return isInOrder ? segments : segments.sort((a, b) => a.base - b.base);
}

/** What a member of the quorum has of the metadata log: a checkpoint stands for all that it holds. */
export function heldOfQuorum(scans: Scans, place: Place, offset: number): Held {
  let newest: Held = { end: -1, lastEpoch: -1, epoch: -1 };
  for (const [name, file] of namesOf(scans.paths, place)) {
    const id = checkpointOf(name);
    if (id === null || isFolder(file) || (place.isForSure && isDirty(file)) || id.endOffset <= newest.end) continue;
    newest = { end: id.endOffset, lastEpoch: id.epoch, epoch: id.endOffset === offset ? id.epoch : -1 };
  }
  // Segments below a checkpoint are removed one by one.
  const held = heldOf(scans, place, offset, newest.end);
  return newest.end > held.end ? newest : held;
}

/** What a disk says of a voter for sure; null where nothing can be read. `folder` is the metadata log's. */
export function keptVote(disk: Disk, folder: string): QuorumState | null {
  const file = namesOf(new Map(), { disk, life: 0, folder, isForSure: true }).get(QUORUM_STATE_NAME);
  if (file === undefined || isFolder(file)) return null;
  const state = decodeQuorumState(readContent(file.content, 0, file.content.size));
  return typeof state === 'string' ? null : state;
}

const NOTHING: ReadonlyMap<string, Entry> = new Map();

function namesOf(paths: Scans['paths'], place: Place): ReadonlyMap<string, Entry> {
  const folder = folderOf(paths, place);
  if (folder === null) return NOTHING;
  return place.isForSure ? folder.durable : folder.entries;
}

function folderOf(paths: Scans['paths'], { disk, folder, isForSure }: Place): Folder | null {
  let names = paths.get(folder);
  if (names === undefined) {
    names = folder.split('/').filter((name) => name !== '');
    paths.set(folder, names);
  }
  let found: Folder = disk.tree.root;
  for (const name of names) {
    const next: Entry | undefined = (isForSure ? found.durable : found.entries).get(name);
    if (next === undefined || !isFolder(next)) return null;
    found = next;
  }
  return found;
}

/** How many of ascending numbers are at most `limit`. */
function countBelow(numbers: readonly number[], limit: number): number {
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((numbers[middle] as number) <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

function scanOf(scans: Scans, file: Inode, life: number): Scan {
  const known = scans.files.get(file);
  const isCurrent = known?.life === life && known.cuts === file.cuts.length;
  const scan = isCurrent
    ? known
    : { life, cuts: file.cuts.length, sizeBytes: 0, ends: [], nextOffsets: [], epochs: [] };
  if (!isCurrent) scans.files.set(file, scan);
  goOn(scan, file.content);
  return scan;
}

function goOn(scan: Scan, content: Content): void {
  while (scan.sizeBytes + batch.BATCH_HEADER_BYTES <= content.size) {
    const header = batch.dataViewOf(readContent(content, scan.sizeBytes, batch.BATCH_HEADER_BYTES));
    const end = scan.sizeBytes + batch.batchSizeBytes(header, 0);
    if (end < scan.sizeBytes + batch.BATCH_HEADER_BYTES || end > content.size) return;
    scan.sizeBytes = end;
    scan.ends.push(end);
    scan.nextOffsets.push(batch.nextOffset(header, 0));
    scan.epochs.push(batch.leaderEpoch(header, 0));
  }
}
