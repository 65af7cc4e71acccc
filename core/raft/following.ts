/**
 * What a follower does, and an observer likewise: it fetches from the leader, one fetch at a time.
 *
 * What was fetched is appended and synced before the next fetch leaves, so that its offset says what is synced; the
 * leader counts it as that. An answer may also say that the logs part somewhere, and this one is cut there, never below
 * the high watermark; or that the leader's log no longer reaches back, and a snapshot takes the place of the log
 * (`download.ts`). The high watermark is the leader's, as far as this member has synced; an answer that parts the logs
 * says nothing of it (KAFKA-14704).
 *
 * A follower that hears nothing for the fetch time-out looks for another leader; at once, but for a short pause by
 * dice, where the leader's port refuses, for then its process is dead. A voter stands for election, an observer asks
 * any member for who leads.
 */
import { backoffMs, throwDice } from '../channel/backoff.ts';
import { assert } from '../lib/assert.ts';
import { ProtocolError } from '../lib/protocol-error.ts';
import { appendAsFollower, damageFrom, endOffsetForEpoch, truncateTo } from '../log/log.ts';
import { baseOffset as baseOffsetOf, batchSizeBytes, dataViewOf } from '../protocol/batch.ts';
import { ErrorCode } from '../protocol/errors.ts';
import type { ResponseOf } from '../protocol/messages/index.ts';
import { failRaft } from './asks.ts';
import { readControls } from './batches.ts';
import { askPeer } from './calls.ts';
import { beginDownload, fetchPiece } from './download.ts';
import { electionTimedOut } from './election.ts';
import { fetchRequest, type LeaderNews, newsOf } from './messages.ts';
import { damageText } from './opening-log.ts';
import { tendOwnVoter } from './own-voter.ts';
import type { CallOutcome, Follow } from './role-state.ts';
import { electionPauseMs, fallBack, learnLeader, missedLeaderMs } from './roles.ts';
import { logEnd, mayStand, otherVoters, type Raft, type Turn } from './state.ts';
import { noteVoters, takeBackVoters } from './voter-history.ts';

/** The longest that a fetch waits at the leader, ms; half of the fetch time-out where that is less. */
const FETCH_WAIT_MS_MAX = 500;
/** The first and the longest pause after a fetch in vain, ms. */
const FETCH_RETRY_MS_MIN = 20;
const FETCH_RETRY_MS_MAX = 500;

type FetchPartition = ResponseOf<1>['responses'][number]['partitions'][number];

/** Fetches, if nothing stands against it. */
export function pumpFollower(turn: Turn): void {
  const { raft, env } = turn;
  const { follow } = raft;
  if (follow === null || raft.stage !== 'open' || !mayFetch(raft, follow)) return;
  if (follow.retryAtMs !== Infinity && env.nowMs < follow.retryAtMs) return;
  follow.retryAtMs = Infinity;
  if (follow.download !== null) {
    fetchPiece(turn, follow, follow.download);
    return;
  }
  follow.isFetching = true;
  const waitMs = Math.min(FETCH_WAIT_MS_MAX, Math.floor(raft.peers.times.fetchTimeoutMs / 2));
  askPeer(turn, raft.leaderId, { apiKey: 1, body: fetchRequest(raft, logEnd(raft).epoch, waitMs) });
}

/** Whether nothing is awaited that comes before the next fetch. */
function mayFetch(raft: Raft, follow: Follow): boolean {
  if (raft.changing !== null || raft.installing !== null) return false;
  const isWriting = follow.download !== null && follow.download.stage !== 'fetch';
  return !follow.isFetching && !follow.isCutting && !isWriting && raft.log.durable >= raft.log.end;
}

/** When a follower has something to do, `env.nowMs`. */
export function followDeadlineMs(raft: Raft, follow: Follow): number {
  return mayFetch(raft, follow) ? follow.retryAtMs : Infinity;
}

/** The time without news from the leader is over. */
export function followTimedOut(turn: Turn): void {
  if (mayStand(turn.raft)) electionTimedOut(turn);
  else fallBack(turn, 'unattached');
}

/** Asks anyone who leads: for an observer that does not know. */
export function seekLeader(turn: Turn): void {
  const { raft, env } = turn;
  // Nobody else answers where an earlier directory of this node did.
  const ids = otherVoters(raft).flatMap(({ id }) => (id === raft.nodeId ? [] : id));
  for (let i = 0; i < raft.peers.bootstrapCount; i++) ids.push(-1 - i);
  // One that is never answered is forgotten, and another is asked.
  raft.timerMs = env.nowMs + raft.peers.times.requestTimeoutMs + electionPauseMs(raft);
  raft.calls.clear();
  askOne(turn, ids);
}

