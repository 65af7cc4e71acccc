/**
 * The two doors to other members: their requests, and their answers to ours.
 *
 * While `quorum-state` is being written nothing is decided, so requests wait their turn. An answer is handed to the
 * role that asked; once that role is over, its ticket is not known any more.
 */
import type { Env, Outbox } from '../lib/world.ts';
import { ErrorCode } from '../protocol/errors.ts';
import type { RequestOf } from '../protocol/messages/index.ts';
import { reply } from './calls.ts';
import { takePieceAnswer } from './download.ts';
import { takeVoteAnswer, takeVoteRequest } from './election.ts';
import { takeFetchAnswer } from './following.ts';
import { takeBeginAnswer, takeBeginRequest, takeEndRequest } from './leading.ts';
import { takeSupportAnswer, takeVoterRequest } from './membership.ts';
import { refusal, refusalOfCluster, voteResponse } from './messages.ts';
import { takeOwnVoterAnswer } from './own-voter.ts';
import type { CallOutcome, Deferred, PeerKey } from './role-state.ts';
import { takeFetchRequest } from './serve-fetch.ts';
import { takeSnapshotRequest } from './serve-snapshot.ts';
import type { Raft, RaftEvent, Turn } from './state.ts';
import type { VoterKey } from './voter-messages.ts';

/** Requests that wait for a write of quorum-state, at most; one more is refused. */
const DEFERRED_MAX = 4096;
/** The last of the APIs whose version 0 cannot say where nodes listen. */
const FETCH_SNAPSHOT_KEY = 59;

/** Takes a request of another member, or of a client that fetches the metadata log. One event 'reply' follows. */
export function takeRequest<K extends PeerKey>(
  raft: Raft,
  env: Env,
  apiKey: K,
  version: number,
  body: RequestOf<K>,
  waiter: number,
  out: Outbox,
  events: RaftEvent[],
): void {
  const turn = { raft, env, out, events };
  const request: Deferred = { apiKey, version, body: body as RequestOf<PeerKey>, waiter };
  if (version === 0 && apiKey <= FETCH_SNAPSHOT_KEY) raft.bareWaiters.add(waiter);
  if (raft.stage !== 'open') refuse(turn, request, ErrorCode.BROKER_NOT_AVAILABLE);
  else if (raft.changing === null) take(turn, request);
  else if (raft.deferred.length >= DEFERRED_MAX) refuse(turn, request, ErrorCode.REQUEST_TIMED_OUT);
  else raft.deferred.push(request);
}

function refuse(turn: Turn, request: Deferred, errorCode: ErrorCode): void {
  const { waiter, apiKey } = request;
  reply(turn, waiter, apiKey, refusal(turn.raft, request, errorCode));
}

function take(turn: Turn, request: Deferred): void {
  const { apiKey, version, body, waiter } = request;
  const { clusterId } = turn.raft.peers;
  const named = (body as RequestOf<52>).clusterId;
  if (clusterId !== null && named !== null && named !== clusterId) {
    reply(turn, waiter, apiKey, refusalOfCluster(turn.raft, request, named));
    return;
  }
  switch (apiKey) {
    case 1:
      takeFetchRequest(turn, version, body as RequestOf<1>, waiter);
      break;
    case 52:
      takeVoteRequest(turn, body as RequestOf<52>, waiter);
      break;
    case 53:
      takeBeginRequest(turn, body as RequestOf<53>, waiter);
      break;
    case 54:
      takeEndRequest(turn, body as RequestOf<54>, waiter);
      break;
    case 59:
      takeSnapshotRequest(turn, body as RequestOf<59>, waiter);
      break;
    default:
      takeVoterRequest(turn, apiKey, body as RequestOf<VoterKey>, waiter);
  }
}

/** Takes the requests that waited, until one of them changes the role again. */
export function resumeDeferred(turn: Turn): void {
  const { raft } = turn;
  while (raft.deferred.length > 0 && raft.changing === null) {
    const request = raft.deferred.shift() as Deferred;
    if (raft.stage === 'open') take(turn, request);
    else refuse(turn, request, ErrorCode.BROKER_NOT_AVAILABLE);
  }
}

/** The member stops: whoever waits is told so. */
export function refuseDeferred(turn: Turn): void {
  const { raft } = turn;
  const waiting = raft.deferred;
  raft.deferred = [];
  for (const request of waiting) refuse(turn, request, ErrorCode.BROKER_NOT_AVAILABLE);
  const vote = raft.changing?.vote ?? null;
  if (vote !== null) reply(turn, vote.waiter, 52, voteResponse(raft, ErrorCode.BROKER_NOT_AVAILABLE, false));
}

/** Takes the answer to an event 'call'. One for a ticket that is not known any more is dropped. */
export function takeCallAnswer(
  raft: Raft,
  env: Env,
  ticket: number,
  outcome: CallOutcome,
  out: Outbox,
  events: RaftEvent[],
): void {
  const call = raft.calls.get(ticket);
  if (call === undefined || raft.stage !== 'open') return;
  raft.calls.delete(ticket);
  const turn = { raft, env, out, events };
  switch (call.apiKey) {
    case 1:
      takeFetchAnswer(turn, outcome);
      break;
    case 52:
      takeVoteAnswer(turn, call, outcome);
      break;
    case 53:
      takeBeginAnswer(turn, outcome);
      break;
    case 59:
      takePieceAnswer(turn, outcome);
      break;
    case 18:
      takeSupportAnswer(turn, call, outcome);
      break;
    case 80:
    case 81:
    case 82:
      takeOwnVoterAnswer(turn, call, outcome);
      break;
    default:
      break; // Whether the end of the epoch was heard does not matter.
  }
}
