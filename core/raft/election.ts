/**
 * How a member comes to lead: both sides of Vote.
 *
 * A voter that hears no leader first asks whether it would be elected (pre-vote, KIP-996): nothing changes by that, so
 * that a member which is merely cut off does not unseat a leader when it comes back. With a majority it becomes a
 * candidate: a new epoch and a vote for itself, both in `quorum-state` before anyone hears of them. With the votes of a
 * majority the victory is written and the leader appends the first batch of its epoch (`leading.ts`).
 *
 * A vote is given once in an epoch, to a candidate whose log is not behind: its last epoch is later, or is the same and
 * its end not smaller (Raft, section 5.4.1). A pre-vote is refused by whoever hears the leader. With those two rules
 * there is one leader an epoch at most, and each holds all that was committed before it.
 */
import { assert } from '../lib/assert.ts';
import { ZERO_UUID } from '../lib/uuid.ts';
import { ErrorCode } from '../protocol/errors.ts';
import type { RequestOf, ResponseOf } from '../protocol/messages/index.ts';
import { askPeer, reply } from './calls.ts';
import { askBootstrap } from './following.ts';
import { isSameDirectory, newsOf, partitionOf, voteRequest, voteResponse } from './messages.ts';
import type { Call, CallOutcome, Campaign } from './role-state.ts';
import { becomeProspective, change, electionPauseMs, fallBack, learnLeader, newCampaign } from './roles.ts';
import { isOwnVoter, logEnd, otherVoters, type Raft, type Turn } from './state.ts';

/** Voters whose answers were lost are asked again after this, ms. */
const VOTE_RETRY_MS = 100;

/** A voter's time without a leader, or for its election, is over. */
export function electionTimedOut(turn: Turn): void {
  const { raft } = turn;
  if (raft.campaign !== null) {
    loseCampaign(turn);
    return;
  }
  if (otherVoters(raft).length === 0) standForElection(turn);
  else becomeProspective(turn);
}

/** Becomes a candidate in the next epoch, with its own vote. */
export function standForElection(turn: Turn): void {
  const { raft } = turn;
  assert(raft.lead === null, 'a leader does not stand for election');
  const votedDirectoryId = raft.quorum.kraftVersion > 0 ? raft.directoryId : ZERO_UUID;
  const next = { leaderId: -1, leaderEpoch: raft.epoch + 1, votedId: raft.nodeId, votedDirectoryId };
  change(turn, next, 'candidate', null);
  raft.campaign = newCampaign();
}

/** Asks every voter that has not answered and is not being asked; the own vote is counted as given. */
export function requestVotes(turn: Turn): void {
  const { raft } = turn;
  const { campaign } = raft;
  assert(campaign !== null, 'votes are asked for in an election');
  campaign.retryAtMs = Infinity;
  const preVote = raft.role === 'prospective';
  for (const voter of otherVoters(raft)) {
    if (campaign.granted.has(voter.id) || campaign.refused.has(voter.id) || campaign.asked.has(voter.id)) continue;
    campaign.asked.add(voter.id);
    askPeer(turn, voter.id, { apiKey: 52, body: voteRequest(raft, voter, logEnd(raft), preVote) });
  }
  settleCampaign(turn, campaign);
}

/** A voter has answered, or has not. */
export function takeVoteAnswer(turn: Turn, call: Call, outcome: CallOutcome): void {
  const { raft, env } = turn;
  const { campaign } = raft;
  if (campaign === null) return;
  campaign.asked.delete(call.nodeId);
  const response = 'response' in outcome ? (outcome.response as ResponseOf<52>) : null;
  const news = response === null ? null : newsOf(52, response);
  if (response === null || news === null) {
    campaign.silent.add(call.nodeId);
    campaign.retryAtMs = Math.min(campaign.retryAtMs, env.nowMs + VOTE_RETRY_MS);
    settleCampaign(turn, campaign);
    return;
  }
  campaign.silent.delete(call.nodeId);
  const isGranted = response.topics[0]?.partitions[0]?.voteGranted === true;
  // A voter that has not noticed yet that the known leader is gone only refuses; the leader itself is not gone.
  const isNews = news.leaderEpoch > raft.epoch || raft.leaderId < 0 || news.leaderId === call.nodeId;
  if (!isGranted && isNews && learnLeader(turn, news.leaderId, news.leaderEpoch)) return;
  (isGranted ? campaign.granted : campaign.refused).add(call.nodeId);
  settleCampaign(turn, campaign);
}

/** A majority decides. */
function settleCampaign(turn: Turn, campaign: Campaign): void {
  const { raft } = turn;
  const { voters } = raft.quorum;
  const need = Math.floor(voters.length / 2) + 1;
  const own = isOwnVoter(raft) ? 1 : 0;
  if (campaign.granted.size + own >= need) {
    winCampaign(turn);
    return;
  }
  const hopeless = new Set([...campaign.refused, ...campaign.silent]);
  // Where a voter refuses, the known leader is not waited for: it is not there, or it leads. Where none does, it may
  // have lost the lead and what it had not synced, and its vote may be the one that is needed.
  const isDoubted = campaign.refused.size > 0 && !campaign.granted.has(raft.leaderId) && raft.leaderId !== raft.nodeId;
  if (raft.role === 'prospective' && isDoubted && voters.some(({ id }) => id === raft.leaderId)) {
    hopeless.add(raft.leaderId);
  }
  if (voters.length - hopeless.size < need) loseCampaign(turn);
}

