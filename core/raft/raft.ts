/**
 * One member of a quorum: Kafka's KRaft (KIP-595, KIP-630, KIP-996, with the voters of KIP-853).
 *
 * Theory of operation. The quorum's log `__cluster_metadata-0` is the truth; everything else is built from it. One
 * voter leads an epoch at most, and only the leader of an epoch appends in it; the others fetch from the leader. A
 * record is committed when a majority of the voters has synced it together with a record of the leader's own epoch; no
 * later leader can be without it, because a majority votes and nobody votes for a log that is behind its own.
 *
 * Where to read on:
 * - `opening.ts`, `opening-log.ts`: from a folder to a member: the vote of earlier lives, the newest snapshot, the log.
 * - `roles.ts`: from one role to the next, with epoch, vote and leader on the disk before anybody hears of them.
 * - `election.ts`: pre-vote and vote. `leading.ts`: high watermark, check of the quorum, begin and end of an epoch.
 * - `serve-fetch.ts`, `serve-snapshot.ts`: what leaders serve. `following.ts`, `download.ts`: what followers fetch.
 * - `membership.ts`: how voters come and go. `own-voter.ts`: how a member sees to it that it is one, and is found.
 * - `reading.ts`: what is committed, for the owner. `writing.ts`, `snapshots.ts`: snapshots, under which logs are cut.
 *
 * The member touches neither connections nor clocks. It asks others by events 'call', whose answers its host brings to
 * `takeCallAnswer`; it is asked by `takeRequest` and answers by events 'reply'. A crash loses all that stands here.
 *
 * `controller.quorum.append.linger.ms` does not act: each batch is appended at once, and one sync serves many.
 */
import { assert } from '../lib/assert.ts';
import { isUuid, ZERO_UUID } from '../lib/uuid.ts';
import type { DiskInput, Env, Outbox } from '../lib/world.ts';
import {
  appendOwn,
  checkLog,
  closeLog,
  createLog,
  logDeadlineMs,
  recoveryPoint,
  roomOfLog,
  stepLog,
  wakeLog,
} from '../log/log.ts';
import type { LogEvent } from '../log/types.ts';
import { failRaft, failureText, isDeviceFailure } from './asks.ts';
import { valuesBatch, valuesSizeBytes } from './batches.ts';
import { dropDownload, FULL_RETRY_MS, takeDownloaded, takeReset } from './download.ts';
import { electionTimedOut, requestVotes } from './election.ts';
import {
  advanceFollower,
  followDeadlineMs,
  followTimedOut,
  pumpFollower,
  seekLeader,
  takeCutRefused,
  takeTruncated,
} from './following.ts';
import { advanceLeader, handOver, leadDeadlineMs, wakeLeader } from './leading.ts';
import { METADATA_PARTITION, METADATA_TOPIC, metadataFolder } from './names.ts';
import { beginOpening, takeFile, takeListed, takeOpeningCheckpoint, takeQuorumState } from './opening.ts';
import { takeLogOpened, takeWalked } from './opening-log.ts';
import { dropReading, takeCheckpointSlice, takeLogSlice } from './reading.ts';
import { refuseDeferred, resumeDeferred } from './requests.ts';
import { resign, takeChanged } from './roles.ts';
import { completeFetches, takeFetchRead } from './serve-fetch.ts';
import { takeServed } from './serve-snapshot.ts';
import {
  mayStand,
  type PeerOptions,
  type Raft,
  type RaftAsk,
  type RaftEvent,
  type RaftFound,
  type RaftOptions,
  type Turn,
} from './state.ts';
import { takeBackVoters } from './voter-history.ts';
import { abandonSnapshot, takeWritten } from './writing.ts';

export { acceptSlice, beginReading, beginReadingAt, dropReading, isBehind, readMore } from './reading.ts';
export { takeCallAnswer, takeRequest } from './requests.ts';
export type { CallKey, CallOutcome, PeerEvent, PeerKey, PeerRequest } from './role-state.ts';
export { isSnapshotDue, snapshotDeadlineMs, tidySnapshots } from './snapshots.ts';
export type { PeerOptions, Raft, RaftConfig, RaftEvent, RaftFound, RaftOptions, RaftTimes, Slice } from './state.ts';
export { knownLeader, stateName } from './state.ts';
export { endpointOf } from './voters.ts';
export { beginSnapshot, writeSnapshot } from './writing.ts';

/** The most bytes of one batch of metadata records; Kafka's limit. */
export const BATCH_BYTES_MAX = 8 * 1024 * 1024;
/**
 * A snapshot that takes the place of the log, and what was fetched and is not synced, are waited for so long before a
 * voter may stand for election, ms.
 */
const WRITING_PAUSE_MS = 50;

/** Kafka's defaults, save that a follower misses its leader after 1 s, not 2 s. */
const NO_PEERS: PeerOptions = {
  clusterId: null,
  seed: 1,
  times: { electionTimeoutMs: 1000, fetchTimeoutMs: 1000, electionBackoffMaxMs: 1000, requestTimeoutMs: 2000 },
  bootstrapCount: 0,
  mayObserve: false,
  listenerName: '',
  endpoints: [],
  autoJoins: false,
};

