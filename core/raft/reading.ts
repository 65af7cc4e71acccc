/**
 * What is committed, in order: the records of the newest snapshot, then the log up to the high watermark. It is read
 * in slices, one asked for at a time, so that a node with much metadata can do other things in between.
 *
 * One pass at a time. A snapshot that was looked through at the opening and cannot be read now ends the member: the
 * disk has lost what it held.
 */
import { assert } from '../lib/assert.ts';
import { nextFile } from '../lib/ids.ts';
import { ProtocolError } from '../lib/protocol-error.ts';
import type { DiskInput, Env, Outbox } from '../lib/world.ts';
import { readLog } from '../log/log.ts';
import type { ReadOutcome } from '../log/types.ts';
import { askDisk, askTidy, failRaft, failureText, isDeviceFailure } from './asks.ts';
import { type RecordBatch, readBatch, splitBatches } from './batches.ts';
import { type CheckpointReader, createCheckpointReader, isWhole, takeCheckpoint } from './checkpoint-read.ts';
import { checkpointName } from './names.ts';
import { damageText } from './opening-log.ts';
import type { Raft, RaftEvent, Slice } from './state.ts';

/** Bytes of log that are read for one slice, unless a batch is larger: some ten milliseconds of work for the reader. */
export const SLICE_BYTES = 256 * 1024;

/**
 * Begins a pass over all that is committed; the one before, if any, is forgotten. `readMore` asks for the first slice.
 * Only once the high watermark is known. The pass ends when it is dropped: what is committed later belongs to it too.
 */
export function beginReading(raft: Raft, out: Outbox): void {
  assert(raft.highWatermark >= 0, 'what is committed is known');
  dropReading(raft, out);
  const newest = raft.snapshots[raft.snapshots.length - 1];
  const offset = newest === undefined ? raft.log.start : newest.endOffset;
  const reader = newest === undefined ? null : createCheckpointReader(newest, nextFile(raft.ids));
  raft.reading = { reader, offset, ticket: -1, isAsked: false, pass: ++raft.passes };
}

/** Begins a pass at `offset`, for whoever knows all that is committed below it. */
export function beginReadingAt(raft: Raft, offset: number, out: Outbox): void {
  assert(offset >= raft.log.start, 'the log still holds what is wanted');
  dropReading(raft, out);
  raft.reading = { reader: null, offset, ticket: -1, isAsked: false, pass: ++raft.passes };
}

/** Whether more is committed than the pass under way has read, and no slice is awaited: `readMore` may be asked. */
export function isBehind(raft: Raft): boolean {
  const { reading } = raft;
  return reading !== null && !reading.isAsked && (reading.reader !== null || reading.offset < raft.highWatermark);
}

/** Forgets the pass. */
export function dropReading(raft: Raft, out: Outbox): void {
  const reader = raft.reading?.reader ?? null;
  if (reader !== null) askTidy(raft, { kind: 'closeFile', file: reader.file }, out);
  raft.reading = null;
}

/** The owner takes a slice, and may ask for more; false if it belongs to a pass that is over, and is to be dropped. */
export function acceptSlice(raft: Raft, slice: Slice): boolean {
  if (raft.reading === null || raft.reading.pass !== slice.pass) return false;
  raft.reading.isAsked = false;
  return true;
}

/** Asks for the next slice: the event 'slice' follows, at once or later. Not while one is under way. */
export function readMore(raft: Raft, env: Env, out: Outbox, events: RaftEvent[]): void {
  const { reading } = raft;
  if (reading === null) return;
  const { reader } = reading;
  assert(!reading.isAsked, 'one slice at a time');
  reading.isAsked = true;
  if (reader !== null) {
    const { file, position, sizeBytes } = reader;
    const path = `${raft.folder}/${checkpointName(reader.id)}`;
    const length = Math.min(reader.wantedBytes, sizeBytes - position);
    const effect =
      sizeBytes < 0
        ? ({ kind: 'open', file, path, create: false } as const)
        : ({ kind: 'read', file, position, length } as const);
    askDisk(raft, { kind: 'checkpoint', file }, effect, out);
    return;
  }
  const { offset } = reading;
  const request = { offset, sizeBytesMax: SLICE_BYTES, upTo: raft.highWatermark, minOne: true };
  const outcome = readLog(raft.log, env, request, out);
  if (outcome.kind === 'pending') reading.ticket = outcome.ticket;
  else takeLogSlice(raft, env, outcome, events);
}

/** A piece of the snapshot's file. */
export function takeCheckpointSlice(
  raft: Raft,
  env: Env,
  reader: CheckpointReader,
  input: DiskInput,
  out: Outbox,
  events: RaftEvent[],
): void {
  const { reading } = raft;
  if (reading === null) return;
  if (isDeviceFailure(input)) {
    failRaft(raft, failureText(raft, input), events);
    return;
  }
  if (input.kind === 'opened') {
    reader.sizeBytes = input.sizeBytes;
    reading.isAsked = false;
    readMore(raft, env, out, events);
    return;
  }
  const pieces = input.kind === 'read' ? takeCheckpoint(reader, env, input.bytes) : null;
  const batches = pieces === null ? null : read(pieces, env);
  if (batches === null) {
    failRaft(raft, `the snapshot ${checkpointName(reader.id)} in ${raft.folder} is damaged`, events);
    return;
  }
  if (isWhole(reader)) {
    reading.reader = null;
    askTidy(raft, { kind: 'closeFile', file: reader.file }, out);
  }
  const isEnd = reading.reader === null && reading.offset >= raft.highWatermark;
  const snapshot = { ...reader.id, lastTimestampMs: reader.head?.lastTimestampMs ?? -1 };
  events.push({
    kind: 'slice',
    pass: reading.pass,
    snapshot,
    isWhole: isWhole(reader),
    batches,
    nextOffset: reading.offset,
    isEnd,
  });
}

function read(pieces: readonly Uint8Array[], env: Env): RecordBatch[] | null {
  try {
    return pieces.map((piece) => readBatch(piece, env));
  } catch (error) {
    if (error instanceof ProtocolError) return null;
    throw error;
  }
}

/** A piece of the log. */
export function takeLogSlice(raft: Raft, env: Env, outcome: ReadOutcome, events: RaftEvent[]): void {
  const { reading } = raft;
  if (reading === null) return;
  reading.ticket = -1;
  const from = reading.offset;
  const batches = outcome.kind === 'batches' ? read(splitBatches(outcome.parts), env) : null;
  if (batches === null || (batches.length === 0 && from < raft.highWatermark)) {
    failRaft(raft, damageText(raft, from), events);
    return;
  }
  for (const one of batches) reading.offset = Math.max(reading.offset, one.nextOffset);
  const records = batches.filter((one) => one.values.length > 0);
  const kept = records.map((one) => (from <= one.baseOffset ? one : cut(one, from)));
  const isEnd = reading.offset >= raft.highWatermark;
  events.push({
    kind: 'slice',
    pass: reading.pass,
    snapshot: null,
    isWhole: true,
    batches: kept,
    nextOffset: reading.offset,
    isEnd,
  });
}

/** A batch of which the first records are known already. */
function cut(one: RecordBatch, from: number): RecordBatch {
  return { ...one, baseOffset: from, values: one.values.slice(from - one.baseOffset) };
}
