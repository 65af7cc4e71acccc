/**
 * One member of a quorum: Kafka's KRaft (KIP-595, with the voters of KIP-853), as far as one voter goes.
 *
 * Theory of operation. The quorum's log `__cluster_metadata-0` is the truth; everything else is built from it. A
 * member is opened from its folder (`opening.ts`, `opening-log.ts`): the vote of earlier lives, the newest snapshot,
 * the log behind it, and who the voters are. It stands for election in a new epoch (`election.ts`), leads, and commits
 * the first batch of its epoch; from then on its owner may append records and read what is committed (`reading.ts`).
 * Snapshots (`writing.ts`, `snapshots.ts`) hold what the log below an offset comes to, so that it can be cut there.
 *
 * What is written before it shows: vote and epoch in `quorum-state`; a snapshot, before the log is cut under it. What
 * a leader counts as its own end is what it has synced. A crash loses the state here and what was not synced.
 *
 * Not there yet: other voters and observers. A quorum of more than one is refused at the opening, by name, and so are
 * roles that only they can bring about (follower, prospective, voted, observer), Vote, Begin- and EndQuorumEpoch,
 * Fetch and FetchSnapshot, truncation, and changes of the voters. An endpoint that has changed since the directory was
 * formatted stays as it is in the voters' record.
 */
import { assert } from '../lib/assert.ts';
import { isUuid } from '../lib/uuid.ts';
import type { DiskInput, Env, Outbox } from '../lib/world.ts';
import { appendOwn, checkLog, closeLog, createLog, logDeadlineMs, roomOfLog, stepLog, wakeLog } from '../log/log.ts';
import type { LogEvent } from '../log/types.ts';
import { failRaft, failureText, isDeviceFailure } from './asks.ts';
import { valuesBatch, valuesSizeBytes } from './batches.ts';
import { advance, ELECT_BACKOFF_MS_MIN, resign, standForElection, takeCandidacy } from './election.ts';
import { METADATA_PARTITION, METADATA_TOPIC, metadataFolder } from './names.ts';
import { beginOpening, takeFile, takeListed, takeOpeningCheckpoint, takeQuorumState } from './opening.ts';
import { takeLogOpened, takeWalked } from './opening-log.ts';
import { dropReading, takeCheckpointSlice, takeLogSlice } from './reading.ts';
import type { Raft, RaftAsk, RaftEvent, RaftFound, RaftOptions } from './state.ts';
import { abandonSnapshot, takeWritten } from './writing.ts';

export { beginReading, readMore } from './reading.ts';
export { isSnapshotDue, snapshotDeadlineMs, tidySnapshots } from './snapshots.ts';
export type { Raft, RaftConfig, RaftEvent, RaftFound, RaftOptions, Slice } from './state.ts';
export { beginSnapshot, writeSnapshot } from './writing.ts';

/** The most bytes of one batch of metadata records; Kafka's limit. */
export const BATCH_BYTES_MAX = 8 * 1024 * 1024;

/** A member that has not been opened: nothing is asked of the world yet. */
export function createRaft(options: RaftOptions): Raft {
  const { owner, ids, nodeId, directoryId, staticVoters, config } = options;
  assert(isUuid(directoryId), 'a log directory has an id');
  assert(config.log.flushMessages === 1, 'a quorum counts only what is synced');
  const folder = metadataFolder(options.folder);
  const place = { owner, ids, topic: METADATA_TOPIC, partition: METADATA_PARTITION, folder };
  return {
    owner,
    ids,
    nodeId,
    directoryId,
    staticVoters,
    config,
    folder,
    log: createLog({ ...place, config: config.log }),
    stage: 'new',
    role: 'unattached',
    epoch: 0,
    leaderId: -1,
    quorum: { kraftVersion: 0, voters: [] },
    highWatermark: -1,
    lead: null,
    snapshots: [],
    areVotersLogged: false,
    candidacy: null,
    electAtMs: Infinity,
    electBackoffMs: ELECT_BACKOFF_MS_MIN,
    asks: new Map(),
    opening: null,
    reading: null,
    writing: null,
    unsnapshottedBytes: 0,
    snapshotAtMs: Infinity,
    badSnapshots: [],
  };
}

/** Opens the member and lets it stand for election: the event 'leading' or 'failed' follows. */
export function openRaft(raft: Raft, found: RaftFound, out: Outbox): void {
  assert(raft.stage === 'new', 'a member is opened once');
  beginOpening(raft, found, out);
}

/** Takes an answer of the disk whose owner is `raft.owner`. One for a ticket that is not known any more is dropped. */
export function stepRaft(raft: Raft, env: Env, input: DiskInput, out: Outbox, events: RaftEvent[]): void {
  if (raft.stage === 'failed' || raft.stage === 'closed') return;
  const what = raft.asks.get(input.ticket);
  if (what !== undefined) {
    raft.asks.delete(input.ticket);
    takeAnswer(raft, env, what, input, out, events);
    return;
  }
  const logEvents: LogEvent[] = [];
  stepLog(raft.log, env, input, out, logEvents);
  takeLogEvents(raft, env, logEvents, out, events);
}

