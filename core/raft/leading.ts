/**
 * What a leader does: its first batch, the high watermark, and whether it still may lead.
 *
 * The first batch of the epoch names the leader. Once a majority has synced it, so has it everything before, and the
 * high watermark is known; before that nothing is counted, for a record of an older epoch that a majority holds may
 * still be overwritten (Raft, section 5.4.2, figure 8). Each voter counts to where it says that it has synced: the
 * leader to its own synced end, the others to the offset of their last sound fetch, one whose log is a piece of the
 * leader's.
 *
 * A leader that a majority has not fetched from for one and a half fetch time-outs resigns (KIP-595, check quorum): the
 * others may have another by then. A voter that does not fetch is told of the leader again and again
 * (BeginQuorumEpoch); one that does is left alone, so a quorum at rest costs its long polls and nothing else.
 */
import { roomOfLog } from '../log/log.ts';
import { ErrorCode } from '../protocol/errors.ts';
import type { RequestOf, ResponseOf } from '../protocol/messages/index.ts';
import { appendControls } from './append-controls.ts';
import { startOfEpochBatch } from './batches.ts';
import { askPeer, reply } from './calls.ts';
import { isOwnKey } from './election.ts';
import { dropVoterChange, expireVoterChange, settleVoterChange, voterChangeUntilMs } from './membership.ts';
import { beginRequest, endRequest, epochResponse, fetchResponse, newsOf, partitionOf } from './messages.ts';
import type { CallOutcome, Lead, Replica } from './role-state.ts';
import { fallBack, learnLeader, resign, waitToStand } from './roles.ts';
import { completeFetches } from './serve-fetch.ts';
import { otherVoters, ownVoterOf, type Raft, type Turn } from './state.ts';
import { isSameVoter, isVoter, majorityOffset, type Voter, withVoter } from './voters.ts';

/** Observers that are remembered, at most. */
const OBSERVERS_MAX = 4096;
/** An observer that has not fetched for so long is forgotten, ms. */
const OBSERVER_MS_MAX = 300_000;

/** Begins to lead: the first batch of the epoch goes into the log, and the others are told. */
export function beginToLead(turn: Turn): void {
  const { raft, env } = turn;
  if (raft.stage !== 'open') return;
  const { log, nodeId, quorum, epoch } = raft;
  if (roomOfLog(log) === 0) {
    raft.role = 'resigned';
    waitToStand(raft, env.nowMs);
    return;
  }
  const ids = quorum.voters.map((voter) => voter.id);
  const place = { baseOffset: log.end, leaderEpoch: epoch, timestampMs: env.wallMs };
  const voters = votersToLog(raft);
  const bytes = startOfEpochBatch({ leaderId: nodeId, voterIds: ids, grantingIds: [nodeId] }, voters, place);
  const controls = { kraftVersion: voters === null ? null : quorum.kraftVersion, voters };
  const appended = appendControls(turn, bytes, controls);
  raft.role = 'leader';
  const lead: Lead = {
    epochStart: appended.baseOffset,
    epochStartNext: appended.nextOffset,
    isConfirmed: false,
    replicas: new Map(),
    parked: [],
    reading: new Map(),
    beginAtMs: Infinity,
    hasNews: false,
    voterChange: null,
  };
  raft.lead = lead;
  for (const { id, directoryId } of otherVoters(raft)) lead.replicas.set(id, newReplica(id, directoryId, env.nowMs));
  tellVoters(turn, lead);
}

/**
 * The voters that the first batch of an epoch names; null where the log says all. What only the bootstrap snapshot says
 * must reach those who fetch the log, and where this leader is reached must be true. The set stays as it is.
 */
function votersToLog(raft: Raft): readonly Voter[] | null {
  const { kraftVersion, voters } = raft.quorum;
  if (kraftVersion === 0) return null;
  const own = ownVoterOf(raft);
  const known = voters.find(({ id }) => id === raft.nodeId);
  const isChanged = own !== null && known !== undefined && !isSameVoter(own, known);
  if (!isChanged) return raft.areVotersLogged ? null : voters;
  return withVoter(voters, own);
}

function newReplica(id: number, directoryId: string, nowMs: number): Replica {
  return {
    id,
    directoryId,
    end: -1,
    fetchedAtMs: nowMs,
    fetchedWallMs: -1,
    caughtUpAtMs: -Infinity,
    caughtUpWallMs: -1,
    leaderEndAtFetch: -1,
  };
}

/** The lead is over: whoever waits is sent on. */
export function dropLead(turn: Turn): void {
  const { raft, events } = turn;
  const { lead } = raft;
  if (lead === null) return;
  raft.lead = null;
  dropVoterChange(turn, lead);
  for (const one of [...lead.parked, ...lead.reading.values()]) {
    const errorCode = ErrorCode.NOT_LEADER_OR_FOLLOWER;
    reply(turn, one.waiter, 1, fetchResponse(raft, one.version, { errorCode }));
  }
  events.push({ kind: 'resigned' });
}

