/**
 * Appending as a follower: the batches that a leader sent go into the log as they came.
 *
 * The leader has numbered and stamped them, so nothing is rewritten and no producer is refused: the leader's log is
 * the truth. What is checked is what a wire can spoil or a wrong leader can send: the checksum, that each batch begins
 * where the log ends, and that leader epochs never fall nor rise above the leader's own. A gap between batches is
 * refused too: base offsets are not under the checksum, and without compaction no leader leaves one.
 *
 * All batches that land in one segment are one append of the disk, so that a fetch of many small batches costs one
 * write; undone as one if the disk refuses. A crash finds whole batches or a torn tail, as with a leader.
 */
import { assert } from '../lib/assert.ts';
import type { Env, Outbox } from '../lib/world.ts';
import * as batch from '../protocol/batch.ts';
import { ErrorCode } from '../protocol/errors.ts';
import { lastEpoch, withEpoch } from './epochs.ts';
import { scheduleExpiry } from './expiry.ts';
import { flushIndexes, openForAppend, removeSegment, unname, unsettle } from './files.ts';
import { indexBatch } from './index.ts';
import { afterReplay, producerBatchAt, setProducer } from './producers.ts';
import { createRing, pushRecent } from './ring.ts';
import { rollIfDue, writeEpochs } from './roll.ts';
import { type Expected, sightBatch } from './scan.ts';
import { noteUnsynced, pumpSyncs, writtenEnd } from './settle.ts';
import { activeSegment, createSegment, type Log, type ProducerUndo, type Segment, type Write } from './state.ts';
import type { FollowerOutcome } from './types.ts';
import { noteWrite, WRITES_MAX } from './writes.ts';

/** The batches of one append of the disk: a run of `bytes` that lands in one segment. */
interface Group {
  readonly write: Write;
  readonly undo: ProducerUndo[];
  /** Where it begins in `bytes`. */
  readonly from: number;
}

/**
 * Appends the whole batches in `records`, which are to begin at the end of the log; a torn one at the end is left out.
 * `leaderEpoch` is that of the leader which sent them. The batches before a bad one are kept: see `FollowerOutcome`.
 *
 * A log that holds nothing may be given a batch that begins below its end and reaches above it: the leader's start
 * lies within that batch.
 */
export function appendAsFollower(
  log: Log,
  env: Env,
  records: Uint8Array,
  leaderEpoch: number,
  out: Outbox,
): FollowerOutcome {
  if (log.state !== 'open') return outcomeOf(log, 0, ErrorCode.KAFKA_STORAGE_ERROR, 'the log is not open');
  if (log.truncation !== null) return outcomeOf(log, 0, ErrorCode.KAFKA_STORAGE_ERROR, 'the log is being cut');
  if (log.writes.length >= WRITES_MAX) {
    return outcomeOf(log, 0, ErrorCode.KAFKA_STORAGE_ERROR, 'the disk does not answer');
  }
  const bytes = own(records);
  const view = batch.dataViewOf(bytes);
  if (!beginWithin(log, view, out)) {
    return outcomeOf(log, 0, ErrorCode.KAFKA_STORAGE_ERROR, 'files of the log are still being removed');
  }
  const from = log.end;
  const expected = { offset: 0, offsetMax: Number.MAX_SAFE_INTEGER, epochMin: -1, end: Infinity };
  let group: Group | null = null;
  let at = 0;
  let fault: string | null = null;
  while (at < bytes.length) {
    fault = faultOf(log, env, bytes, view, at, leaderEpoch, expected);
    if (fault !== null) break;
    group = takeBatch(log, env, bytes, view, at, group, out);
    at += batch.batchSizeBytes(view, at);
  }
  if (group !== null) finishGroup(log, bytes, group, at, out);
  if (at > 0) afterBatches(log, env, log.end - from, out);
  if (fault === SHORT && at > 0) fault = null;
  return outcomeOf(log, at, fault === null ? ErrorCode.NONE : ErrorCode.CORRUPT_MESSAGE, fault);
}

const SHORT = 'a batch is cut short';

function outcomeOf(log: Log, usedBytes: number, error: number, message: string | null): FollowerOutcome {
  return { error, message, nextOffset: log.end, usedBytes };
}

/** The bytes to keep: a small piece would pin the whole answer that it came in. */
function own(records: Uint8Array): Uint8Array {
  return records.length * 2 >= records.buffer.byteLength ? records : records.slice();
}

