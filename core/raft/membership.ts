/**
 * How the voters of a quorum change (KIP-853): the leader's side of AddRaftVoter, RemoveRaftVoter and UpdateRaftVoter.
 *
 * Theory of operation. The voters are a record of the log. Whoever has it in its log goes by it, committed or not, so
 * two leaders could count by different sets. That is harmless as long as any majority of one set meets any majority of
 * the other, and it does where sets differ by one voter. So a leader changes one voter at a time, and only
 * - once an entry of its own epoch is committed: then no older leader can commit a change that it does not know;
 * - once the change before it is committed: then every later leader knows that one.
 * A record of the voters that only says where one of them listens keeps the set as it is.
 *
 * A new voter counts at once, so it must not hold up what is committed: it is asked what it supports, and waited for
 * until it has what the leader has. A voter goes only where a majority of those that stay has all that the leader has,
 * or the removal itself could never be committed. A leader that is removed leads until that is committed, without
 * counting itself, and then hands over.
 *
 * A leader that loses its lead answers whoever waits that it does not know: what is in the log may be committed yet. A
 * crash likewise.
 */
import { roomOfLog } from '../log/log.ts';
import { ErrorCode, errorName } from '../protocol/errors.ts';
import type { RequestOf, ResponseOf } from '../protocol/messages/index.ts';
import { appendControls } from './append-controls.ts';
import { votersBatch } from './batches.ts';
import { askPeer, reply } from './calls.ts';
import { handOver, voterReplica } from './leading.ts';
import type { Call, CallOutcome, Lead, VoterChange } from './role-state.ts';
import { completeFetches, leaderFault } from './serve-fetch.ts';
import { isOwnVoter, type Raft, type Turn } from './state.ts';
import { isChangePending } from './voter-history.ts';
import {
  listenersOf,
  listenersText,
  type Refusal,
  supportOf,
  supportRequest,
  type VoterKey,
  voterKeyOf,
  voterResponse,
} from './voter-messages.ts';
import { isSameVoter, isVoter, QUORUM_VOTERS_MAX, type Voter, votersText, voterText, withVoter } from './voters.ts';

/** The longest that a new voter is waited for until it has what the leader has, ms. */
const CATCH_UP_MS_MAX = 10_000;

/** A request to change the voters. */
export function takeVoterRequest(turn: Turn, apiKey: VoterKey, body: RequestOf<VoterKey>, waiter: number): void {
  const { raft } = turn;
  const refusal =
    apiKey === 80
      ? add(turn, body as RequestOf<80>, waiter)
      : apiKey === 81
        ? remove(turn, body as RequestOf<81>, waiter)
        : update(turn, body as RequestOf<82>);
  const isAnswered = apiKey === 82 || refusal !== null;
  if (isAnswered) reply(turn, waiter, apiKey, voterResponse(raft, apiKey, refusal));
}

/** Begins to add a voter; why not, or null. */
function add(turn: Turn, body: RequestOf<80>, waiter: number): Refusal | null {
  const { raft, env } = turn;
  const fault = faultOf(raft, raft.epoch);
  const key = voterKeyOf(body);
  if (fault !== null) return fault;
  if (key === null) return invalid("Add voter request didn't include a valid voter");
  const { listenerName: name } = raft.peers;
  const endpoints = listenersOf(body, name);
  if (endpoints === null) {
    const listed = listenersText(body.listeners);
    return invalid(`Add voter request didn't include the endpoint (${listed}) for the default listener ${name}`);
  }
  const obstacle = obstacleTo(turn, 'adding');
  if (obstacle !== null) return obstacle;
  const { voters } = raft.quorum;
  if (voters.some(({ id }) => id === key.id)) {
    const message = `The voter id for ${voterText(key)} is already part of the set of voters ${votersText(voters)}.`;
    return { errorCode: ErrorCode.DUPLICATE_VOTER, message };
  }
  if (voters.length >= QUORUM_VOTERS_MAX) {
    return invalid(`The quorum has ${voters.length} voters, and cannot have more.`);
  }
  const voter = { ...key, endpoints, versionMin: 0, versionMax: 0 };
  const { requestTimeoutMs } = raft.peers.times;
  const waitMs = Math.max(requestTimeoutMs, Math.min(body.timeoutMs, CATCH_UP_MS_MAX));
  const asked = { waiter, acksWhenCommitted: body.ackWhenCommitted, untilMs: env.nowMs + waitMs };
  begin(raft, { kind: 'add', voter, stage: 'asking', versions: null, offset: -1, ...asked });
  const [endpoint] = endpoints;
  if (endpoint !== undefined) raft.endpoints.set(key.id, endpoint);
  askPeer(turn, key.id, { apiKey: 18, body: supportRequest(raft, key.id) });
  return null;
}

