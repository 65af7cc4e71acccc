/**
 * The leader epochs of a log and where each starts (KIP-101), and their file `leader-epoch-checkpoint`.
 *
 * Entries ascend in epoch and in offset, strictly in both. The file is text: version 0, the number of entries, a line
 * "epoch offset" each. It is derived: a lost or broken file is built again from the batches that recovery scans.
 */
import { decodeUtf8, encodeUtf8 } from '../lib/utf8.ts';

/** One leader's reign. */
export interface EpochEntry {
  readonly epoch: number;
  /** Offset of the first record that it may have appended. */
  readonly startOffset: number;
}

/** No leader has this epoch or a larger one: the next would not fit into a batch. */
export const EPOCH_MAX = 0x7fffffff;

/** Lines that are read from a file at most; more is not a file of ours. */
const ENTRIES_MAX = 1_000_000;

/** What the logs of one node share, plain data: lists never change, so that many logs may have the same one. */
export interface SharedEpochs {
  /** The list of one entry that was made last. */
  single: readonly EpochEntry[];
}

/** Nothing is shared yet. */
export function createSharedEpochs(): SharedEpochs {
  return { single: [] };
}

/** The entries with `epoch` added from `startOffset` on; the same array when nothing changes. */
export function withEpoch(
  shared: SharedEpochs,
  entries: readonly EpochEntry[],
  epoch: number,
  startOffset: number,
): readonly EpochEntry[] {
  const last = entries[entries.length - 1];
  if (last !== undefined && last.epoch >= epoch) return entries;
  // An epoch under which nothing was appended leaves no trace.
  const kept = entries.filter((entry) => entry.startOffset < startOffset);
  if (kept.length > 0) return kept.concat({ epoch, startOffset });
  const known = shared.single[0];
  // One list serves all logs that begin an epoch with nothing in them; there may be 100,000.
  if (known?.epoch !== epoch || known.startOffset !== startOffset) shared.single = [{ epoch, startOffset }];
  return shared.single;
}

/** The entries of a log that was cut to end at `end`; the same array when nothing changes. */
export function cutEpochs(entries: readonly EpochEntry[], end: number): readonly EpochEntry[] {
  const last = entries[entries.length - 1];
  if (last === undefined || last.startOffset < end) return entries;
  return entries.filter((entry) => entry.startOffset < end);
}

/** The latest epoch, -1 when there is none. */
export function lastEpoch(entries: readonly EpochEntry[]): number {
  const last = entries[entries.length - 1];
  return last === undefined ? -1 : last.epoch;
}

/** The epoch under which `offset` was appended, -1 when unknown. */
export function epochAt(entries: readonly EpochEntry[], offset: number): number {
  for (let i = entries.length - 1; i >= 0; i--) {
    const entry = entries[i] as EpochEntry;
    if (entry.startOffset <= offset) return entry.epoch;
  }
  return -1;
}

/** The largest known epoch at or below `epoch` and where it ends in a log that ends at `end`; -1, -1 when unknown. */
export function endOfEpoch(
  entries: readonly EpochEntry[],
  epoch: number,
  end: number,
): { leaderEpoch: number; endOffset: number } {
  if (epoch === lastEpoch(entries) && epoch >= 0) return { leaderEpoch: epoch, endOffset: end };
  for (let i = entries.length - 2; i >= 0; i--) {
    const entry = entries[i] as EpochEntry;
    const next = entries[i + 1] as EpochEntry;
    if (entry.epoch <= epoch && epoch < next.epoch) return { leaderEpoch: entry.epoch, endOffset: next.startOffset };
  }
  // An epoch before all that are kept ends where the first of them starts; one after all of them is not known here.
  const first = entries[0];
  if (first !== undefined && epoch >= 0 && epoch < first.epoch) {
    return { leaderEpoch: epoch, endOffset: first.startOffset };
  }
  return { leaderEpoch: -1, endOffset: -1 };
}

/** The bytes of the file. */
export function encodeEpochs(entries: readonly EpochEntry[]): Uint8Array {
  let text = `0\n${entries.length}\n`;
  for (const entry of entries) text += `${entry.epoch} ${entry.startOffset}\n`;
  return encodeUtf8(text);
}

/** The entries of a file, or null if it is broken. */
export function decodeEpochs(bytes: Uint8Array): readonly EpochEntry[] | null {
  for (const byte of bytes) if (byte > 127) return null;
  const lines = decodeUtf8(bytes, 0, bytes.length).split('\n');
  const count = wholeNumber(lines[1] ?? '');
  if (lines[0] !== '0' || count < 0 || count > ENTRIES_MAX || lines.length < count + 2) return null;
  const entries: EpochEntry[] = [];
  for (let i = 0; i < count; i++) {
    const pieces = (lines[i + 2] as string).split(' ');
    const epoch = wholeNumber(pieces[0] ?? '');
    const startOffset = wholeNumber(pieces[1] ?? '');
    const last = entries[entries.length - 1];
    if (pieces.length !== 2 || epoch < 0 || epoch >= EPOCH_MAX || startOffset < 0) return null;
    if (last !== undefined && (last.epoch >= epoch || last.startOffset >= startOffset)) return null;
    entries.push({ epoch, startOffset });
  }
  return entries;
}

function wholeNumber(text: string): number {
  return /^\d{1,15}$/.test(text) ? Number(text) : -1;
}