/** Tells the voters that have not fetched for half a fetch time-out who leads; all of them at first. */
function tellVoters(turn: Turn, lead: Lead): void {
  const { raft, env } = turn;
  const others = otherVoters(raft);
  lead.beginAtMs = Infinity;
  if (others.length === 0) return;
  const periodMs = Math.max(1, Math.floor(raft.peers.times.fetchTimeoutMs / 2));
  lead.beginAtMs = env.nowMs + periodMs;
  for (const voter of others) {
    const replica = voterReplica(lead, voter);
    const isFetching = replica !== null && replica.fetchedWallMs >= 0 && env.nowMs - replica.fetchedAtMs < periodMs;
    const isAsked = [...raft.calls.values()].some((call) => call.apiKey === 53 && call.nodeId === voter.id);
    if (!isFetching && !isAsked) askPeer(turn, voter.id, { apiKey: 53, body: beginRequest(raft, voter) });
  }
}

/** A voter was told, or was not. */
export function takeBeginAnswer(turn: Turn, outcome: CallOutcome): void {
  if (turn.raft.lead === null) return;
  const news = 'response' in outcome ? newsOf(53, outcome.response as ResponseOf<53>) : null;
  // One that cannot be reached is told again in time, as long as it does not fetch.
  if (news !== null) learnLeader(turn, news.leaderId, news.leaderEpoch);
}

/** When a leader has something to do, `env.nowMs`. */
export function leadDeadlineMs(raft: Raft, lead: Lead): number {
  let deadlineMs = Math.min(lead.beginAtMs, quorumUntilMs(raft, lead), voterChangeUntilMs(lead));
  if (lead.hasNews && lead.parked.length > 0) return -Infinity;
  for (const { untilMs } of lead.parked) deadlineMs = Math.min(deadlineMs, untilMs);
  return deadlineMs;
}

/** The deadline of a leader has come, or might have. */
export function wakeLeader(turn: Turn, lead: Lead): void {
  const { raft, env } = turn;
  if (env.nowMs >= quorumUntilMs(raft, lead)) {
    env.reached('raft.check_quorum');
    resign(turn);
    return;
  }
  if (env.nowMs >= lead.beginAtMs) tellVoters(turn, lead);
  if (env.nowMs >= voterChangeUntilMs(lead)) expireVoterChange(turn, lead);
  completeFetches(turn);
}

/** Until when a majority counts as present: the leader itself, and whoever fetched last. */
function quorumUntilMs(raft: Raft, lead: Lead): number {
  const others = otherVoters(raft);
  const need = Math.floor(raft.quorum.voters.length / 2) + 1 - (raft.quorum.voters.length - others.length);
  if (need <= 0) return Infinity;
  const times = others.map((voter) => voterReplica(lead, voter)?.fetchedAtMs ?? -Infinity).sort((a, b) => b - a);
  return (times[need - 1] ?? -Infinity) + Math.ceil((raft.peers.times.fetchTimeoutMs * 3) / 2);
}

/** What is known of a voter; null where another directory of its node fetches. */
export function voterReplica(lead: Lead, voter: Voter): Replica | null {
  const replica = lead.replicas.get(voter.id);
  return replica !== undefined && isVoter(voter, replica.id, replica.directoryId) ? replica : null;
}

/** A member has been heard of: it fetches. `end`: what it has synced, or null where its log is no piece of this one. */
export function noteFetch(turn: Turn, lead: Lead, id: number, directoryId: string, end: number | null): void {
  const { raft, env } = turn;
  const { log } = raft;
  let replica = lead.replicas.get(id);
  if (replica === undefined || replica.directoryId !== directoryId) {
    forgetObservers(raft, lead, env.nowMs);
    if (lead.replicas.size >= OBSERVERS_MAX) return;
    replica = newReplica(id, directoryId, env.nowMs);
    lead.replicas.set(id, replica);
  }
  if (end !== null) {
    const isBehind = end < log.end;
    if (!isBehind) {
      replica.caughtUpAtMs = env.nowMs;
      replica.caughtUpWallMs = env.wallMs;
    } else if (replica.leaderEndAtFetch >= 0 && end >= replica.leaderEndAtFetch) {
      replica.caughtUpAtMs = replica.fetchedAtMs;
      replica.caughtUpWallMs = replica.fetchedWallMs;
    }
    replica.end = end;
    replica.leaderEndAtFetch = log.end;
  }
  replica.fetchedAtMs = env.nowMs;
  replica.fetchedWallMs = env.wallMs;
}