function winCampaign(turn: Turn): void {
  const { raft } = turn;
  if (raft.role === 'prospective') {
    standForElection(turn);
    return;
  }
  const { nodeId: leaderId, epoch: leaderEpoch } = raft;
  change(turn, { leaderId, leaderEpoch, votedId: -1, votedDirectoryId: ZERO_UUID }, 'leader', null);
}

/** Refused by a majority, or nobody answered in time: waits, each time longer, and hears who leads meanwhile. */
function loseCampaign(turn: Turn): void {
  const { raft, env } = turn;
  env.reached('raft.election.lost');
  raft.electFailures += 1;
  const mayFollow = raft.role === 'prospective' && raft.leaderId >= 0 && raft.leaderId !== raft.nodeId;
  if (!mayFollow) {
    fallBack(turn, raft.leaderId === raft.nodeId ? 'resigned' : 'unattached');
    askBootstrap(turn);
    return;
  }
  fallBack(turn, 'follower');
  // The leader did not answer, only the others have not missed it yet: it gets less time than at first.
  const againMs = env.nowMs + Math.floor(raft.peers.times.fetchTimeoutMs / 4) + electionPauseMs(raft);
  raft.timerMs = Math.min(raft.timerMs, againMs);
}

/** Another member wants this one's vote. */
export function takeVoteRequest(turn: Turn, body: RequestOf<52>, waiter: number): void {
  const { raft, env } = turn;
  const partition = partitionOf(body);
  if (partition === null) {
    reply(turn, waiter, 52, voteResponse(raft, ErrorCode.INVALID_REQUEST, false));
    return;
  }
  const { replicaEpoch: epoch, replicaId, replicaDirectoryId, lastOffsetEpoch, lastOffset, preVote } = partition;
  // A candidate has nothing yet of the epoch that it stands for; a pre-vote names the epoch that there is.
  const isAhead = preVote ? lastOffsetEpoch > epoch : lastOffsetEpoch >= epoch;
  if (replicaId < 0 || lastOffset < 0 || lastOffsetEpoch < 0 || isAhead) {
    reply(turn, waiter, 52, voteResponse(raft, ErrorCode.INVALID_REQUEST, false));
    return;
  }
  if (epoch < raft.epoch) {
    reply(turn, waiter, 52, voteResponse(raft, ErrorCode.FENCED_LEADER_EPOCH, false));
    return;
  }
  const isMeant = isOwnKey(raft, body.voterId, partition.voterDirectoryId);
  const candidate = { id: replicaId, directoryId: replicaDirectoryId };
  const own = logEnd(raft);
  const isUpToDate = lastOffsetEpoch > own.epoch || (lastOffsetEpoch === own.epoch && lastOffset >= own.offset);
  const isNew = epoch > raft.epoch;
  const isGranted = isMeant && isUpToDate && (preVote ? isNew || wouldVote(raft) : isNew || mayVote(raft, candidate));
  const isVote = isGranted && !preVote;
  if (preVote && !isGranted) env.reached('raft.pre_vote.refused');
  if (!isNew && (!isVote || raft.votedId >= 0)) {
    const error = isMeant ? ErrorCode.NONE : ErrorCode.INVALID_VOTER_KEY;
    reply(turn, waiter, 52, voteResponse(raft, error, isGranted));
    return;
  }
  env.reached(isVote ? 'raft.vote.given' : 'raft.vote.newer_epoch');
  const votedId = isVote ? replicaId : -1;
  const votedDirectoryId = isVote ? replicaDirectoryId : ZERO_UUID;
  change(turn, { leaderId: -1, leaderEpoch: epoch, votedId, votedDirectoryId }, 'unattached', { waiter, isGranted });
}

/** Whether a request that names a voter means this member. One that names none means whoever gets it. */
export function isOwnKey(raft: Raft, voterId: number, directoryId: string): boolean {
  if (voterId >= 0 && voterId !== raft.nodeId) return false;
  return isSameDirectory(directoryId, raft.directoryId);
}

/** Whether a pre-vote is given in the present epoch: not while the leader is heard, or is this member. */
function wouldVote(raft: Raft): boolean {
  return raft.lead === null && raft.follow?.hasFetched !== true;
}

/** Whether a vote may be given in the present epoch: none was given to another, and nobody is known to lead it. */
function mayVote(raft: Raft, candidate: { readonly id: number; readonly directoryId: string }): boolean {
  if (raft.leaderId >= 0) return false;
  if (raft.votedId < 0) return true;
  return raft.votedId === candidate.id && isSameDirectory(raft.votedDirectoryId, candidate.directoryId);
}