/** Asks a bootstrap server who leads: for a voter that nobody elects, whose fellows may all have been replaced. */
export function askBootstrap(turn: Turn): void {
  const ids = Array.from({ length: turn.raft.peers.bootstrapCount }, (_, i) => -1 - i);
  askOne(turn, ids);
}

function askOne(turn: Turn, ids: readonly number[]): void {
  const { raft } = turn;
  if (ids.length === 0) return;
  const nodeId = ids[throwDice(raft, ids.length)] as number;
  askPeer(turn, nodeId, { apiKey: 1, body: fetchRequest(raft, logEnd(raft).epoch, 0) });
}

/** The answer to a fetch, or that there is none. */
export function takeFetchAnswer(turn: Turn, outcome: CallOutcome): void {
  const { raft } = turn;
  const { follow } = raft;
  const response = 'response' in outcome ? (outcome.response as ResponseOf<1>) : null;
  const news = response === null ? null : newsOf(1, response);
  if (news !== null) noteEndpoints(raft, news);
  if (follow === null) {
    takeSought(turn, news);
    return;
  }
  follow.isFetching = false;
  if (response === null || news === null) {
    fetchFailed(turn, follow, 'failure' in outcome ? outcome.failure : 'error');
    return;
  }
  if (news.errorCode !== ErrorCode.NONE) {
    if (!learnLeader(turn, news.leaderId, news.leaderEpoch)) fetchFailed(turn, follow, causeOf(raft, news));
    return;
  }
  noteAlive(turn, follow);
  takeFetched(turn, follow, response.responses[0]?.partitions[0] as FetchPartition);
  if (raft.follow === follow) tendOwnVoter(turn, follow);
  pumpFollower(turn);
}

function causeOf(raft: Raft, news: LeaderNews): 'error' | 'resigned' {
  const isResigned = news.errorCode === ErrorCode.NOT_LEADER_OR_FOLLOWER && news.leaderEpoch === raft.epoch;
  return isResigned ? 'resigned' : 'error';
}

/** Members of whom others have said where they listen, at most; then all are forgotten. */
const ENDPOINTS_MAX = 64;

/** Where the leader listens, if a response says it. */
export function noteEndpoints(raft: Raft, news: LeaderNews): void {
  if (raft.endpoints.size > ENDPOINTS_MAX) raft.endpoints.clear();
  for (const { nodeId, host, port } of news.endpoints) {
    if (nodeId === news.leaderId && nodeId !== raft.nodeId) raft.endpoints.set(nodeId, { name: '', host, port });
  }
}

/** An observer has heard from the member that it asked. */
function takeSought(turn: Turn, news: LeaderNews | null): void {
  const { raft, env } = turn;
  if (raft.role !== 'unattached' && raft.role !== 'resigned') return;
  if (news !== null && learnLeader(turn, news.leaderId, news.leaderEpoch)) return;
  // A voter stands again in its time.
  if (mayStand(raft)) return;
  raft.electFailures += 1;
  raft.timerMs = env.nowMs + electionPauseMs(raft);
}

/** The leader has answered: it lives. */
export function noteAlive(turn: Turn, follow: Follow): void {
  const { raft, env } = turn;
  follow.failures = 0;
  if (follow.hasEnded) return;
  follow.hasFetched = true;
  raft.electFailures = 0;
  raft.timerMs = env.nowMs + missedLeaderMs(raft);
}

/** A fetch was in vain: it is tried again, and what follows from the reason is not waited for. */
export function fetchFailed(
  turn: Turn,
  follow: Follow,
  why: 'refused' | 'timedOut' | 'closed' | 'resigned' | 'error',
): void {
  const { raft, env } = turn;
  follow.failures += 1;
  follow.hasFetched = false;
  const isDead = why === 'refused' || why === 'resigned';
  if (isDead) env.reached('raft.leader_is_gone');
  if (isDead && mayStand(raft)) {
    raft.electFailures += 1;
    raft.timerMs = Math.min(raft.timerMs, env.nowMs + electionPauseMs(raft));
  } else if (isDead) {
    raft.electFailures += 1;
    fallBack(turn, 'unattached');
    return;
  }
  // A connection that ended is made anew at once: only then is it known whether anyone is there.
  const isFirst = why === 'closed' && follow.failures === 1;
  const pauseMs = isFirst ? 0 : backoffMs(raft, follow.failures, FETCH_RETRY_MS_MIN, FETCH_RETRY_MS_MAX);
  follow.retryAtMs = env.nowMs + pauseMs;
  pumpFollower(turn);
}