/** Why the batch at `at` is not taken; null when it is. */
function faultOf(
  log: Log,
  env: Env,
  bytes: Uint8Array,
  view: DataView,
  at: number,
  leaderEpoch: number,
  expected: { offset: number; epochMin: number } & Expected,
): string | null {
  // The first batch of a log that holds nothing may begin below the end of the log: see `beginWithin`.
  expected.offset = log.sizeBytes === 0 ? activeSegment(log).base : log.end;
  expected.epochMin = lastEpoch(log.epochs);
  const sight = sightBatch(bytes, view, at, expected, env.crc32c);
  if (sight === 'short') return SHORT;
  if (sight === 'bad') return `the batch for offset ${log.end} is damaged, or it does not follow what is in the log`;
  if (batch.leaderEpoch(view, at) > leaderEpoch) return `the batch for offset ${log.end} claims a later leader epoch`;
  return null;
}

/**
 * Where the log holds nothing and the first batch begins below its end, the segment begins there too. False while
 * that has to wait for names that are being removed.
 */
function beginWithin(log: Log, view: DataView, out: Outbox): boolean {
  const segment = activeSegment(log);
  const isEmpty = log.sizeBytes === 0 && log.start === log.end && log.segments.length === 1;
  if (!isEmpty || view.byteLength < batch.BATCH_HEADER_BYTES) return true;
  const base = batch.baseOffset(view, 0);
  if (base < 0 || base >= log.end || batch.nextOffset(view, 0) <= log.end || base === segment.base) return true;
  if (log.removesLeft > 0) return false;
  log.segments = [createSegment(base)];
  if (log.unsettled !== null) log.unsettled = log.unsettled.filter((other) => other !== segment);
  const wasOnDisk = segment.isOnDisk;
  if (wasOnDisk) removeSegment(log, segment, out);
  openForAppend(log, activeSegment(log), out);
  if (wasOnDisk) unname(log, activeSegment(log));
  return true;
}

/** Takes the sound batch at `at`: into the group, or into the first one of a new segment. */
function takeBatch(
  log: Log,
  env: Env,
  bytes: Uint8Array,
  view: DataView,
  at: number,
  before: Group | null,
  out: Outbox,
): Group {
  const sizeBytes = batch.batchSizeBytes(view, at);
  const base = batch.baseOffset(view, at);
  const next = batch.nextOffset(view, at);
  const maxTimestampMs = batch.maxTimestamp(view, at);
  assert(Number.isSafeInteger(next), 'offsets stay below 2^53');
  rollIfDue(log, env, sizeBytes, next - 1, maxTimestampMs, out);
  const segment = activeSegment(log);
  let group = before;
  if (group === null || group.write.segment !== segment) {
    if (group !== null) finishGroup(log, bytes, group, at, out);
    openForAppend(log, segment, out);
    group = startGroup(log, segment, at);
  }
  indexBatch(segment, next - 1, maxTimestampMs, segment.sizeBytes, sizeBytes, log.config.indexIntervalBytes);
  segment.sizeBytes += sizeBytes;
  if (batch.producerId(view, at) >= 0 && !batch.isControl(view, at)) noteProducer(log, env, view, at, group.undo);
  const epoch = batch.leaderEpoch(view, at);
  if (epoch > lastEpoch(log.epochs)) {
    log.epochs = withEpoch(log.shared, log.epochs, epoch, base);
    log.areEpochsDirty = true;
  }
  group.write.next = next;
  log.end = next;
  log.sizeBytes += sizeBytes;
  log.ring ??= createRing();
  const parts = [bytes.subarray(at, at + sizeBytes)];
  pushRecent(log.ring, { base, next, sizeBytes, parts, maxTimestampMs }, log.config.ringBytesMax, writtenEnd(log));
  return group;
}

function startGroup(log: Log, segment: Segment, at: number): Group {
  const undo: ProducerUndo[] = [];
  return { write: noteWrite(log, segment, log.end, undo), undo, from: at };
}

/** Hands a group to the disk; it ends at `to` in `bytes`. */
function finishGroup(log: Log, bytes: Uint8Array, group: Group, to: number, out: Outbox): void {
  const { segment, ticket } = group.write;
  const parts = [bytes.subarray(group.from, to)];
  out.push({ kind: 'append', file: segment.logFile, parts, owner: log.owner, ticket });
  unsettle(log, segment);
}

function noteProducer(log: Log, env: Env, view: DataView, at: number, undo: ProducerUndo[]): void {
  const producerId = batch.producerId(view, at);
  log.producers ??= new Map();
  const known = log.producers.get(producerId);
  undo.push({ producerId, before: known ?? null });
  const epoch = batch.producerEpoch(view, at);
  setProducer(log.producers, producerId, afterReplay(known, epoch, producerBatchAt(view, at), env.nowMs));
  scheduleExpiry(log, env.nowMs);
}

/** Once for all batches: epochs, index entries and syncs. */
function afterBatches(log: Log, env: Env, records: number, out: Outbox): void {
  if (log.areEpochsDirty && !log.isWritingEpochs) writeEpochs(log, out);
  flushIndexes(log, activeSegment(log), false, out);
  noteUnsynced(log, records, env.nowMs);
  pumpSyncs(log, out);
}