/** A member that has not been opened: nothing is asked of the world yet. */
export function createRaft(options: RaftOptions): Raft {
  const { owner, ids, nodeId, directoryId, staticVoters, config } = options;
  assert(isUuid(directoryId), 'a log directory has an id');
  assert(config.log.flushMessages === 1, 'a quorum counts only what is synced');
  const folder = metadataFolder(options.folder);
  const place = { owner, ids, topic: METADATA_TOPIC, partition: METADATA_PARTITION, folder };
  const peers = options.peers ?? NO_PEERS;
  return {
    owner,
    ids,
    nodeId,
    directoryId,
    staticVoters,
    config,
    peers,
    folder,
    log: createLog({ ...place, config: config.log }),
    stage: 'new',
    role: 'unattached',
    epoch: 0,
    leaderId: -1,
    votedId: -1,
    votedDirectoryId: ZERO_UUID,
    quorum: { kraftVersion: 0, voters: [] },
    earlierQuorums: [],
    highWatermark: -1,
    lead: null,
    follow: null,
    campaign: null,
    snapshots: [],
    areVotersLogged: false,
    changing: null,
    deferred: [],
    bareWaiters: new Set(),
    timerMs: Infinity,
    electFailures: 0,
    dice: peers.seed >>> 0,
    calls: new Map(),
    endpoints: new Map(),
    asks: new Map(),
    installing: null,
    serving: new Map(),
    opening: null,
    reading: null,
    passes: 0,
    writing: null,
    unsnapshottedBytes: 0,
    snapshotAtMs: Infinity,
    badSnapshots: [],
  };
}

/** Opens the member, which then takes its part in the quorum, or says 'failed'. */
export function openRaft(raft: Raft, found: RaftFound, out: Outbox): void {
  assert(raft.stage === 'new', 'a member is opened once');
  beginOpening(raft, found, out);
}

/** Takes an answer of the disk whose owner is `raft.owner`. One for a ticket that is not known any more is dropped. */
export function stepRaft(raft: Raft, env: Env, input: DiskInput, out: Outbox, events: RaftEvent[]): void {
  if (raft.stage === 'failed' || raft.stage === 'closed') return;
  const turn = { raft, env, out, events };
  const what = raft.asks.get(input.ticket);
  if (what !== undefined) {
    raft.asks.delete(input.ticket);
    takeAnswer(turn, what, input);
    resumeDeferred(turn);
    return;
  }
  const logEvents: LogEvent[] = [];
  stepLog(raft.log, env, input, out, logEvents);
  takeLogEvents(turn, logEvents);
}

function takeAnswer(turn: Turn, what: RaftAsk, input: DiskInput): void {
  const { raft, env, out, events } = turn;
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
    case 'changing':
      takeChanged(turn, input);
      break;
    case 'checkpoint':
      takeCheckpointAnswer(turn, what.file, input);
      break;
    case 'writing':
      takeWritten(raft, env, what.file, input, out, events);
      break;
    case 'download':
      takeDownloaded(turn, what.file, input);
      break;
    case 'serving':
      takeServed(turn, what.file, input);
      break;
    default:
      if (isDeviceFailure(input)) failRaft(raft, failureText(raft, input), events);
  }
}

function takeCheckpointAnswer({ raft, env, out, events }: Turn, file: number, input: DiskInput): void {
  const reader = raft.reading?.reader ?? null;
  if (reader === null || reader.file !== file) return;
  if (raft.opening !== null) takeOpeningCheckpoint(raft, env, reader, input, out, events);
  else takeCheckpointSlice(raft, env, reader, input, out, events);
}

function takeLogEvents(turn: Turn, logEvents: LogEvent[]): void {
  for (const event of logEvents) takeLogEvent(turn, event);
  if (turn.raft.stage !== 'open') return;
  advanceLeader(turn);
  advanceFollower(turn);
  pumpFollower(turn);
}