/** Removes a voter; why not, or null. */
function remove(turn: Turn, body: RequestOf<81>, waiter: number): Refusal | null {
  const { raft, env } = turn;
  const { lead } = raft;
  const fault = faultOf(raft, raft.epoch);
  const key = voterKeyOf(body);
  if (fault !== null || lead === null) return fault;
  if (key === null) return invalid("Remove voter request didn't include a valid voter");
  const obstacle = obstacleTo(turn, 'removing');
  if (obstacle !== null) return obstacle;
  const { voters } = raft.quorum;
  const voter = voters.find((one) => isVoter(one, key.id, key.directoryId));
  const left = voters.filter((one) => one !== voter);
  if (voter === undefined || left.length === 0) {
    const message = `Cannot remove voter ${voterText(key)} from the set of voters ${votersText(voters)}`;
    return { errorCode: ErrorCode.VOTER_NOT_FOUND, message };
  }
  const present = left.filter((one) => isPresent(raft, lead, one, env.nowMs));
  if (present.length * 2 <= left.length) {
    const there = `of the voters that stay, ${votersText(left)}, only ${votersText(present)} have caught up`;
    return notYet(`Cannot remove voter ${voterText(key)} now: ${there}`);
  }
  const untilMs = env.nowMs + raft.peers.times.requestTimeoutMs;
  const asked = { waiter, acksWhenCommitted: true, untilMs };
  const change = begin(raft, { kind: 'remove', voter, stage: 'asking', versions: null, offset: -1, ...asked });
  appendChange(turn, change, left);
  return null;
}

/** Changes what the record says of a voter; why not, or null. */
function update(turn: Turn, body: RequestOf<82>): Refusal | null {
  const { raft } = turn;
  const fault = faultOf(raft, body.currentLeaderEpoch);
  const key = voterKeyOf(body);
  const endpoints = listenersOf(body, raft.peers.listenerName);
  const { minSupportedVersion: versionMin, maxSupportedVersion: versionMax } = body.kRaftVersionFeature;
  if (fault !== null) return fault;
  if (key === null || endpoints === null || versionMin < 0 || versionMax < versionMin) return invalid(null);
  const obstacle = obstacleTo(turn, 'updating');
  if (obstacle !== null) return obstacle;
  const { kraftVersion, voters } = raft.quorum;
  if (kraftVersion < versionMin || kraftVersion > versionMax) return invalid(null);
  const known = voters.find((one) => isVoter(one, key.id, key.directoryId));
  if (known === undefined) return { errorCode: ErrorCode.VOTER_NOT_FOUND, message: null };
  const voter = { ...key, endpoints, versionMin, versionMax };
  if (isSameVoter(known, voter)) return null;
  turn.env.reached('raft.voter.updated');
  appendVoters(turn, withVoter(voters, voter));
  return null;
}

function invalid(message: string | null): Refusal {
  return { errorCode: ErrorCode.INVALID_REQUEST, message };
}

/** It may be done later, says Kafka by this error. */
function notYet(message: string | null): Refusal {
  return { errorCode: ErrorCode.REQUEST_TIMED_OUT, message };
}

function faultOf(raft: Raft, epoch: number): Refusal | null {
  const errorCode = leaderFault(raft, epoch);
  return errorCode === ErrorCode.NONE ? null : { errorCode, message: null };
}

/** Why no change may begin now; null if one may. */
function obstacleTo({ raft, env }: Turn, doing: 'adding' | 'removing' | 'updating'): Refusal | null {
  const { lead, quorum, highWatermark, log } = raft;
  if (lead === null || lead.voterChange !== null) {
    return notYet('Request timed out waiting for leader to handle previous voter change request');
  }
  if (!lead.isConfirmed) {
    env.reached('raft.voter.too_early');
    return notYet('Request timed out waiting for leader to establish HWM and fence previous voter changes');
  }
  if (quorum.kraftVersion === 0) {
    const message = `Cluster doesn't support ${doing} voter because the kraft.version feature is 0`;
    return { errorCode: ErrorCode.UNSUPPORTED_VERSION, message };
  }
  if (!isChangePending(raft) && roomOfLog(log) > 0) return null;
  return notYet(`Request timed out waiting for voters to commit the latest voter change with HWM ${highWatermark}`);
}

function begin(raft: Raft, change: VoterChange): VoterChange {
  if (raft.lead !== null) raft.lead.voterChange = change;
  return change;
}

/** Whether a voter has what the leader has, as far as a leader can know: it had all at one of its latest fetches. */
function isPresent(raft: Raft, lead: Lead, voter: Voter, nowMs: number): boolean {
  if (isVoter(voter, raft.nodeId, raft.directoryId)) return true;
  const caughtUpAtMs = voterReplica(lead, voter)?.caughtUpAtMs ?? -Infinity;
  return nowMs - caughtUpAtMs <= raft.peers.times.fetchTimeoutMs;
}

