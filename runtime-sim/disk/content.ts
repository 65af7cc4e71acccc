/**
 * The bytes of one simulated file: a list of immutable chunks, shared with whoever wrote them, and what of it would
 * survive a power loss.
 *
 * Cost: an append is a push, whatever the file's size; a read inside one chunk is a view of it.
 *
 * Durability is held as *views*. A view says: the first `shared` bytes are those that the file holds now, and then
 * comes `tail`, bytes that a truncate has since cut off. A cut moves bytes into the tails of the file's views, so that
 * what a finished sync promised stays described although the file went on. Invariants: `starts[i]` is the position of
 * `chunks[i]`, no chunk is empty, `shared` is at most the file's size.
 */
import { joinParts } from '../../core/lib/bytes.ts';

/** What a file holds, as readers see it. */
export interface Content {
  readonly chunks: Uint8Array[];
  readonly starts: number[];
  size: number;
}

/** A state that a file had: its first `shared` bytes as they are, then `tail`. */
export interface View {
  /** Grows with every sync that was begun on the disk. */
  readonly sync: number;
  shared: number;
  tail: Uint8Array[];
  tailBytes: number;
}

/** One file. Chunks are never changed, only replaced. */
export interface Inode {
  readonly inode: number;
  readonly content: Content;
  /** What survives a power loss for sure. */
  durable: View;
  /** What syncs of a disk that lies have claimed to be durable, while it is not; null for nothing. */
  promised: View | null;
  /** Views that syncs under way will make durable. */
  readonly syncing: Set<View>;
  /** The sizes it was cut to, in order: a read remembers how many there were. */
  readonly cuts: number[];
  /** A sync of it has failed: what was to be written is forgotten, and no later sync brings it back. */
  isForsaken: boolean;
}

/** An empty file. */
export function createInode(inode: number): Inode {
  return {
    inode,
    content: { chunks: [], starts: [], size: 0 },
    durable: { sync: 0, shared: 0, tail: [], tailBytes: 0 },
    promised: null,
    syncing: new Set(),
    cuts: [],
    isForsaken: false,
  };
}

/** Puts the parts at the end. */
export function appendParts(content: Content, parts: readonly Uint8Array[]): void {
  for (const part of parts) {
    if (part.length === 0) continue;
    content.chunks.push(part);
    content.starts.push(content.size);
    content.size += part.length;
  }
}

/** Cuts the file; every view of it keeps what it described. */
export function cutInode(file: Inode, size: number): void {
  file.cuts.push(size);
  if (size >= file.content.size) return;
  keepTail(file.content, file.durable, size);
  if (file.promised !== null) keepTail(file.content, file.promised, size);
  for (const view of file.syncing) keepTail(file.content, view, size);
  cutContent(file.content, size);
}

function keepTail(content: Content, view: View, size: number): void {
  if (view.shared <= size) return;
  view.tail = [...partsBetween(content, size, view.shared), ...view.tail];
  view.tailBytes += view.shared - size;
  view.shared = size;
}

/** Cuts the content alone. */
export function cutContent(content: Content, size: number): void {
  const { chunks, starts } = content;
  while (chunks.length > 0 && (starts[starts.length - 1] as number) >= size) {
    chunks.pop();
    starts.pop();
  }
  const last = chunks.length - 1;
  if (last >= 0) {
    const keep = size - (starts[last] as number);
    const chunk = chunks[last] as Uint8Array;
    if (keep < chunk.length) chunks[last] = chunk.subarray(0, keep);
  }
  content.size = size;
}

/** The index of the chunk that holds `position`; the content is not empty. */
export function chunkAt(content: Content, position: number): number {
  const { starts } = content;
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((starts[middle] as number) <= position) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Views of the bytes from `start` to `end`, both inside the content. */
export function partsBetween(content: Content, start: number, end: number): Uint8Array[] {
  const parts: Uint8Array[] = [];
  if (start >= end) return parts;
  for (let i = chunkAt(content, start), at = start; at < end; i++) {
    const chunk = content.chunks[i] as Uint8Array;
    const from = at - (content.starts[i] as number);
    const part = chunk.subarray(from, Math.min(chunk.length, from + end - at));
    parts.push(part);
    at += part.length;
  }
  return parts;
}

/** At most `length` bytes from `position`, fewer where the content ends. */
export function readContent(content: Content, position: number, length: number): Uint8Array {
  const end = Math.min(content.size, position + length);
  return position >= end ? new Uint8Array(0) : joinParts(partsBetween(content, position, end));
}

/** All that the file holds now, as the sync of this number will have made durable. */
export function viewNow(file: Inode, sync: number): View {
  return { sync, shared: file.content.size, tail: [], tailBytes: 0 };
}

/**
 * A sync is done: its view is durable, unless a younger one has been faster. After one that failed the kernel takes for
 * clean what it could not write: later ones succeed, and vouch for nothing.
 */
export function finishView(file: Inode, view: View): void {
  file.syncing.delete(view);
  if (view.sync <= file.durable.sync || file.isForsaken) return;
  file.durable = view;
  if (file.promised !== null && file.promised.sync < view.sync) file.promised = null;
}

/** A sync is said to be done, and nothing of it is. */
export function promiseView(file: Inode, view: View): void {
  file.syncing.delete(view);
  if (view.sync > Math.max(file.durable.sync, file.promised?.sync ?? 0) && !file.isForsaken) file.promised = view;
}

/** A sync of this view has failed. */
export function forsakeView(file: Inode, view: View): void {
  file.syncing.delete(view);
  file.isForsaken = true;
}

/** Whether a power loss could change the file. */
export function isDirty(file: Inode): boolean {
  return file.durable.shared !== file.content.size || file.durable.tailBytes > 0;
}

/** Says that all that the file holds is durable. */
export function settle(file: Inode): void {
  file.durable = viewNow(file, file.durable.sync);
  file.promised = null;
  file.syncing.clear();
  file.isForsaken = false;
}

/** Replaces everything, durable and not; for what a power loss left. */
export function setContent(file: Inode, parts: readonly Uint8Array[]): void {
  cutContent(file.content, 0);
  appendParts(file.content, parts);
  settle(file);
}

/** The bytes that a view describes. */
export function bytesOfView(file: Inode, { shared, tail }: View): Uint8Array {
  return joinParts([...partsBetween(file.content, 0, shared), ...tail]);
}

/**
 * Puts other bytes in the place of those from `position` on, all inside the content; shared chunks stay as they are.
 */
export function overwrite(content: Content, position: number, bytes: Uint8Array): void {
  const end = position + bytes.length;
  if (position >= end) return;
  for (let i = chunkAt(content, position); i < content.chunks.length; i++) {
    const start = content.starts[i] as number;
    if (start >= end) return;
    const copy = (content.chunks[i] as Uint8Array).slice();
    const from = Math.max(position, start);
    copy.set(bytes.subarray(from - position, Math.min(end, start + copy.length) - position), from - start);
    content.chunks[i] = copy;
  }
}

/** Flips one bit of one byte, in a copy of the chunk that holds it: whoever shares the chunk keeps the true one. */
export function flipBit(content: Content, position: number, bit: number): void {
  const index = chunkAt(content, position);
  const copy = (content.chunks[index] as Uint8Array).slice();
  const at = position - (content.starts[index] as number);
  copy[at] = (copy[at] as number) ^ (1 << bit);
  content.chunks[index] = copy;
}