function forgetObservers(raft: Raft, lead: Lead, nowMs: number): void {
  for (const [id, { fetchedAtMs }] of lead.replicas) {
    const isVoting = raft.quorum.voters.some((voter) => voter.id === id);
    if (!isVoting && nowMs - fetchedAtMs > OBSERVER_MS_MAX) lead.replicas.delete(id);
  }
}

/**
 * More may be synced than was, here or elsewhere: raises the high watermark. A leader that is no voter any more leads
 * no more after that.
 */
export function advanceLeader(turn: Turn): void {
  const { raft, events } = turn;
  const { lead, log, quorum } = raft;
  if (lead === null) return;
  const ends = quorum.voters.map((voter) =>
    isVoter(voter, raft.nodeId, raft.directoryId) ? log.durable : (voterReplica(lead, voter)?.end ?? -1),
  );
  // What another has synced and this leader has not counts only as far as this leader has it durably itself.
  const reached = Math.min(majorityOffset(ends), log.durable);
  if (reached < lead.epochStartNext || reached <= raft.highWatermark) return;
  raft.highWatermark = reached;
  if (!lead.isConfirmed) {
    lead.isConfirmed = true;
    raft.electFailures = 0;
    events.push({ kind: 'leading', epoch: raft.epoch });
  }
  events.push({ kind: 'committed' });
  completeFetches(turn);
  settleVoterChange(turn, lead);
}

/** Another member leads, and says so. */
export function takeBeginRequest(turn: Turn, body: RequestOf<53>, waiter: number): void {
  const { raft } = turn;
  const partition = partitionOf(body);
  const error = partition === null ? ErrorCode.INVALID_REQUEST : epochFault(raft, partition);
  if (partition === null || error !== ErrorCode.NONE) {
    reply(turn, waiter, 53, epochResponse(raft, error));
    return;
  }
  if (!isOwnKey(raft, body.voterId, partition.voterDirectoryId)) {
    reply(turn, waiter, 53, epochResponse(raft, ErrorCode.INVALID_VOTER_KEY));
    return;
  }
  const { leaderId, leaderEpoch } = partition;
  const [endpoint] = body.leaderEndpoints;
  if (endpoint !== undefined) raft.endpoints.set(leaderId, endpoint);
  learnLeader(turn, leaderId, leaderEpoch);
  // The answer promises nothing that a crash could take back: it names what is known on the disk already.
  reply(turn, waiter, 53, epochResponse(raft, ErrorCode.NONE));
}

/** The leader leads no more, and says so: whoever it named first stands at once, the others a little later each. */
export function takeEndRequest(turn: Turn, body: RequestOf<54>, waiter: number): void {
  const { raft, env } = turn;
  const partition = partitionOf(body);
  const error = partition === null ? ErrorCode.INVALID_REQUEST : epochFault(raft, partition);
  if (partition === null || error !== ErrorCode.NONE) {
    reply(turn, waiter, 54, epochResponse(raft, error));
    return;
  }
  const { leaderId, leaderEpoch, preferredCandidates, preferredSuccessors } = partition;
  if (raft.leaderId !== leaderId || raft.epoch !== leaderEpoch) learnLeader(turn, leaderId, leaderEpoch);
  if (raft.follow !== null && raft.leaderId === leaderId) {
    env.reached('raft.end_quorum_epoch');
    const ids =
      preferredCandidates.length > 0 ? preferredCandidates.map((one) => one.candidateId) : preferredSuccessors;
    const position = ids.includes(raft.nodeId) ? ids.indexOf(raft.nodeId) : ids.length;
    raft.follow.hasFetched = false;
    raft.follow.hasEnded = true;
    raft.timerMs = env.nowMs + position * SUCCESSOR_PAUSE_MS;
  }
  reply(turn, waiter, 54, epochResponse(raft, ErrorCode.NONE));
}

/** Between one preferred successor and the next, ms. */
const SUCCESSOR_PAUSE_MS = 100;

function epochFault(raft: Raft, said: { readonly leaderId: number; readonly leaderEpoch: number }): ErrorCode {
  if (said.leaderEpoch < raft.epoch) return ErrorCode.FENCED_LEADER_EPOCH;
  if (said.leaderId < 0 || said.leaderId === raft.nodeId) return ErrorCode.INVALID_REQUEST;
  return ErrorCode.NONE;
}

/** Hands the lead over before a clean stop: the voters that hold most are to stand first. */
export function handOver(turn: Turn): void {
  const { raft } = turn;
  const { lead } = raft;
  if (lead === null) return;
  const voters = otherVoters(raft);
  const endOf = (voter: Voter): number => voterReplica(lead, voter)?.end ?? -1;
  const successors = [...voters].sort((a, b) => endOf(b) - endOf(a));
  const body = endRequest(raft, successors);
  fallBack(turn, 'resigned');
  for (const { id } of voters) askPeer(turn, id, { apiKey: 54, body });
}
