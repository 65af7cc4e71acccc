/**
 * Reading a snapshot's file piece by piece: each batch is judged, and the whole counts only if it begins with a header,
 * has no gap, and ends with a footer at the end of the file.
 *
 * State: where the next piece begins. The caller owns the file, asks for the reads and hands in the bytes.
 */
import { ProtocolError } from '../lib/protocol-error.ts';
import type { Env, FileId } from '../lib/world.ts';
import { sightBatch } from '../log/scan.ts';
import * as batch from '../protocol/batch.ts';
import { readControls } from './batches.ts';
import type { SnapshotId } from './names.ts';
import type { Voter } from './voters.ts';

/** Bytes that are read at a time, unless a batch is larger. */
export const CHECKPOINT_CHUNK_BYTES = 256 * 1024;
/** A batch of a snapshot is not believed to be larger than this. */
const BATCH_BYTES_MAX = 64 * 1024 * 1024;

/** One pass over a snapshot. */
export interface CheckpointReader {
  readonly id: SnapshotId;
  readonly file: FileId;
  /** -1 before the file is open. */
  sizeBytes: number;
  /** Of the next batch in the file. */
  position: number;
  /** Offset of the next batch's first record. */
  offset: number;
  /** How many bytes are to be read at `position`. */
  wantedBytes: number;
  /** What the first batch says; null before it was read. */
  head: CheckpointHead | null;
  isFooter: boolean;
}

/** What a snapshot says of itself. */
export interface CheckpointHead {
  /** Of the records in it, ms since 1970. */
  readonly lastTimestampMs: number;
  readonly kraftVersion: number;
  /** Null where the snapshot does not name them. */
  readonly voters: readonly Voter[] | null;
}

/** A pass that begins. */
export function createCheckpointReader(id: SnapshotId, file: FileId): CheckpointReader {
  return {
    id,
    file,
    sizeBytes: -1,
    position: 0,
    offset: 0,
    wantedBytes: CHECKPOINT_CHUNK_BYTES,
    head: null,
    isFooter: false,
  };
}

/** Whether all was read and the snapshot is whole. */
export function isWhole(reader: CheckpointReader): boolean {
  return reader.isFooter && reader.position === reader.sizeBytes;
}

/**
 * Takes the bytes at `reader.position`. The batches of records among them, without the control batches, or null if the
 * snapshot does not hold together.
 */
export function takeCheckpoint(reader: CheckpointReader, env: Env, bytes: Uint8Array): Uint8Array[] | null {
  const view = batch.dataViewOf(bytes);
  const batches: Uint8Array[] = [];
  let at = 0;
  while (reader.position + at < reader.sizeBytes) {
    const end = reader.sizeBytes - reader.position;
    const expected = { offset: reader.offset, offsetMax: Number.MAX_SAFE_INTEGER, epochMin: -1, end };
    const sight = reader.isFooter ? 'bad' : sightBatch(bytes, view, at, expected, env.crc32c);
    if (sight === 'bad') return null;
    if (sight === 'short') return at === 0 ? wantMore(reader, bytes, view) : goOn(reader, at, batches);
    const size = batch.batchSizeBytes(view, at);
    const one = bytes.subarray(at, at + size);
    const isControl = batch.isControl(view, at);
    if (isControl && !takeControls(reader, env, one)) return null;
    if (!isControl && reader.head === null) return null;
    if (!isControl) batches.push(one);
    reader.offset = batch.nextOffset(view, at);
    at += size;
  }
  goOn(reader, at, batches);
  return isWhole(reader) ? batches : null;
}

function goOn(reader: CheckpointReader, at: number, batches: Uint8Array[]): Uint8Array[] {
  reader.position += at;
  reader.wantedBytes = CHECKPOINT_CHUNK_BYTES;
  return batches;
}

/** The first batch is longer than what was read; or the file is shorter than it was when it was opened. */
function wantMore(reader: CheckpointReader, bytes: Uint8Array, view: DataView): Uint8Array[] | null {
  if (bytes.length < batch.BATCH_HEADER_BYTES || bytes.length < reader.wantedBytes) return null;
  reader.wantedBytes = batch.batchSizeBytes(view, 0);
  return reader.wantedBytes <= BATCH_BYTES_MAX ? [] : null;
}

function takeControls(reader: CheckpointReader, env: Env, bytes: Uint8Array): boolean {
  try {
    const controls = readControls(bytes, env);
    if (controls === null) return false;
    if (reader.head === null) {
      if (controls.headerTimestampMs === null) return false;
      const { kraftVersion, voters } = controls;
      reader.head = { lastTimestampMs: controls.headerTimestampMs, kraftVersion: kraftVersion ?? 0, voters };
    }
    reader.isFooter = controls.isFooter;
    return true;
  } catch (error) {
    if (error instanceof ProtocolError) return false;
    throw error;
  }
}