function takeLogEvent(turn: Turn, event: LogEvent): void {
  const { raft, env, out, events } = turn;
  switch (event.kind) {
    case 'opened':
      takeLogOpened(raft, env, out, events);
      break;
    case 'cutBack':
      // Others may have been sent those bytes, and no epoch may hold two records at one offset.
      takeBackVoters(raft, event.offset);
      resign(turn);
      if (raft.follow !== null) raft.follow.retryAtMs = env.nowMs + FULL_RETRY_MS;
      break;
    case 'truncated':
      if (raft.installing !== null) takeReset(turn);
      else takeTruncated(turn, event.offset);
      break;
    case 'cutRefused':
      takeCutRefused(turn, event.offset);
      break;
    case 'readDone':
      if (raft.opening?.ticket === event.ticket) takeWalked(raft, env, event.outcome, out, events);
      else if (raft.reading?.ticket === event.ticket) takeLogSlice(raft, env, event.outcome, events);
      else takeFetchRead(turn, event.ticket, event.outcome);
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
 * `valuesSizeBytes`. Followers that wait hear of it by `flushRaft`, or by the next wake, which is due at once.
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
  if (raft.lead !== null) raft.lead.hasNews = true;
  return { baseOffset, nextOffset };
}

/** Answers the fetches that wait for what was appended. */
export function flushRaft(raft: Raft, env: Env, out: Outbox, events: RaftEvent[]): void {
  if (raft.stage === 'open' && raft.lead?.hasNews === true) completeFetches({ raft, env, out, events });
}

/** When the member next has something to do by itself, in `env.nowMs`; Infinity when nothing waits. */
export function raftDeadlineMs(raft: Raft): number {
  let deadlineMs = Math.min(logDeadlineMs(raft.log), raft.timerMs);
  if (raft.lead !== null) deadlineMs = Math.min(deadlineMs, leadDeadlineMs(raft, raft.lead));
  if (raft.follow !== null) deadlineMs = Math.min(deadlineMs, followDeadlineMs(raft, raft.follow));
  if (raft.campaign !== null && raft.changing === null) deadlineMs = Math.min(deadlineMs, raft.campaign.retryAtMs);
  return deadlineMs;
}

/** The deadline has come, or might have. Whether a snapshot is due is for the owner to ask: `isSnapshotDue`. */
export function wakeRaft(raft: Raft, env: Env, out: Outbox, events: RaftEvent[]): void {
  if (raft.stage !== 'open') return;
  const turn = { raft, env, out, events };
  const logEvents: LogEvent[] = [];
  wakeLog(raft.log, env, out, logEvents);
  takeLogEvents(turn, logEvents);
  if (raft.stage !== 'open' || raft.changing !== null) return;
  if (raft.lead !== null) wakeLeader(turn, raft.lead);
  else if (env.nowMs >= raft.timerMs) timedOut(turn);
  if (raft.changing === null && raft.campaign !== null && env.nowMs >= raft.campaign.retryAtMs) requestVotes(turn);
}

function timedOut(turn: Turn): void {
  const { raft, env } = turn;
  // A candidate says where its log ends, and stands by that.
  const isUnsynced = mayStand(raft) && raft.log.durable < raft.log.end;
  if (raft.installing !== null || isUnsynced) raft.timerMs = env.nowMs + WRITING_PAUSE_MS;
  else if (raft.follow !== null) followTimedOut(turn);
  else if (mayStand(raft)) electionTimedOut(turn);
  else seekLeader(turn);
}

/**
 * What may stand in recovery-point-offset-checkpoint for this log: all below is synced, and committed too, so that no
 * later cut of the log goes below it. 0 where nothing is known.
 */
export function raftRecoveryPoint(raft: Raft): number {
  return Math.max(0, Math.min(recoveryPoint(raft.log), raft.highWatermark));
}

/**
 * Stops cleanly: a leader tells the others, by calls whose answers it does not wait for; then the event 'closed'
 * follows, at once where the member is not open.
 */
export function closeRaft(raft: Raft, env: Env, out: Outbox, events: RaftEvent[]): void {
  if (raft.stage === 'closing' || raft.stage === 'closed' || raft.stage === 'failed') return;
  const turn = { raft, env, out, events };
  abandonSnapshot(raft, env, out, events);
  dropReading(raft, out);
  handOver(turn);
  dropDownload(turn);
  refuseDeferred(turn);
  raft.follow = null;
  raft.campaign = null;
  raft.changing = null;
  raft.installing = null;
  raft.calls.clear();
  raft.serving.clear();
  raft.role = 'resigned';
  raft.timerMs = Infinity;
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
  const { lead, follow, campaign, role, highWatermark, log, snapshots, stage, changing, installing } = raft;
  assert((lead !== null) === (role === 'leader'), 'a leader knows what a leader knows');
  if (stage !== 'open' || installing !== null) return;
  assert(changing !== null || raft.deferred.length === 0, 'nobody waits while nothing is being written');
  if (changing === null) {
    assert((follow !== null) === (role === 'follower'), 'a follower knows what a follower knows');
    const isCampaigning = role === 'prospective' || role === 'candidate';
    assert((campaign !== null) === isCampaigning, 'an election is under way while it is');
    assert(lead === null || raft.leaderId === raft.nodeId, 'a leader leads its epoch');
    assert(follow === null || raft.leaderId >= 0, 'a follower follows someone');
    assert(role !== 'candidate' || raft.votedId === raft.nodeId, 'a candidate has its own vote');
  }
  assert(highWatermark <= log.durable, 'records were committed before they were durable');
  let before = -1;
  for (const { endOffset } of snapshots) {
    assert(endOffset > before, 'snapshots ascend');
    before = endOffset;
  }
  assert(log.start <= Math.max(0, before), 'the log reaches back to the newest snapshot');
  if (lead !== null) assert(lead.epochStartNext <= log.end, 'the batch that began the epoch is in the log');
  const { kraftVersion, voters } = raft.quorum;
  assert(kraftVersion === 0 || new Set(voters.map(({ id }) => id)).size === voters.length, 'a node votes once');
  const change = lead?.voterChange ?? null;
  assert(change === null || (change.stage === 'committing') === change.offset >= 0, 'a change is in the log or not');
}