function takeFetched(turn: Turn, follow: Follow, partition: FetchPartition): void {
  const { divergingEpoch, snapshotId, records, highWatermark } = partition;
  if (divergingEpoch.epoch >= 0 || divergingEpoch.endOffset >= 0) {
    cutLog(turn, follow, divergingEpoch.epoch, divergingEpoch.endOffset);
    return;
  }
  if (snapshotId.endOffset >= 0) {
    beginDownload(turn, follow, { endOffset: snapshotId.endOffset, epoch: snapshotId.epoch });
    return;
  }
  if (records !== null && records.length > 0) append(turn, follow, records);
  follow.leaderHighWatermark = Math.max(follow.leaderHighWatermark, highWatermark);
  advanceFollower(turn);
}

/** Cuts the log to where both logs may still be the same. */
function cutLog(turn: Turn, follow: Follow, epoch: number, endOffset: number): void {
  const { raft, env, out, events } = turn;
  const { log } = raft;
  const own = endOffsetForEpoch(log, epoch);
  const offset = own.leaderEpoch === epoch ? Math.min(own.endOffset, endOffset) : own.endOffset;
  // The leader knows none of our epochs: nothing of this log is known to be shared.
  const target = Math.max(log.start, epoch < 0 ? log.start : offset);
  if (target < raft.highWatermark) {
    failRaft(
      raft,
      `the leader asks to cut the metadata log in ${raft.folder} at offset ${target}, below what is committed, ` +
        `offset ${raft.highWatermark}: a majority of the quorum has lost its log`,
      events,
    );
    return;
  }
  env.reached('raft.follower.cut');
  if (target >= log.end) {
    follow.failures += 1;
    follow.retryAtMs = env.nowMs + backoffMs(raft, follow.failures, FETCH_RETRY_MS_MIN, FETCH_RETRY_MS_MAX);
  }
  follow.isCutting = !truncateTo(log, env, target, out);
}

/**
 * Nothing was cut. `offset` begins the batch that the cut would have gone through, and it is cut there. Or what lies
 * there cannot be read: that is never cut away, whatever is known here to be committed, because this voter may have
 * said that it has it, and others may have counted on that.
 */
export function takeCutRefused({ raft, env, out, events }: Turn, offset: number): void {
  const { follow, log, highWatermark } = raft;
  if (follow === null || !follow.isCutting) return;
  env.reached('raft.follower.cut_refused');
  const damage = damageFrom(log, offset);
  if (damage !== null && damage.start <= offset) {
    failRaft(raft, damageText(raft, offset), events);
  } else {
    assert(offset >= highWatermark, 'what is committed ends with a batch');
    follow.isCutting = !truncateTo(log, env, offset, out);
  }
}

/** The log was cut, and ends at `offset`. */
export function takeTruncated(turn: Turn, offset: number): void {
  const { raft } = turn;
  takeBackVoters(raft, offset);
  if (raft.follow === null) return;
  raft.follow.isCutting = false;
  pumpFollower(turn);
}

function append(turn: Turn, follow: Follow, records: Uint8Array): void {
  const { raft, env, out, events } = turn;
  const { usedBytes, error } = appendAsFollower(raft.log, env, records, raft.epoch, out);
  raft.unsnapshottedBytes += usedBytes;
  const problem = noteControls(turn, records.subarray(0, usedBytes));
  if (problem !== null) {
    failRaft(raft, problem, events);
    return;
  }
  if (error === ErrorCode.NONE) return;
  env.reached('raft.follower.refused_records');
  follow.failures += 1;
  follow.retryAtMs = env.nowMs + backoffMs(raft, follow.failures, FETCH_RETRY_MS_MIN, FETCH_RETRY_MS_MAX);
}

/** What control batches say of the voters counts at once, as Raft has it. The sentence of a problem, or null. */
function noteControls(turn: Turn, records: Uint8Array): string | null {
  const { raft, env } = turn;
  const view = dataViewOf(records);
  for (let at = 0; at < records.length; ) {
    const sizeBytes = batchSizeBytes(view, at);
    try {
      const controls = readControls(records.subarray(at, at + sizeBytes), env);
      if (controls !== null) noteVoters(raft, controls, baseOffsetOf(view, at));
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      const offset = baseOffsetOf(view, at);
      return `a control record of the metadata log cannot be read behind offset ${offset}: ${error.message}`;
    }
    at += sizeBytes;
  }
  return null;
}

/** More is synced, or the leader has said that more is committed. */
export function advanceFollower(turn: Turn): void {
  const { raft, events } = turn;
  const { follow, log } = raft;
  if (follow === null || follow.isCutting || raft.installing !== null) return;
  const reached = Math.min(follow.leaderHighWatermark, log.durable);
  if (reached <= raft.highWatermark) return;
  assert(reached >= log.start, 'what is committed is not below the start of the log');
  raft.highWatermark = reached;
  events.push({ kind: 'committed' });
}
