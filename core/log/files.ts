/**
 * The files of segments: opened when they are first needed, named durably, closed when they have come to rest.
 *
 * Appends follow an open in the same outbox, so nothing waits for 'opened'; what it says is checked against what the
 * log believes, because positions are counted from there. Everything asked is in `log.asks` until it is answered.
 */
import { nextFile, nextTicket } from '../lib/ids.ts';
import type { DiskEffect, Outbox } from '../lib/world.ts';
import { encodeOffsets, encodeTimes, INDEX_ENTRY_BYTES, TAIL_ENTRIES_MAX, TIME_ENTRY_BYTES } from './index.ts';
import { INDEX_SUFFIX, LOG_SUFFIX, pathOf, TIME_INDEX_SUFFIX } from './names.ts';
import type { Ask, FileRole, Log, Segment } from './state.ts';

/** Notes what is asked and returns the ticket for it. */
export function ask(log: Log, what: Ask): number {
  const ticket = nextTicket(log.ids);
  log.asks ??= new Map();
  log.asks.set(ticket, what);
  return ticket;
}

/** Takes the note of what was asked under `ticket`. */
export function takeAsk(log: Log, ticket: number): Ask | undefined {
  const what = log.asks?.get(ticket);
  if (what !== undefined) log.asks?.delete(ticket);
  return what;
}

/** The path of one of a segment's files. */
export function segmentPath(log: Log, segment: Segment, role: FileRole): string {
  const suffix = role === 'log' ? LOG_SUFFIX : role === 'index' ? INDEX_SUFFIX : TIME_INDEX_SUFFIX;
  return pathOf(log.folder, segment.base, suffix);
}

/** An effect of which only a failing device matters. */
export function pushTidy(log: Log, out: Outbox, effect: TidyEffect): void {
  if (effect.kind === 'remove') log.removesLeft++;
  const ticket = ask(log, { kind: effect.kind === 'remove' ? 'remove' : 'tidy' });
  out.push({ ...effect, owner: log.owner, ticket } as DiskEffect);
}

/** The effects that `pushTidy` takes. */
export type TidyEffect =
  | { readonly kind: 'closeFile'; readonly file: number }
  | { readonly kind: 'remove'; readonly path: string }
  | { readonly kind: 'truncate'; readonly file: number; readonly size: number };

/** Opens the files of the active segment for appending, unless they are open. */
export function openForAppend(log: Log, segment: Segment, out: Outbox): void {
  if (segment.logFile === 0) segment.logFile = openRole(log, segment, 'log', segment.sizeBytes, out);
  if (!segment.isIndexBroken) {
    const indexBytes = segment.indexCount * INDEX_ENTRY_BYTES;
    const timeBytes = segment.timeCount * TIME_ENTRY_BYTES;
    if (segment.indexFile === 0) segment.indexFile = openRole(log, segment, 'index', indexBytes, out);
    if (segment.timeFile === 0) segment.timeFile = openRole(log, segment, 'time', timeBytes, out);
  }
  if (!segment.isOnDisk) {
    segment.isOnDisk = true;
    unname(log, segment);
  }
}

function openRole(log: Log, segment: Segment, role: FileRole, sizeBytes: number, out: Outbox): number {
  const file = nextFile(log.ids);
  const ticket = ask(log, { kind: 'open', segment, role, file, sizeBytes });
  segment.opensLeft++;
  const path = segmentPath(log, segment, role);
  out.push({ kind: 'open', file, path, create: true, owner: log.owner, ticket });
  return file;
}

/**
 * The names of the folder have changed: the segment's records count as durable only after they are durable. An earlier
 * request does not vouch for the change.
 */
export function unname(log: Log, segment: Segment): void {
  segment.isNamed = false;
  unsettle(log, segment);
  for (const [ticket, what] of log.asks ?? []) {
    if (what.kind === 'names' && what.segment === segment) log.asks?.delete(ticket);
  }
}

