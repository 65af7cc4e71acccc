/**
 * What a follower does that the record of the voters be true of itself: a voter whose listeners or versions have
 * changed since the record was written has the leader write them anew (UpdateRaftVoter), and an observer that is to
 * join by itself asks to be made a voter (KIP-1186), once an earlier directory of its node is removed.
 *
 * Asked at most once in a fetch time-out, and only by a follower that has all that is committed: what the record says
 * may have been changed already. No state but `Follow.voterNewsAtMs`; a crash loses nothing, for the record is compared
 * anew.
 */
import { ErrorCode, errorName } from '../protocol/errors.ts';
import type { ResponseOf } from '../protocol/messages/index.ts';
import { askPeer } from './calls.ts';
import type { Call, CallOutcome, Follow, PeerRequest } from './role-state.ts';
import { learnLeader } from './roles.ts';
import { ownVoterOf, type Raft, type Turn } from './state.ts';
import { joinRequest, leaveRequest, updateRequest } from './voter-messages.ts';
import { isSameVoter, isVoter } from './voters.ts';

/** Looks, after a fetch, whether something is to be asked of the leader. */
export function tendOwnVoter(turn: Turn, follow: Follow): void {
  const { raft, env } = turn;
  if (env.nowMs < follow.voterNewsAtMs) return;
  if (raft.quorum.kraftVersion === 0 || raft.log.end < follow.leaderHighWatermark) return;
  const request = wanted(raft);
  if (request === null) return;
  for (const { apiKey } of raft.calls.values()) if (apiKey === request.apiKey) return;
  follow.voterNewsAtMs = env.nowMs + raft.peers.times.fetchTimeoutMs;
  env.reached(request.apiKey === 82 ? 'raft.voter.asks_update' : 'raft.voter.asks_to_join');
  askPeer(turn, raft.leaderId, request);
}

function wanted(raft: Raft): PeerRequest | null {
  const { nodeId, directoryId, quorum, peers } = raft;
  const own = ownVoterOf(raft);
  if (own === null) return null;
  const known = quorum.voters.find(({ id }) => id === nodeId);
  if (known !== undefined && isVoter(known, nodeId, directoryId)) {
    return isSameVoter(known, own) ? null : { apiKey: 82, body: updateRequest(raft, own) };
  }
  if (!peers.autoJoins) return null;
  return known === undefined
    ? { apiKey: 80, body: joinRequest(raft, own) }
    : { apiKey: 81, body: leaveRequest(raft, known) };
}

/** The leader has answered, or has not: what it did comes by the log. */
export function takeOwnVoterAnswer(turn: Turn, call: Call, outcome: CallOutcome): void {
  const { out } = turn;
  if (!('response' in outcome)) return;
  const response = outcome.response as ResponseOf<80 | 81 | 82>;
  if ('currentLeader' in response) {
    const { leaderId, leaderEpoch } = response.currentLeader;
    learnLeader(turn, leaderId, leaderEpoch);
    return;
  }
  const { errorCode, errorMessage } = response;
  // Another change is under way, or this member has more to catch up with: it asks again.
  if (errorCode === ErrorCode.NONE || errorCode === ErrorCode.REQUEST_TIMED_OUT) return;
  const what = call.apiKey === 80 ? 'take this node as a voter' : 'let go of its old directory';
  const text = `the quorum does not ${what}`;
  const fields = new Map<string, string | number>([['why', errorMessage ?? errorName(errorCode)]]);
  out.push({ kind: 'say', level: 'warn', text, fields });
}
