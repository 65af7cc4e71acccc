/**
 * What each answer of the disk means to an open log.
 *
 * A full disk is survivable everywhere but in a sync: appends are cut back, indexes and small files are given up. Any
 * other failure of a mutation, and any failure of a sync, means that the log directory is not to be trusted again: the
 * log fails for good and says so once.
 */
import type { DiskInput, Env, Outbox } from '../lib/world.ts';
import { ErrorCode } from '../protocol/errors.ts';
import { finishJob, resumeJobs, takeRead } from './cold.ts';
import { cutBack, openFailed } from './cut.ts';
import { ask, breakIndex, nameDurably, removeOpened } from './files.ts';
import { pathOf, SNAPSHOT_SUFFIX } from './names.ts';
import { goOnOpening, takeOpening } from './opening.ts';
import { shrinkRing } from './ring.ts';
import { writeEpochs } from './roll.ts';
import { noteWritten, pumpSyncs, settle, writtenEnd } from './settle.ts';
import type { Ask, Log, Segment, Write } from './state.ts';
import { takeTruncation } from './truncate.ts';
import type { LogEvent } from './types.ts';

type Failed = Extract<DiskInput, { kind: 'diskFailed' }>;

/** The log directory failed: nothing is read or written any more. */
function failLog(log: Log, detail: string, out: Outbox, events: LogEvent[]): void {
  if (log.state === 'failed') return;
  log.state = 'failed';
  log.asks = null;
  log.opening = null;
  log.truncation = null;
  log.writes = [];
  log.unsettled = null;
  log.flushAtMs = Infinity;
  log.expireAtMs = Infinity;
  log.ring = null;
  log.aheads = null;
  const outcome = { kind: 'error', error: ErrorCode.KAFKA_STORAGE_ERROR } as const;
  for (const job of log.jobs ?? []) finishJob(log, job, outcome, out, events);
  events.push({ kind: 'failed', detail });
}

/** Takes the answer to `what`. */
export function takeAnswer(log: Log, env: Env, what: Ask, input: DiskInput, out: Outbox, events: LogEvent[]): void {
  if (input.kind === 'diskFailed' && isFatal(what, input)) {
    failLog(log, `${input.during} failed in ${log.folder}: ${input.error} ${input.detail}`, out, events);
    return;
  }
  const failed = input.kind === 'diskFailed' ? input : null;
  switch (what.kind) {
    case 'append':
      takeAppended(log, env, what, failed, out, events);
      break;
    case 'sync':
      takeSynced(log, what, failed, out, events);
      break;
    case 'syncIndex':
      if (failed === null && what.segment.indexSyncsLeft > 0) what.segment.indexSyncsLeft--;
      settle(log, out, events);
      break;
    case 'names':
      if (what.segment.logFile === what.file || what.segment.sealedAt >= 0) what.segment.isNamed = true;
      settle(log, out, events);
      break;
    case 'open':
      takeOpened(log, env, what, input, out, events);
      break;
    case 'openCold':
      takeOpenedCold(log, env, what, failed, out, events);
      break;
    case 'indexAppend':
      if (failed !== null && !what.segment.isGone) breakIndexFull(log, env, what.segment, out, events);
      break;
    case 'read':
      takeRead(log, env, what.job, input, out, events);
      break;
    case 'opening':
      takeOpening(log, env, input, out, events);
      break;
    case 'truncation':
      takeTruncation(log, env, what.truncation, input, out);
      break;
    case 'remove':
      log.removesLeft--;
      for (const segment of log.unsettled ?? []) nameDurably(log, segment, out);
      if (log.opening === null) settle(log, out, events);
      else if (log.removesLeft === 0) goOnOpening(log, env, out, events);
      break;
    default:
      takeSmall(log, env, what, failed, out);
  }
}

/** Whether a failure ends the log. What concerns files that are gone or given up does not matter any more. */
function isFatal(what: Ask, failed: Failed): boolean {
  if (failed.error === 'io') return true;
  switch (what.kind) {
    case 'sync':
    case 'names':
      return !what.segment.isGone && failed.error !== 'closed';
    case 'syncIndex':
      return !what.segment.isGone && !what.segment.isIndexBroken && failed.error !== 'closed';
    case 'append':
    case 'open':
    case 'indexAppend':
    case 'tidy':
    case 'remove':
    case 'epochs':
    case 'snapshot':
      return failed.error === 'denied';
    case 'truncation':
      return failed.error === 'denied' || failed.during === 'syncFolder';
    case 'opening':
      if (failed.error === 'denied' || failed.during === 'read') return true;
      return failed.error === 'noSpace' && isUnsurvivable(failed.during);
    default:
      return false;
  }
}

function isUnsurvivable(during: Failed['during']): boolean {
  return during === 'sync' || during === 'syncFolder' || during === 'makeFolder';
}

