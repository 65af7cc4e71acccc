/**
 * The leader's side of Fetch: what a follower or an observer reads of the log, and what the leader learns by it.
 *
 * A fetch says where the follower's log ends and of which epoch its last record is. Where the leader's log does not
 * hold that very point, the answer carries no records but the largest epoch that both may share and where it ends
 * (KIP-595), and the follower counts for nothing until it has cut its log there (KAFKA-13141). Where the log no longer
 * reaches back, the answer names a snapshot. Else the follower has synced all below its fetch offset, and what stands
 * behind it is read up to the very end: the leader need not have synced what it serves.
 *
 * A fetch that finds nothing waits, for records or for a higher high watermark than the follower knows (KIP-1166). A
 * second fetch of the same member answers the one that waits.
 */
import { endOffsetForEpoch, readLog } from '../log/log.ts';
import type { ReadOutcome } from '../log/types.ts';
import { ErrorCode } from '../protocol/errors.ts';
import type { RequestOf } from '../protocol/messages/index.ts';
import { reply } from './calls.ts';
import { advanceLeader, noteFetch } from './leading.ts';
import { tendVoterChange } from './membership.ts';
import { FETCH_BYTES_MAX, fetchPartitionOf, fetchResponse } from './messages.ts';
import { BOOTSTRAP_ID, type SnapshotId } from './names.ts';
import type { ParkedFetch } from './role-state.ts';
import type { Raft, Turn } from './state.ts';

/** Fetches that wait, at most; one more is answered at once. */
const PARKED_MAX = 8192;
/** The longest that a fetch waits, ms. */
const WAIT_MS_MAX = 30_000;

/** Whether the log of a follower is a piece of the leader's, and if not, what is to be done. */
export type Fit =
  | { readonly kind: 'sound' }
  | { readonly kind: 'diverging'; readonly epoch: number; readonly endOffset: number }
  | { readonly kind: 'snapshot'; readonly id: SnapshotId };

/** Compares a log that ends at `offset`, its last record of `epoch`, with the own one. */
function fitOf(raft: Raft, offset: number, epoch: number): Fit {
  const { log, snapshots } = raft;
  const newest = snapshots[snapshots.length - 1] ?? BOOTSTRAP_ID;
  const base = snapshots.find(({ endOffset }) => endOffset === log.start) ?? newest;
  const isCut = log.start > 0 && newest.endOffset > 0;
  const isBelow = offset < log.start || (offset === log.start && epoch !== base.epoch) || epoch < base.epoch;
  // An empty log is filled faster by the snapshot, even where the log reaches back to its beginning.
  if (newest.endOffset > 0 && (offset === 0 || (isCut && isBelow))) return { kind: 'snapshot', id: newest };
  if (offset === 0 && log.start === 0) return { kind: 'sound' };
  if (isCut && offset === log.start) return { kind: 'sound' };
  const end = endOffsetForEpoch(log, epoch);
  if (end.leaderEpoch === epoch && offset <= end.endOffset) return { kind: 'sound' };
  return { kind: 'diverging', epoch: end.leaderEpoch, endOffset: end.endOffset };
}

