/**
 * How a member passes from one role to another.
 *
 * Whatever changes epoch, vote or leader goes through `change`: the present role ends at once, `quorum-state` is
 * written, and the new role begins when it is on the disk. Nothing is decided in between: requests wait in `deferred`,
 * and answers to what the old role asked are dropped. So a decision never rests on what a crash could take back, and
 * nobody ever hears of an epoch or a vote that is not durable.
 *
 * A disk that is full leaves the old file as it was: the change has not happened, the votes that waited for it are
 * refused, and the member tries again later.
 */
import { throwDice } from '../channel/backoff.ts';
import { assert } from '../lib/assert.ts';
import { ZERO_UUID } from '../lib/uuid.ts';
import type { DiskInput } from '../lib/world.ts';
import { keepTail } from '../log/log.ts';
import { ErrorCode } from '../protocol/errors.ts';
import { askDisk, failRaft, failureText, isDeviceFailure } from './asks.ts';
import { reply } from './calls.ts';
import { dropDownload } from './download.ts';
import { requestVotes, standForElection } from './election.ts';
import { pumpFollower } from './following.ts';
import { beginToLead, dropLead } from './leading.ts';
import { voteResponse } from './messages.ts';
import { QUORUM_STATE_NAME } from './names.ts';
import { encodeQuorumState, type QuorumState } from './quorum-state.ts';
import type { Campaign, Changing, VoteWaiter } from './role-state.ts';
import { isOwnVoter, otherVoters, type Raft, type Turn } from './state.ts';

/** The first pause after a candidacy in vain, ms; doubled each time. */
const ELECT_BACKOFF_MS_MIN = 50;
/** A member that comes up knowing no leader asks for one, or stands for election, after this at most, ms. */
const FIRST_ELECTION_MS_MAX = 150;

/** A time from `electionTimeoutMs` to twice that. */
function electionTimeoutMs(raft: Raft): number {
  const { electionTimeoutMs: leastMs } = raft.peers.times;
  return leastMs + throwDice(raft, Math.max(1, leastMs));
}

/** The fetch time-out and up to an eighth more: followers that lose a leader together do not stand together. */
export function missedLeaderMs(raft: Raft): number {
  const { fetchTimeoutMs } = raft.peers.times;
  return fetchTimeoutMs + throwDice(raft, Math.max(1, Math.floor(fetchTimeoutMs / 8)));
}

/** A pause that grows with the candidacies in vain: at random, so that two candidates do not meet for ever. */
export function electionPauseMs(raft: Raft): number {
  let mostMs = ELECT_BACKOFF_MS_MIN;
  for (let i = 1; i < raft.electFailures && mostMs < raft.peers.times.electionBackoffMaxMs; i++) mostMs *= 2;
  return 1 + throwDice(raft, Math.max(1, Math.min(mostMs, raft.peers.times.electionBackoffMaxMs)));
}

/** Begins to write what is to be the state of the next role. */
export function change(turn: Turn, next: QuorumState, role: Changing['role'], vote: VoteWaiter | null): void {
  const { raft, out } = turn;
  assert(raft.changing === null, 'one change at a time');
  assert(next.leaderEpoch >= raft.epoch, 'epochs never go back');
  leave(turn, role);
  raft.changing = { next, role, vote };
  const ids = raft.quorum.voters.map((voter) => voter.id);
  const bytes = encodeQuorumState(next, raft.quorum.kraftVersion, ids);
  askDisk(raft, { kind: 'changing' }, { kind: 'replace', path: `${raft.folder}/${QUORUM_STATE_NAME}`, bytes }, out);
}

/** Ends the present role; what it asked of others is not waited for any more. */
function leave(turn: Turn, nextRole: Changing['role'] | 'resigned'): void {
  const { raft } = turn;
  if (raft.lead !== null) dropLead(turn);
  if (raft.follow !== null) dropDownload(turn);
  // Another leader may hold what this one did not. Unless a snapshot has taken the place of the log already.
  if (raft.follow?.isCutting === true && raft.installing === null) keepTail(raft.log);
  raft.follow = null;
  raft.calls.clear();
  raft.timerMs = Infinity;
  const staysCampaigning = nextRole === 'candidate' || nextRole === 'leader';
  if (!staysCampaigning) raft.campaign = null;
  if (raft.role === 'leader') raft.role = 'resigned';
  else if (!staysCampaigning && raft.role !== 'resigned') raft.role = 'unattached';
}

/** quorum-state is written, or is not. */
export function takeChanged(turn: Turn, input: DiskInput): void {
  const { raft, env, events } = turn;
  const { changing } = raft;
  if (changing === null) return;
  if (isDeviceFailure(input)) {
    failRaft(raft, failureText(raft, input), events);
    return;
  }
  raft.changing = null;
  const isWritten = input.kind !== 'diskFailed';
  if (isWritten) {
    const { leaderEpoch, leaderId, votedId, votedDirectoryId } = changing.next;
    raft.epoch = leaderEpoch;
    raft.leaderId = leaderId;
    raft.votedId = votedId;
    raft.votedDirectoryId = votedDirectoryId;
    events.push({ kind: 'leaderChanged' });
    begin(turn, changing.role);
  } else {
    env.reached('raft.election.no_space');
    raft.campaign = null;
    raft.role = raft.leaderId === raft.nodeId || changing.role === 'candidate' ? 'resigned' : 'unattached';
    waitToStand(raft, env.nowMs);
  }
  if (changing.vote === null) return;
  const { waiter, isGranted } = changing.vote;
  reply(turn, waiter, 52, voteResponse(raft, ErrorCode.NONE, isGranted && isWritten));
}

