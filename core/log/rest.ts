/**
 * A log at rest: all that a log is after it was closed, in a few bytes, so that the next start need not look into its
 * folder.
 *
 * Only a log that closed with nothing to be found out can rest: every index whole, no damage. Taken up again it is what
 * `opening.ts` would have found after a clean stop, and its files are opened by the first append or cold read, which
 * holds their sizes against what is believed here. The bytes are believed only of the very stop that wrote them; who
 * keeps them sees to that (`broker/boot/rested.ts`). A crash leaves none, and then the folder is looked into. What a
 * power loss after the stop brings back, segments below the start of the log, lies there until then and is served to
 * nobody.
 */
import { assert } from '../lib/assert.ts';
import type { Reader } from '../lib/cursor.ts';
import { VARLONG_BYTES_MAX } from '../lib/varint.ts';
import type { Env } from '../lib/world.ts';
import type { Writer } from '../lib/writer.ts';
import { cutEpochs, type EpochEntry } from './epochs.ts';
import { scheduleExpiry } from './expiry.ts';
import { recoveryPoint } from './settle.ts';
import { decodeSnapshot, encodeSnapshot } from './snapshot.ts';
import { createSegment, dropBlank, type Log, type Segment } from './state.ts';

/** A log of more segments, or of more leader epochs, does not rest: looking into its folder is little beside it. */
const SEGMENTS_MAX = 1_000;
const EPOCHS_MAX = 1_000;
/** One of more producers does not either: they would crowd out other logs. */
const PRODUCERS_RESTED_MAX = 1_000;

const SEGMENT_BYTES_MAX = 1 + 6 * VARLONG_BYTES_MAX + 3 * 8;
const HAS_FILES = 1;
const KNOWS_TIMES = 2;

/** Whether a closed log can rest. */
export function canRest(log: Log): boolean {
  if (log.state !== 'closed' || log.damaged.length > 0) return false;
  if (log.segments.length > SEGMENTS_MAX || log.epochs.length > EPOCHS_MAX) return false;
  if (log.producers !== null && log.producers.size > PRODUCERS_RESTED_MAX) return false;
  if (log.durable !== log.end || log.unsettled !== null || log.writes.length > 0) return false;
  // Nor one whose leader epochs a full disk kept out of their file.
  return recoveryPoint(log) === log.end && log.segments.every((segment) => !segment.isIndexBroken);
}

/** Bytes that the log takes at rest, at most. */
export function restBytesMax(log: Log): number {
  const epochs = log.epochs.length * 2 * VARLONG_BYTES_MAX;
  const producers = log.producers === null ? 0 : encodeSnapshot(log.producers, () => 0).length;
  return 6 * VARLONG_BYTES_MAX + epochs + log.segments.length * SEGMENT_BYTES_MAX + producers;
}

/** Writes a log that can rest. */
export function writeRest(writer: Writer, log: Log, env: Pick<Env, 'crc32c'>): void {
  assert(canRest(log), 'a log rests that cannot');
  writer.varlong(log.start);
  writer.varlong(log.end);
  writer.varlong(log.snapshotAt);
  // What nothing was appended under is not in the file either.
  const epochs = cutEpochs(log.epochs, log.end);
  writer.unsignedVarint(epochs.length);
  for (const { epoch, startOffset } of epochs) {
    writer.varlong(epoch);
    writer.varlong(startOffset);
  }
  writer.unsignedVarint(log.segments.length);
  for (const segment of log.segments) writeSegment(writer, segment);
  writer.compactNullableBytes(log.producers === null ? null : encodeSnapshot(log.producers, env.crc32c));
}

function writeSegment(writer: Writer, segment: Segment): void {
  const knowsTimes = segment.sizeBytes > 0;
  writer.int8((segment.isOnDisk ? HAS_FILES : 0) | (knowsTimes ? KNOWS_TIMES : 0));
  writer.varlong(segment.base);
  if (!segment.isOnDisk) return;
  writer.varlong(segment.sizeBytes);
  writer.varlong(segment.indexCount);
  writer.varlong(segment.timeCount);
  if (!knowsTimes) return;
  writer.varlong(segment.sinceIndexBytes);
  writer.varlong(segment.maxTimestampOffset);
  // Timestamps may be beyond what is counted exactly.
  writer.float64(segment.firstTimestampMs);
  writer.float64(segment.maxTimestampMs);
  writer.float64(segment.lastTimeMs);
}

/**
 * Opens a new log as it was closed, without asking anything of the world. False, and the log is still new, where the
 * bytes do not fit each other: then its folder is to be looked into. Throws ProtocolError where they end too early.
 */
export function openRested(log: Log, env: Env, reader: Reader): boolean {
  assert(log.state === 'new', 'only a new log is taken up');
  const start = reader.varlong();
  const end = reader.varlong();
  const snapshotAt = reader.varlong();
  const epochs: EpochEntry[] = [];
  const epochsCount = reader.unsignedVarint();
  if (epochsCount > EPOCHS_MAX) return false;
  for (let i = 0; i < epochsCount; i++) epochs.push({ epoch: reader.varlong(), startOffset: reader.varlong() });
  const segmentsCount = reader.unsignedVarint();
  if (segmentsCount > SEGMENTS_MAX) return false;
  const segments: Segment[] = [];
  while (segments.length < segmentsCount) segments.push(readSegment(reader));
  const snapshot = reader.compactNullableBytes();
  const producers = snapshot === null ? null : decodeSnapshot(snapshot, env.crc32c, env.nowMs);
  const isOrdered = segments.every(({ base }, i) => i === 0 || base > (segments[i - 1] as Segment).base);
  const first = segments[0]?.base ?? start;
  const last = segments[segments.length - 1]?.base ?? end;
  const isWhole = start >= first && start <= end && last <= end && (segments.length > 0 || start === end) && isOrdered;
  if (!isWhole || (snapshot !== null && producers === null)) return false;
  log.state = 'open';
  log.start = start;
  log.end = end;
  log.durable = end;
  log.syncTo = end;
  log.snapshotAt = snapshotAt;
  if (epochs.length > 0) log.epochs = epochs;
  log.epochsOnDisk = log.epochs;
  log.segments = segments.slice(); // As long as it must be.
  for (const [i, segment] of segments.entries()) settleSegment(log, segment, segments[i + 1]);
  dropBlank(log);
  if (producers !== null && producers.size > 0) {
    log.producers = producers;
    scheduleExpiry(log, env.nowMs);
  }
  return true;
}

function settleSegment(log: Log, segment: Segment, next: Segment | undefined): void {
  segment.sealedAt = next === undefined ? -1 : next.base;
  segment.syncedUpTo = next === undefined ? log.end : next.base;
  log.sizeBytes += segment.sizeBytes;
}

function readSegment(reader: Reader): Segment {
  const flags = reader.int8();
  const segment = createSegment(reader.varlong());
  if ((flags & HAS_FILES) === 0) return segment;
  segment.isOnDisk = true;
  segment.isNamed = true;
  segment.sizeBytes = reader.varlong();
  segment.indexCount = reader.varlong();
  segment.timeCount = reader.varlong();
  if ((flags & KNOWS_TIMES) === 0) return segment;
  segment.sinceIndexBytes = reader.varlong();
  segment.maxTimestampOffset = reader.varlong();
  segment.firstTimestampMs = reader.float64();
  segment.maxTimestampMs = reader.float64();
  segment.lastTimeMs = reader.float64();
  return segment;
}
