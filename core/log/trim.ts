/**
 * Cutting a log at its head: records below an offset are no longer kept.
 *
 * The start moves at once; files go only as whole segments, and the active one never goes. What stands below the new
 * start must be kept elsewhere or not be wanted any more, durably, before this is called: a crash may bring removed
 * files back or not, and the next opening is told the start by its owner.
 */
import { assert } from '../lib/assert.ts';
import type { Env, Outbox } from '../lib/world.ts';
import { ErrorCode } from '../protocol/errors.ts';
import { cutAheads } from './ahead.ts';
import { finishJob } from './cold.ts';
import type { EpochEntry } from './epochs.ts';
import { pushTidy, removeSegment } from './files.ts';
import { pathOf, SNAPSHOT_SUFFIX } from './names.ts';
import { roll, writeEpochs } from './roll.ts';
import { pumpSyncs } from './settle.ts';
import { activeSegment, type Log, type Segment } from './state.ts';
import type { LogEvent } from './types.ts';

/** Moves the start up to `offset`, at most to what is durable, and removes the segments that end at or below it. */
export function deleteBelow(log: Log, offset: number, out: Outbox, events: LogEvent[]): void {
  assert(log.state === 'open', 'only an open log is cut');
  assert(offset <= log.durable, 'what is not durable yet is not cut away');
  log.start = Math.max(log.start, offset);
  cutAheads(log);
  const kept = log.segments.findIndex((segment) => !endsBelow(log, segment));
  for (const segment of log.segments.slice(0, kept)) removeHead(log, segment, out, events);
  const epochs = epochsFrom(log.epochs, log.start);
  if (epochs === log.epochs) return;
  log.epochs = epochs;
  writeEpochs(log, out);
}

function endsBelow(log: Log, segment: Segment): boolean {
  return segment.sealedAt >= 0 && segment.sealedAt <= log.start;
}

function removeHead(log: Log, segment: Segment, out: Outbox, events: LogEvent[]): void {
  log.segments.shift();
  log.sizeBytes -= segment.sizeBytes;
  if (log.unsettled !== null) log.unsettled = log.unsettled.filter((other) => other !== segment);
  if (log.cursors !== null) log.cursors = log.cursors.filter((cursor) => cursor.segment !== segment.base);
  log.damaged = log.damaged.filter((range) => range.segment !== segment.base);
  const outcome = { kind: 'error', error: ErrorCode.OFFSET_OUT_OF_RANGE } as const;
  for (const job of [...(log.jobs ?? [])]) if (job.segment === segment) finishJob(log, job, outcome, out, events);
  removeSegment(log, segment, out);
  pushTidy(log, out, { kind: 'remove', path: pathOf(log.folder, segment.base, SNAPSHOT_SUFFIX) });
}

/** The epochs of a log that starts at `start`; the same array when nothing changes. */
function epochsFrom(entries: readonly EpochEntry[], start: number): readonly EpochEntry[] {
  let first = 0;
  for (let i = 1; i < entries.length; i++) if ((entries[i] as EpochEntry).startOffset <= start) first = i;
  const head = entries[first];
  if (head === undefined || head.startOffset >= start) return entries;
  return [{ epoch: head.epoch, startOffset: start }, ...entries.slice(first + 1)];
}

/**
 * Starts a new segment, so that what is in the log by now can go as a whole later. Nothing happens where the active
 * segment is empty, names are being removed, or the tail is being cut.
 */
export function rollLog(log: Log, env: Env, out: Outbox): void {
  if (log.state !== 'open' || log.removesLeft > 0 || log.truncation !== null || activeSegment(log).sizeBytes === 0)
    return;
  roll(log, env, out);
  pumpSyncs(log, out);
}
