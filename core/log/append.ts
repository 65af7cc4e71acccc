/**
 * Appending as the leader: the one batch of a Produce request is checked, numbered and handed to the disk.
 *
 * A batch is judged by its header and checksum; its records are read where the header is doubtful (`judge.ts`), and
 * where the topic recompresses. The bytes go on as they came, behind 16 fresh ones (base offset, length, leader epoch),
 * or 61 where the leader stamps its time. All bookkeeping (offsets, indexes, producer state, epochs) moves at once;
 * `cut.ts` takes it back if the disk refuses.
 */
import { assert } from '../lib/assert.ts';
import type { Env, Outbox } from '../lib/world.ts';
import * as batch from '../protocol/batch.ts';
import { ErrorCode } from '../protocol/errors.ts';
import { lastEpoch, withEpoch } from './epochs.ts';
import { scheduleExpiry } from './expiry.ts';
import { flushIndexes, openForAppend, unsettle } from './files.ts';
import { indexBatch } from './index.ts';
import { isDoubtful, judgeRecords } from './judge.ts';
import { afterAppend, checkSequence, setProducer } from './producers.ts';
import { recompress } from './recompress.ts';
import { createRing, pushRecent } from './ring.ts';
import { rollIfDue, writeEpochs } from './roll.ts';
import { noteUnsynced, pumpSyncs, writtenEnd } from './settle.ts';
import { activeSegment, type Log, type Write } from './state.ts';
import type { AppendOutcome, RecordFault } from './types.ts';
import { noteWrite, WRITES_MAX } from './writes.ts';

const NO_FAULTS: readonly RecordFault[] = [];

/** Appends the one batch that a Produce request holds for this partition. See `AppendOutcome`. */
export function appendAsLeader(
  log: Log,
  env: Env,
  records: Uint8Array,
  leaderEpoch: number,
  out: Outbox,
): AppendOutcome {
  if (log.state !== 'open') return refuse(ErrorCode.KAFKA_STORAGE_ERROR, 'the log is not open');
  if (log.truncation !== null) return refuse(ErrorCode.KAFKA_STORAGE_ERROR, 'the log is being cut');
  if (log.writes.length >= WRITES_MAX) return refuse(ErrorCode.KAFKA_STORAGE_ERROR, 'the disk does not answer');
  assert(leaderEpoch >= lastEpoch(log.epochs), 'a leader appends under the latest epoch');
  const refusal = validate(log, env, records);
  if (refusal !== null) return refusal;
  let bytes = records;
  const asSent = batch.dataViewOf(records);
  if (isDoubtful(log.config, env, asSent)) {
    const judged = judgeRecords(log.config, env, records, log.folder.slice(log.folder.lastIndexOf('/') + 1));
    if ('error' in judged) return refuse(judged.error, judged.message, judged.faults);
    bytes = judged.bytes;
  }
  if (log.config.compressionType !== 'producer') {
    const again = recompress(bytes, log.config.compressionType, env.codecs, env.crc32c);
    if (typeof again === 'number') return refuse(again, 'the records cannot be read');
    bytes = again;
    if (bytes.length > log.config.messageBytesMax) return tooLarge(log, bytes.length);
  }
  if (bytes.length > log.config.segmentBytes) {
    return refuse(ErrorCode.RECORD_LIST_TOO_LARGE, `the batch of ${bytes.length} bytes does not fit into a segment`);
  }
  const view = bytes === records ? asSent : batch.dataViewOf(bytes);
  const duplicate = checkProducer(log, view);
  if (duplicate !== null) return duplicate;
  return appendChecked(log, env, bytes, view, leaderEpoch, out);
}

function refuse(error: number, message: string, faults = NO_FAULTS): AppendOutcome {
  return { error, message, faults, baseOffset: -1, nextOffset: -1, logAppendTimeMs: -1, duplicate: false };
}

function tooLarge(log: Log, sizeBytes: number): AppendOutcome {
  const message = `the batch of ${sizeBytes} bytes exceeds max.message.bytes=${log.config.messageBytesMax}`;
  return refuse(ErrorCode.MESSAGE_TOO_LARGE, message);
}

/** Refuses what Kafka 4 refuses from a client, in the same order; null when the batch is sound. */
function validate(log: Log, env: Env, records: Uint8Array): AppendOutcome | null {
  if (records.length === 0) return refuse(ErrorCode.INVALID_RECORD, 'a Produce request must hold a record batch');
  const view = batch.dataViewOf(records);
  if (records.length > batch.MAGIC_AT && batch.magic(view, 0) !== batch.MAGIC) {
    const isOld = batch.magic(view, 0) === 0 || batch.magic(view, 0) === 1;
    const error = isOld ? ErrorCode.INVALID_RECORD : ErrorCode.CORRUPT_MESSAGE;
    return refuse(error, 'only record batches of magic version 2 are accepted');
  }
  const end = batch.batchEnd(view, 0, records.length);
  // A torn batch counts as none: to its sender CORRUPT_MESSAGE would mean that it should send the same again.
  if (end === batch.BATCH_TRUNCATED) return refuse(ErrorCode.INVALID_RECORD, 'the record batch is torn');
  if (end < 0) return refuse(ErrorCode.CORRUPT_MESSAGE, 'the record batch is not as long as it says');
  if (end < records.length) {
    return refuse(ErrorCode.INVALID_RECORD, 'a Produce request must hold exactly one record batch a partition');
  }
  if (batch.baseOffset(view, 0) !== 0) {
    return refuse(ErrorCode.INVALID_RECORD, 'the base offset of a produced batch must be 0');
  }
  if (records.length > log.config.messageBytesMax) return tooLarge(log, records.length);
  const fault = batch.validateBatch(records, 'client', env.crc32c);
  if (fault !== null) return refuse(fault, faultText(fault));
  if (batch.isTransactional(view, 0)) {
    return refuse(ErrorCode.INVALID_TXN_STATE, 'transactions are not supported yet');
  }
  return null;
}

