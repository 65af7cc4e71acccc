/**
 * Rolling to a new segment, and the small files beside the segments: producer snapshots and leader epochs.
 *
 * A segment is sealed by flushing its indexes, syncing its three files, and writing the producer state as of the
 * next segment's base. The next segment's batches may be written at once, but none of them counts as durable
 * before all of the sealed segment is synced and the new names are durable. A crash in between leaves files that
 * recovery judges one by one.
 */
import type { Env, Outbox } from '../lib/world.ts';
import { encodeEpochs } from './epochs.ts';
import { ask, flushIndexes, openForAppend, unsettle } from './files.ts';
import { addTimeEntry, INDEX_ENTRY_BYTES, indexEntries, TIME_ENTRY_BYTES, timeEntries } from './index.ts';
import { EPOCHS_NAME, pathOf, SNAPSHOT_SUFFIX } from './names.ts';
import { encodeSnapshot } from './snapshot.ts';
import { activeSegment, createSegment, type Log, type Segment, TIMESTAMP_UNKNOWN } from './state.ts';

const RELATIVE_OFFSET_MAX = 0x7fffffff;
const POSITION_MAX = 0x7fffffff; // Positions are 32-bit in the offset index.

/** Starts a new segment if the batch that is to come calls for it. */
export function rollIfDue(
  log: Log,
  env: Env,
  sizeBytes: number,
  lastOffset: number,
  maxTimestampMs: number,
  out: Outbox,
): void {
  const segment = activeSegment(log);
  if (segment.sizeBytes === 0) return;
  const reason = rollReason(log, env, segment, sizeBytes, lastOffset, maxTimestampMs);
  if (reason === null) return;
  // A file that a cut removes may have the very name of the one to be made.
  if (log.removesLeft > 0 && segment.sizeBytes + sizeBytes <= POSITION_MAX && reason !== 'offset') return;
  env.reached(`log.roll.${reason}`);
  roll(log, env, out);
}

function rollReason(
  log: Log,
  env: Env,
  segment: Segment,
  sizeBytes: number,
  lastOffset: number,
  maxTimestampMs: number,
): string | null {
  const config = log.config;
  const size = segment.sizeBytes + sizeBytes;
  if (size > config.segmentBytes || size > POSITION_MAX) return 'size';
  if (lastOffset - segment.base > RELATIVE_OFFSET_MAX) return 'offset';
  if ((indexEntries(segment) + 1) * INDEX_ENTRY_BYTES > config.indexBytesMax) return 'index';
  // One entry stays free for the largest timestamp, which is added when the segment is sealed.
  if ((timeEntries(segment) + 2) * TIME_ENTRY_BYTES > config.indexBytesMax) return 'index';
  const first = segment.firstTimestampMs;
  if (first >= 0) {
    const nowMs = maxTimestampMs >= 0 ? maxTimestampMs : env.wallMs;
    if (nowMs - first > config.segmentMs) return 'time';
  }
  return null;
}

/** Seals the active segment and starts its successor at the end of the log. */
export function roll(log: Log, env: Env, out: Outbox): void {
  const old = activeSegment(log);
  seal(log, old, out);
  writeSnapshot(log, env, out);
  const next = createSegment(log.end);
  log.segments.push(next);
  openForAppend(log, next, out);
  unsettle(log, next);
  log.syncTo = Math.max(log.syncTo, old.sealedAt);
}

function seal(log: Log, segment: Segment, out: Outbox): void {
  segment.sealedAt = log.end;
  unsettle(log, segment);
  if (segment.isIndexBroken || segment.maxTimestampMs === TIMESTAMP_UNKNOWN) return;
  openForAppend(log, segment, out);
  addTimeEntry(segment);
  flushIndexes(log, segment, true, out);
  for (const file of [segment.indexFile, segment.timeFile]) {
    segment.indexSyncsLeft++;
    const ticket = ask(log, { kind: 'syncIndex', segment });
    out.push({ kind: 'sync', file, owner: log.owner, ticket });
  }
}

/** Writes the producer state of the end of the log. Without producers too: an empty snapshot spares a replay. */
export function writeSnapshot(log: Log, env: Env, out: Outbox): void {
  const ticket = ask(log, { kind: 'snapshot', offset: log.end });
  const bytes = encodeSnapshot(log.producers, env.crc32c);
  const path = pathOf(log.folder, log.end, SNAPSHOT_SUFFIX);
  out.push({ kind: 'replace', path, bytes, owner: log.owner, ticket });
}

/** Writes leader-epoch-checkpoint; while one write is under way the next one waits for its answer. */
export function writeEpochs(log: Log, out: Outbox): void {
  log.areEpochsDirty = true;
  if (log.isWritingEpochs) return;
  log.areEpochsDirty = false;
  log.isWritingEpochs = true;
  const ticket = ask(log, { kind: 'epochs', epochs: log.epochs });
  const bytes = encodeEpochs(log.epochs);
  out.push({ kind: 'replace', path: `${log.folder}/${EPOCHS_NAME}`, bytes, owner: log.owner, ticket });
}