function begin(turn: Turn, role: Changing['role']): void {
  const { raft, env } = turn;
  switch (role) {
    case 'candidate':
      raft.role = 'candidate';
      raft.timerMs = env.nowMs + electionTimeoutMs(raft);
      requestVotes(turn);
      break;
    case 'leader':
      raft.campaign = null;
      beginToLead(turn);
      break;
    case 'follower':
      beginToFollow(turn);
      break;
    case 'unattached':
      raft.role = 'unattached';
      raft.timerMs = env.nowMs + electionTimeoutMs(raft);
      break;
  }
}

/** Follows the leader that is known. */
function beginToFollow(turn: Turn): void {
  const { raft, env } = turn;
  raft.role = 'follower';
  raft.follow = {
    hasFetched: false,
    hasEnded: false,
    isFetching: false,
    isCutting: false,
    failures: 0,
    retryAtMs: Infinity,
    leaderHighWatermark: -1,
    download: null,
    voterNewsAtMs: -Infinity,
  };
  raft.timerMs = env.nowMs + missedLeaderMs(raft);
  pumpFollower(turn);
}

/** Gives up a role without a change of epoch, vote or leader: nothing is written. */
export function fallBack(turn: Turn, role: 'unattached' | 'follower' | 'resigned'): void {
  const { raft, env } = turn;
  leave(turn, role);
  if (role === 'follower') {
    beginToFollow(turn);
    return;
  }
  raft.role = role;
  raft.timerMs = env.nowMs + electionPauseMs(raft);
}

/** Begins to ask who would vote for this member; its epoch stays. */
export function becomeProspective(turn: Turn): void {
  const { raft, env } = turn;
  leave(turn, 'candidate');
  raft.role = 'prospective';
  raft.campaign = newCampaign();
  raft.timerMs = env.nowMs + electionTimeoutMs(raft);
  requestVotes(turn);
}

/** An election in which nobody was asked yet. */
export function newCampaign(): Campaign {
  return { granted: new Set(), refused: new Set(), asked: new Set(), silent: new Set(), retryAtMs: Infinity };
}

/** Leads no more, in an epoch that stays: it appends nothing in it again, and votes for nobody. */
export function resign(turn: Turn): void {
  const { raft, env } = turn;
  if (raft.lead === null) return;
  env.reached('raft.resigned');
  leave(turn, 'resigned');
  turn.events.push({ kind: 'leaderChanged' });
  waitToStand(raft, env.nowMs);
}

/** A member without others stands again after a pause; one with others leaves it to them at first. */
export function waitToStand(raft: Raft, nowMs: number): void {
  raft.electFailures += 1;
  const isAlone = otherVoters(raft).length === 0;
  raft.timerMs = nowMs + (isAlone ? ELECT_BACKOFF_MS_MIN + electionPauseMs(raft) : electionTimeoutMs(raft));
}

/**
 * Another member has said who leads, in which epoch (leader -1: it does not know). True if that ends the present role:
 * the epoch is newer, or the leader of this one was not known.
 */
export function learnLeader(turn: Turn, leaderId: number, leaderEpoch: number): boolean {
  const { raft } = turn;
  if (raft.changing !== null || leaderEpoch < raft.epoch) return false;
  const isOther = leaderId >= 0 && leaderId !== raft.nodeId;
  if (leaderEpoch === raft.epoch) {
    if (!isOther) return false;
    if (raft.leaderId === leaderId) {
      // Known already, but given up: the leader seems to live.
      if (raft.role !== 'prospective' && raft.role !== 'unattached') return false;
      fallBack(turn, 'follower');
      return true;
    }
    if (raft.leaderId >= 0) return false;
  }
  const isNew = leaderEpoch > raft.epoch;
  const votedId = isNew ? -1 : raft.votedId;
  const votedDirectoryId = isNew ? ZERO_UUID : raft.votedDirectoryId;
  const next = { leaderId: isOther ? leaderId : -1, leaderEpoch, votedId, votedDirectoryId };
  change(turn, next, isOther ? 'follower' : 'unattached', null);
  return true;
}

/** The role that a member begins with once it is opened: what its earlier life was, but nobody leads again by that. */
export function beginFirstRole(turn: Turn): void {
  const { raft, env, events } = turn;
  if (isOwnVoter(raft) && otherVoters(raft).length === 0) {
    standForElection(turn);
    return;
  }
  events.push({ kind: 'leaderChanged' });
  if (raft.highWatermark >= 0) events.push({ kind: 'committed' });
  if (raft.leaderId >= 0 && raft.leaderId !== raft.nodeId) {
    beginToFollow(turn);
    return;
  }
  // A leader that lost what it had not synced must not append in that epoch again (KAFKA-10527).
  raft.role = raft.leaderId === raft.nodeId ? 'resigned' : 'unattached';
  raft.timerMs = env.nowMs + 1 + throwDice(raft, FIRST_ELECTION_MS_MAX);
}