/** Another member fetches. */
export function takeFetchRequest(turn: Turn, version: number, body: RequestOf<1>, waiter: number): void {
  const { raft, env } = turn;
  const { lead } = raft;
  const partition = fetchPartitionOf(body);
  const refuse = (errorCode: ErrorCode): void => reply(turn, waiter, 1, fetchResponse(raft, version, { errorCode }));
  if (partition === null) {
    refuse(ErrorCode.UNKNOWN_TOPIC_ID);
    return;
  }
  const fault = leaderFault(raft, partition.currentLeaderEpoch);
  if (fault !== ErrorCode.NONE || lead === null) {
    refuse(fault);
    return;
  }
  const { fetchOffset, lastFetchedEpoch, replicaDirectoryId } = partition;
  if (fetchOffset < 0 || lastFetchedEpoch < 0 || lastFetchedEpoch > raft.epoch || body.maxWaitMs < 0) {
    refuse(ErrorCode.INVALID_REQUEST);
    return;
  }
  const replicaId = body.replicaState.replicaId >= 0 ? body.replicaState.replicaId : body.replicaId;
  answerParked(turn, (one) => one.replicaId === replicaId && one.directoryId === replicaDirectoryId);
  const fit = fitOf(raft, fetchOffset, lastFetchedEpoch);
  if (replicaId >= 0) noteFetch(turn, lead, replicaId, replicaDirectoryId, fit.kind === 'sound' ? fetchOffset : null);
  if (fit.kind !== 'sound') {
    env.reached(fit.kind === 'diverging' ? 'raft.fetch.diverging' : 'raft.fetch.snapshot');
    const errorCode = ErrorCode.NONE;
    const found =
      fit.kind === 'snapshot'
        ? { errorCode, snapshotId: fit.id }
        : { errorCode, divergingEpoch: { epoch: fit.epoch, endOffset: fit.endOffset } };
    reply(turn, waiter, 1, fetchResponse(raft, version, found));
    return;
  }
  advanceLeader(turn);
  tendVoterChange(turn, lead);
  if (raft.lead !== lead) {
    // It was this fetch that committed the removal of this leader.
    refuse(ErrorCode.NOT_LEADER_OR_FOLLOWER);
    return;
  }
  const fetch: ParkedFetch = {
    waiter,
    version,
    replicaId,
    directoryId: replicaDirectoryId,
    offset: fetchOffset,
    sizeBytesMax: Math.min(body.maxBytes, partition.partitionMaxBytes, FETCH_BYTES_MAX),
    highWatermark: partition.highWatermark,
    untilMs: env.nowMs + Math.min(body.maxWaitMs, WAIT_MS_MAX),
  };
  if (isReady(raft, env.nowMs, fetch) || lead.parked.length >= PARKED_MAX) serve(turn, fetch);
  else lead.parked.push(fetch);
}

/** Why a request that only the leader of `epoch` may answer is refused; NONE if it is not. */
export function leaderFault(raft: Raft, epoch: number): ErrorCode {
  if (epoch < raft.epoch) return ErrorCode.FENCED_LEADER_EPOCH;
  if (epoch > raft.epoch) return ErrorCode.UNKNOWN_LEADER_EPOCH;
  return raft.lead === null ? ErrorCode.NOT_LEADER_OR_FOLLOWER : ErrorCode.NONE;
}

function isReady(raft: Raft, nowMs: number, fetch: ParkedFetch): boolean {
  return fetch.offset < raft.log.end || fetch.highWatermark < raft.highWatermark || nowMs >= fetch.untilMs;
}

/** Answers the fetches that wait and need not any more. */
export function completeFetches(turn: Turn): void {
  const { raft, env } = turn;
  if (raft.lead === null) return;
  raft.lead.hasNews = false;
  answerParked(turn, (one) => isReady(raft, env.nowMs, one));
}

function answerParked(turn: Turn, isDone: (fetch: ParkedFetch) => boolean): void {
  const { lead } = turn.raft;
  if (lead === null || lead.parked.length === 0) return;
  const { parked } = lead;
  lead.parked = parked.filter((one) => !isDone(one));
  if (lead.parked.length === parked.length) return;
  for (const one of parked) if (isDone(one)) serve(turn, one);
}

function serve(turn: Turn, fetch: ParkedFetch): void {
  const { raft, env, out } = turn;
  const { offset, sizeBytesMax } = fetch;
  if (offset >= raft.log.end) {
    reply(turn, fetch.waiter, 1, fetchResponse(raft, fetch.version, { errorCode: ErrorCode.NONE }));
    return;
  }
  const outcome = readLog(raft.log, env, { offset, sizeBytesMax, upTo: raft.log.end, minOne: true }, out);
  if (outcome.kind === 'pending') raft.lead?.reading.set(outcome.ticket, fetch);
  else answerRead(turn, fetch, outcome);
}

/** A read of the log has come to its end; it may be nobody's by now. */
export function takeFetchRead(turn: Turn, ticket: number, outcome: ReadOutcome): void {
  const { lead } = turn.raft;
  const fetch = lead?.reading.get(ticket);
  if (fetch === undefined) return;
  lead?.reading.delete(ticket);
  answerRead(turn, fetch, outcome);
}

function answerRead(turn: Turn, fetch: ParkedFetch, outcome: ReadOutcome): void {
  const { raft } = turn;
  if (outcome.kind === 'pending') return;
  const found =
    outcome.kind === 'batches'
      ? { errorCode: ErrorCode.NONE, records: outcome.parts }
      : { errorCode: outcome.error as ErrorCode };
  reply(turn, fetch.waiter, 1, fetchResponse(raft, fetch.version, found));
}