/** Asks for the names to be made durable, once the files are open and removed: neither is ordered with it. */
export function nameDurably(log: Log, segment: Segment, out: Outbox): void {
  if (segment.isNamed || segment.opensLeft > 0 || log.removesLeft > 0 || !segment.isOnDisk) return;
  for (const what of log.asks?.values() ?? []) if (what.kind === 'names' && what.segment === segment) return;
  const ticket = ask(log, { kind: 'names', segment, file: segment.logFile });
  out.push({ kind: 'syncFolder', path: log.folder, owner: log.owner, ticket });
}

/** Notes that something of `segment` is not durable yet. */
export function unsettle(log: Log, segment: Segment): void {
  log.unsettled ??= [];
  const list = log.unsettled;
  if (list[list.length - 1] === segment || list.includes(segment)) return;
  list.push(segment);
  if (list.length > 1) list.sort((a, b) => a.base - b.base);
}

/** Appends the collected index entries to their files, if there are enough of them or `isAll`. */
export function flushIndexes(log: Log, segment: Segment, isAll: boolean, out: Outbox): void {
  const tail = segment.tail;
  if (tail === null || segment.isIndexBroken) return;
  if (tail.offsets.length >= TAIL_ENTRIES_MAX * 2 || (isAll && tail.offsets.length > 0)) {
    pushIndexAppend(log, segment, 'index', encodeOffsets(segment.base, tail.offsets), out);
    segment.indexCount += tail.offsets.length / 2;
    tail.offsets.length = 0;
  }
  if (tail.times.length >= TAIL_ENTRIES_MAX * 2 || (isAll && tail.times.length > 0)) {
    pushIndexAppend(log, segment, 'time', encodeTimes(segment.base, tail.times), out);
    segment.timeCount += tail.times.length / 2;
    tail.times.length = 0;
  }
  if (isAll) segment.tail = null;
}

function pushIndexAppend(log: Log, segment: Segment, role: 'index' | 'time', bytes: Uint8Array, out: Outbox): void {
  const ticket = ask(log, { kind: 'indexAppend', segment, role });
  const file = role === 'index' ? segment.indexFile : segment.timeFile;
  out.push({ kind: 'append', file, parts: [bytes], owner: log.owner, ticket });
}

/** Closes whatever is open of a segment. */
export function closeFiles(log: Log, segment: Segment, out: Outbox): void {
  for (const file of [segment.logFile, segment.indexFile, segment.timeFile]) {
    if (file !== 0) pushTidy(log, out, { kind: 'closeFile', file });
  }
  segment.logFile = 0;
  segment.indexFile = 0;
  segment.timeFile = 0;
  segment.isSyncing = false;
}

/**
 * Closes and removes the files of a segment that is no longer part of the log. An open that is under way might make a
 * file after its removal, so the removal waits for it.
 */
export function removeSegment(log: Log, segment: Segment, out: Outbox): void {
  segment.isGone = true;
  closeFiles(log, segment, out);
  if (segment.opensLeft > 0) log.removesLeft++;
  else removeFiles(log, segment, out);
}

/** The opens of a segment that is gone are answered: its files can be removed. */
export function removeOpened(log: Log, segment: Segment, out: Outbox): void {
  log.removesLeft--;
  removeFiles(log, segment, out);
}

function removeFiles(log: Log, segment: Segment, out: Outbox): void {
  for (const role of ['log', 'index', 'time'] as const) {
    pushTidy(log, out, { kind: 'remove', path: segmentPath(log, segment, role) });
  }
}

/** The index cannot be written whole: stops writing it and closes its files. Readers scan from what is there. */
export function breakIndex(log: Log, segment: Segment, out: Outbox): void {
  if (segment.isIndexBroken) return;
  segment.isIndexBroken = true;
  segment.tail = null;
  segment.indexSyncsLeft = 0;
  for (const file of [segment.indexFile, segment.timeFile]) {
    if (file !== 0) pushTidy(log, out, { kind: 'closeFile', file });
  }
  segment.indexFile = 0;
  segment.timeFile = 0;
  for (const role of ['index', 'time'] as const) {
    pushTidy(log, out, { kind: 'remove', path: segmentPath(log, segment, role) });
  }
  segment.indexCount = 0;
  segment.timeCount = 0;
}