function takeAnswer(raft: Raft, env: Env, what: RaftAsk, input: DiskInput, out: Outbox, events: RaftEvent[]): void {
  switch (what.kind) {
    case 'list':
      takeListed(raft, env, input, out, events);
      break;
    case 'quorumState':
      takeQuorumState(raft, env, input, out, events);
      break;
    case 'files':
      takeFile(raft, env, input, out, events);
      break;
    case 'candidacy':
      takeCandidacy(raft, env, input, out, events);
      break;
    case 'checkpoint':
      takeCheckpointAnswer(raft, env, what.file, input, out, events);
      break;
    case 'writing':
      takeWritten(raft, env, what.file, input, out, events);
      break;
    default:
      if (isDeviceFailure(input)) failRaft(raft, failureText(raft, input), events);
  }
}

function takeCheckpointAnswer(
  raft: Raft,
  env: Env,
  file: number,
  input: DiskInput,
  out: Outbox,
  events: RaftEvent[],
): void {
  const reader = raft.reading?.reader ?? null;
  if (reader === null || reader.file !== file) return;
  if (raft.opening !== null) takeOpeningCheckpoint(raft, env, reader, input, out, events);
  else takeCheckpointSlice(raft, env, reader, input, out, events);
}

function takeLogEvents(raft: Raft, env: Env, logEvents: LogEvent[], out: Outbox, events: RaftEvent[]): void {
  for (const event of logEvents) takeLogEvent(raft, env, event, out, events);
  advance(raft, events);
}

function takeLogEvent(raft: Raft, env: Env, event: LogEvent, out: Outbox, events: RaftEvent[]): void {
  switch (event.kind) {
    case 'opened':
      takeLogOpened(raft, env, out, events);
      break;
    case 'cutBack':
      resign(raft, env, events);
      break;
    case 'readDone':
      if (raft.opening?.ticket === event.ticket) takeWalked(raft, env, event.outcome, out, events);
      else if (raft.reading?.ticket === event.ticket) takeLogSlice(raft, env, event.outcome, events);
      break;
    case 'closed':
      raft.stage = 'closed';
      events.push({ kind: 'closed' });
      break;
    case 'failed':
      failRaft(raft, event.detail, events);
      break;
    default:
      break; // 'durable' is looked at when all events are taken.
  }
}

/** How many more batches the member takes before its disk must answer; 0 while it does not lead or is not confirmed. */
export function roomOf(raft: Raft): number {
  if (raft.stage !== 'open' || raft.lead?.isConfirmed !== true) return 0;
  return roomOfLog(raft.log);
}

/**
 * Appends one batch of records, given by their values; only with room. The records are committed once the high
 * watermark is at or above `nextOffset`. A batch larger than `BATCH_BYTES_MAX` is the caller's mistake: see
 * `valuesSizeBytes`.
 */
export function appendRecords(
  raft: Raft,
  env: Env,
  values: readonly Uint8Array[],
  out: Outbox,
): { readonly baseOffset: number; readonly nextOffset: number } {
  assert(roomOf(raft) > 0, 'records are appended with room');
  assert(valuesSizeBytes(values) <= BATCH_BYTES_MAX, 'a batch of metadata fits into the largest that may be');
  const place = { baseOffset: raft.log.end, leaderEpoch: raft.epoch, timestampMs: env.wallMs };
  const bytes = valuesBatch(values, place);
  const { baseOffset, nextOffset } = appendOwn(raft.log, env, bytes, raft.epoch, out);
  raft.unsnapshottedBytes += bytes.length;
  return { baseOffset, nextOffset };
}

/** When the member next has something to do by itself, in `env.nowMs`; Infinity when nothing waits. */
export function raftDeadlineMs(raft: Raft): number {
  return Math.min(logDeadlineMs(raft.log), raft.electAtMs);
}

/** The deadline has come, or might have. Whether a snapshot is due is for the owner to ask: `isSnapshotDue`. */
export function wakeRaft(raft: Raft, env: Env, out: Outbox, events: RaftEvent[]): void {
  if (raft.stage !== 'open') return;
  const logEvents: LogEvent[] = [];
  wakeLog(raft.log, env, out, logEvents);
  takeLogEvents(raft, env, logEvents, out, events);
  if (raft.stage === 'open' && env.nowMs >= raft.electAtMs) standForElection(raft, out);
}

/** Stops cleanly: the event 'closed' follows, at once where the member is not open. */
export function closeRaft(raft: Raft, env: Env, out: Outbox, events: RaftEvent[]): void {
  if (raft.stage === 'closing' || raft.stage === 'closed' || raft.stage === 'failed') return;
  abandonSnapshot(raft, env, out, events);
  dropReading(raft, out);
  raft.lead = null;
  raft.role = 'resigned';
  raft.electAtMs = Infinity;
  raft.candidacy = null;
  raft.opening = null;
  if (raft.log.state === 'open') {
    raft.stage = 'closing';
    closeLog(raft.log, env, out);
    return;
  }
  raft.stage = 'closed';
  events.push({ kind: 'closed' });
}

/** Throws AssertionError if an invariant is broken; true between any two steps. */
export function checkRaft(raft: Raft): void {
  checkLog(raft.log);
  const { lead, role, highWatermark, log, snapshots, stage } = raft;
  assert((lead !== null) === (role === 'leader'), 'a leader knows what a leader knows');
  if (stage !== 'open') return;
  assert(highWatermark <= log.durable, 'records were committed before they were durable');
  let before = -1;
  for (const { endOffset } of snapshots) {
    assert(endOffset > before, 'snapshots ascend');
    before = endOffset;
  }
  assert(log.start <= Math.max(0, before), 'the log reaches back to the newest snapshot');
  if (lead !== null) assert(lead.epochStartNext <= log.end, 'the batch that began the epoch is in the log');
}