/** The new voter has said what it supports, or has not. */
export function takeSupportAnswer(turn: Turn, call: Call, outcome: CallOutcome): void {
  const { raft, env } = turn;
  const change = raft.lead?.voterChange ?? null;
  if (raft.lead === null || change?.stage !== 'asking' || change.voter.id !== call.nodeId) return;
  const response = 'response' in outcome ? (outcome.response as ResponseOf<18>) : null;
  if (response === null || response.errorCode !== ErrorCode.NONE) {
    const isLate = 'failure' in outcome && outcome.failure === 'timedOut';
    const silence = isLate ? ErrorCode.REQUEST_TIMED_OUT : ErrorCode.BROKER_NOT_AVAILABLE;
    const why = errorName(response?.errorCode ?? silence);
    end(turn, raft.lead, notYet(`${abortedText(change)} API_VERSIONS returned an error ${why}`));
    return;
  }
  const { min, max } = supportOf(response);
  const { kraftVersion } = raft.quorum;
  if (kraftVersion < min || kraftVersion > max) {
    const range = `the kraft.version range (min: ${min}, max: ${max})`;
    const problem = `${range} doesn't support the finalized version ${kraftVersion}`;
    end(turn, raft.lead, invalid(`${abortedText(change)} ${problem}`));
    return;
  }
  change.versions = { min, max };
  change.stage = 'catchingUp';
  if (!isPresent(raft, raft.lead, change.voter, env.nowMs)) env.reached('raft.voter.catching_up');
  tendVoterChange(turn, raft.lead);
}

function abortedText({ voter }: VoterChange): string {
  return `Aborted add voter operation for ${voterText(voter)} since`;
}

/** A member has fetched: perhaps it is what a change waits for. */
export function tendVoterChange(turn: Turn, lead: Lead): void {
  const { raft, env } = turn;
  const change = lead.voterChange;
  if (change === null || change.stage !== 'catchingUp' || change.versions === null) return;
  if (!isPresent(raft, lead, change.voter, env.nowMs) || roomOfLog(raft.log) === 0) return;
  const { min: versionMin, max: versionMax } = change.versions;
  env.reached('raft.voter.added');
  appendChange(turn, change, [...raft.quorum.voters, { ...change.voter, versionMin, versionMax }]);
}

/** Puts a change into the log; it counts from there on. */
function appendChange(turn: Turn, change: VoterChange, voters: readonly Voter[]): void {
  const { raft, env, out } = turn;
  change.stage = 'committing';
  change.untilMs = env.nowMs + raft.peers.times.requestTimeoutMs;
  change.offset = appendVoters(turn, voters);
  const fields = new Map<string, string | number>([
    ['voter', voterText(change.voter)],
    ['voters', votersText(voters)],
  ]);
  const text = `${change.kind === 'add' ? 'adding a voter to' : 'removing a voter from'} the quorum`;
  out.push({ kind: 'say', level: 'info', text, fields });
  if (!change.acksWhenCommitted) answer(turn, change, null);
}

/** The offset of the batch. */
function appendVoters(turn: Turn, voters: readonly Voter[]): number {
  const { raft, env } = turn;
  const { log, epoch, lead } = raft;
  const place = { baseOffset: log.end, leaderEpoch: epoch, timestampMs: env.wallMs };
  appendControls(turn, votersBatch(voters, place), { kraftVersion: null, voters });
  // A leader without others has told nobody that it leads; by now it may have some.
  if (lead !== null) lead.beginAtMs = Math.min(lead.beginAtMs, env.nowMs);
  completeFetches(turn);
  return place.baseOffset;
}

/** When a change is given up, `env.nowMs`; Infinity without one. */
export function voterChangeUntilMs(lead: Lead): number {
  return lead.voterChange?.untilMs ?? Infinity;
}

/** The time of a change is over. */
export function expireVoterChange(turn: Turn, lead: Lead): void {
  const change = lead.voterChange;
  if (change === null) return;
  const lagging = `${abortedText(change)} it is lagging behind`;
  turn.env.reached('raft.voter.given_up');
  end(turn, lead, notYet(change.stage === 'committing' ? null : lagging));
}

/** More is committed: perhaps a change, and perhaps the one that removes this leader, which then leads no more. */
export function settleVoterChange(turn: Turn, lead: Lead): void {
  const { raft, env } = turn;
  const change = lead.voterChange;
  if (change?.stage === 'committing' && raft.highWatermark > change.offset) {
    if (change.kind === 'remove') env.reached('raft.voter.removed');
    end(turn, lead, null);
  }
  if (isOwnVoter(raft) || isChangePending(raft)) return;
  env.reached('raft.voter.removed_leader');
  handOver(turn);
}

/** This member leads no more: nobody knows what becomes of the change. */
export function dropVoterChange(turn: Turn, lead: Lead): void {
  if (lead.voterChange !== null) end(turn, lead, { errorCode: ErrorCode.NOT_LEADER_OR_FOLLOWER, message: null });
}

function end(turn: Turn, lead: Lead, refusal: Refusal | null): void {
  const change = lead.voterChange;
  lead.voterChange = null;
  if (change !== null) answer(turn, change, refusal);
}

function answer(turn: Turn, change: VoterChange, refusal: Refusal | null): void {
  if (change.waiter < 0) return;
  const apiKey = change.kind === 'add' ? 80 : 81;
  reply(turn, change.waiter, apiKey, voterResponse(turn.raft, apiKey, refusal));
  change.waiter = -1;
}