function takeAppended(log: Log, env: Env, write: Write, failed: Failed | null, out: Outbox, events: LogEvent[]): void {
  if (failed === null) {
    noteWritten(log, write);
    if (log.ring !== null) shrinkRing(log.ring, log.config.ringBytesMax, writtenEnd(log));
    settle(log, out, events);
    return;
  }
  cutBack(log, env, write, out, events);
  settle(log, out, events);
}

function takeSynced(
  log: Log,
  what: Extract<Ask, { kind: 'sync' }>,
  failed: Failed | null,
  out: Outbox,
  events: LogEvent[],
): void {
  const segment = what.segment;
  if (segment.isGone || segment.logFile !== what.file) return;
  segment.isSyncing = false;
  if (failed === null) segment.syncedUpTo = Math.max(segment.syncedUpTo, what.upTo);
  settle(log, out, events);
  pumpSyncs(log, out);
}

function takeOpened(
  log: Log,
  env: Env,
  what: Extract<Ask, { kind: 'open' }>,
  input: DiskInput,
  out: Outbox,
  events: LogEvent[],
): void {
  const segment = what.segment;
  segment.opensLeft--;
  if (segment.isGone) {
    if (segment.opensLeft === 0) removeOpened(log, segment, out);
    return;
  }
  if (input.kind === 'diskFailed') {
    env.reached('log.open.no_space');
    openFailed(log, env, segment, what.role === 'log', out, events);
    settle(log, out, events);
  } else if (input.kind === 'opened' && input.sizeBytes !== what.sizeBytes) {
    if (what.role === 'log') {
      const detail = `the segment ${segment.base} in ${log.folder} has ${input.sizeBytes} bytes, not ${what.sizeBytes}`;
      failLog(log, detail, out, events);
      return;
    }
    breakIndexFull(log, env, segment, out, events);
  }
  nameDurably(log, segment, out);
  resumeJobs(log, env, segment, out);
}

function breakIndexFull(log: Log, env: Env, segment: Segment, out: Outbox, events: LogEvent[]): void {
  env.reached('log.index.given_up');
  breakIndex(log, segment, out);
  settle(log, out, events);
}

function takeOpenedCold(
  log: Log,
  env: Env,
  what: Extract<Ask, { kind: 'openCold' }>,
  failed: Failed | null,
  out: Outbox,
  events: LogEvent[],
): void {
  const segment = what.segment;
  segment.opensLeft--;
  if (segment.isGone) {
    if (segment.opensLeft === 0) removeOpened(log, segment, out);
    return;
  }
  if (failed === null) {
    resumeJobs(log, env, segment, out);
    return;
  }
  if (what.role === 'log') {
    segment.logFile = 0;
    const outcome = { kind: 'error', error: ErrorCode.KAFKA_STORAGE_ERROR } as const;
    for (const job of [...(log.jobs ?? [])]) if (job.segment === segment) finishJob(log, job, outcome, out, events);
    return;
  }
  // An index that has vanished is done without until the next start.
  if (what.role === 'index') segment.indexFile = 0;
  else segment.timeFile = 0;
  breakIndex(log, segment, out);
  for (const job of log.jobs ?? []) if (job.segment === segment) job.stage = 'start';
  resumeJobs(log, env, segment, out);
}

/**
 * The newest snapshot is in place: the one before it goes, unless a segment begins there. It claims no offsets, so that
 * nothing waits for its removal.
 */
function replaceSnapshot(log: Log, offset: number, out: Outbox): void {
  const before = log.snapshotAt;
  log.snapshotAt = offset;
  if (before < 0 || before === offset || log.segments.some(({ base }) => base === before)) return;
  const path = pathOf(log.folder, before, SNAPSHOT_SUFFIX);
  out.push({ kind: 'remove', path, owner: log.owner, ticket: ask(log, { kind: 'tidy' }) });
}

/** Snapshots, epochs, and what needs no answer. */
function takeSmall(log: Log, env: Env, what: Ask, failed: Failed | null, out: Outbox): void {
  if (what.kind === 'snapshot' && failed === null && what.offset === log.end) replaceSnapshot(log, what.offset, out);
  if (failed !== null && (what.kind === 'snapshot' || what.kind === 'epochs')) {
    env.reached('log.small_file.no_space');
    const fields = new Map([['folder', log.folder]]);
    const text = 'no room for a small file beside the log; it will be built from the batches at the next start';
    out.push({ kind: 'say', level: 'warn', text, fields });
  }
  if (what.kind !== 'epochs') return;
  log.isWritingEpochs = false;
  if (failed === null) log.epochsOnDisk = what.epochs;
  if (log.areEpochsDirty) writeEpochs(log, out);
  // Not at once: the next append tries again, or the clean stop.
  else if (failed !== null) log.areEpochsDirty = true;
}