function faultText(fault: number): string {
  if (fault === ErrorCode.CORRUPT_MESSAGE) return 'the checksum of the record batch does not hold';
  return 'the header of the record batch contradicts itself';
}

/** The answer for a batch that is not to be appended because of its producer; null when it is. */
function checkProducer(log: Log, view: DataView): AppendOutcome | null {
  const producerId = batch.producerId(view, 0);
  if (producerId < 0) return null;
  const epoch = batch.producerEpoch(view, 0);
  const first = batch.baseSequence(view, 0);
  const check = checkSequence(log.producers?.get(producerId), epoch, first, batch.lastSequence(view, 0));
  if (check.kind === 'append') return null;
  if (check.kind === 'refuse') return refuse(check.error, check.message);
  return {
    error: ErrorCode.NONE,
    message: null,
    faults: NO_FAULTS,
    baseOffset: check.batch.baseOffset,
    nextOffset: check.batch.lastOffset + 1,
    logAppendTimeMs: log.config.timestampType === 'LogAppendTime' ? check.batch.timestampMs : -1,
    duplicate: true,
  };
}

/** Appends a batch that needs no more checks: `view` is of `bytes`. */
export function appendChecked(
  log: Log,
  env: Env,
  bytes: Uint8Array,
  view: DataView,
  leaderEpoch: number,
  out: Outbox,
): AppendOutcome {
  const base = log.end;
  const count = batch.lastOffsetDelta(view, 0) + 1;
  const next = base + count;
  assert(Number.isSafeInteger(next), 'offsets stay below 2^53');
  const isStamped = log.config.timestampType === 'LogAppendTime';
  const maxTimestampMs = isStamped ? env.wallMs : batch.maxTimestamp(view, 0);
  rollIfDue(log, env, bytes.length, next - 1, maxTimestampMs, out);
  const segment = activeSegment(log);
  openForAppend(log, segment, out);
  const parts = partsOf(bytes, base, leaderEpoch, isStamped ? env.wallMs : -1);
  const write = noteWrite(log, segment, next, null);
  indexBatch(segment, next - 1, maxTimestampMs, segment.sizeBytes, bytes.length, log.config.indexIntervalBytes);
  segment.sizeBytes += bytes.length;
  if (batch.producerId(view, 0) >= 0) noteProducer(log, env, view, write, maxTimestampMs);
  if (leaderEpoch > lastEpoch(log.epochs)) {
    log.epochs = withEpoch(log.shared, log.epochs, leaderEpoch, base);
    log.areEpochsDirty = true;
  }
  if (log.areEpochsDirty && !log.isWritingEpochs) writeEpochs(log, out);
  log.end = next;
  log.sizeBytes += bytes.length;
  log.ring ??= createRing();
  const recent = { base, next, sizeBytes: bytes.length, parts, maxTimestampMs };
  pushRecent(log.ring, recent, log.config.ringBytesMax, writtenEnd(log));
  unsettle(log, segment);
  out.push({ kind: 'append', file: segment.logFile, parts, owner: log.owner, ticket: write.ticket });
  flushIndexes(log, segment, false, out);
  noteUnsynced(log, count, env.nowMs);
  pumpSyncs(log, out);
  const logAppendTimeMs = isStamped ? env.wallMs : -1;
  return {
    error: ErrorCode.NONE,
    message: null,
    faults: NO_FAULTS,
    baseOffset: base,
    nextOffset: next,
    logAppendTimeMs,
    duplicate: false,
  };
}

/** The views to write. One that would pin a much larger buffer in the ring is copied. */
function partsOf(bytes: Uint8Array, base: number, leaderEpoch: number, stampMs: number): readonly Uint8Array[] {
  const parts =
    stampMs < 0
      ? batch.appendParts(bytes, base, leaderEpoch)
      : batch.appendTimeParts(bytes, base, leaderEpoch, stampMs);
  if (bytes.length * 2 >= bytes.buffer.byteLength) return parts;
  const whole = new Uint8Array(bytes.length);
  whole.set(parts[0]);
  whole.set(parts[1], parts[0].length);
  return [whole];
}

/** What is known of the batch's producer moves on; `write` keeps what it takes to undo that. */
function noteProducer(log: Log, env: Env, view: DataView, write: Write, timestampMs: number): void {
  log.producers ??= new Map();
  const producerId = batch.producerId(view, 0);
  const epoch = batch.producerEpoch(view, 0);
  const firstSequence = batch.baseSequence(view, 0);
  const lastSequence = batch.lastSequence(view, 0);
  const { base: baseOffset, next } = write;
  const known = log.producers.get(producerId);
  write.producerId = producerId;
  write.producerEpoch = epoch;
  write.baseSequence = firstSequence;
  write.producerBefore = known ?? null;
  const appended = { firstSequence, lastSequence, baseOffset, lastOffset: next - 1, timestampMs };
  setProducer(log.producers, producerId, afterAppend(known, epoch, appended, env.nowMs));
  scheduleExpiry(log, env.nowMs);
}
