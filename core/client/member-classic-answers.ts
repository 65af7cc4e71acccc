/**
 * What a member of a classic group makes of answers: each error of each call. No state of its own.
 *
 * Errors fall into few kinds: try again later; ask another coordinator; the membership is gone; the group is making
 * another generation; give up. Which error is which differs from call to call, as it does in Kafka's clients.
 */
import { type Answer, answerBody, type ChannelEvent } from '../channel/channel.ts';
import { ProtocolError } from '../lib/protocol-error.ts';
import type { Env } from '../lib/world.ts';
import { decodeAssignment } from '../protocol/consumer-protocol.ts';
import { ErrorCode, errorInfo } from '../protocol/errors.ts';
import type { ResponseOf } from '../protocol/messages/index.ts';
import { isElsewhere, loseCoordinator, praiseCoordinator } from './coordinator.ts';
import { complete, failMember, left, oust, tryLater, wantRejoin } from './member-classic.ts';
import { HEARTBEAT, isCooperative, isOuster, JOIN_GROUP, SYNC_GROUP } from './member-classic-calls.ts';
import type { ClassicMember } from './member-classic-state.ts';
import type { Ground, MemberEvent } from './member-shapes.ts';

/** The first heartbeat of a generation that another may follow at once. */
const FIRST_PACE_MS = 100;

type Lost = Extract<ChannelEvent, { readonly kind: 'lost' }>;

/** Takes an answer, or the loss, of a call of the member; false if it was not the member's. */
export function takeClassicAnswer(
  member: ClassicMember,
  ground: Ground,
  env: Env,
  event: Answer | Lost,
  events: MemberEvent[],
): boolean {
  if (event.ticket === member.heartbeat) {
    member.heartbeat = 0;
    heartbeatAnswered(member, ground, env, event, events);
    return true;
  }
  if (event.ticket !== member.call) return false;
  member.call = 0;
  if (member.phase === 'leaving') {
    // Whatever was said: whoever is not a member any more has left.
    left(member, events);
    return true;
  }
  if (event.kind === 'lost') lost(member, ground, env, event);
  else if (event.apiKey === JOIN_GROUP) joined(member, ground, env, answerBody(event, JOIN_GROUP), events);
  else if (event.apiKey === SYNC_GROUP) synced(member, ground, env, answerBody(event, SYNC_GROUP), events);
  return true;
}

/** The generation that the call was about may be there or not: it is joined anew. */
function lost(member: ClassicMember, ground: Ground, env: Env, event: Lost): void {
  tryLater(member, ground, env);
  if (event.apiKey !== SYNC_GROUP) return;
  rejoin(member, 'a SyncGroup was not answered');
}

/** What is owned stays owned, where that may be; JoinGroup follows. */
function rejoin(member: ClassicMember, reason: string): void {
  member.phase = 'preparing';
  member.reason = reason;
}

function heard(member: ClassicMember, ground: Ground, env: Env): void {
  member.heardMs = env.nowMs;
  praiseCoordinator(ground.coordinator);
}

function joined(member: ClassicMember, ground: Ground, env: Env, body: ResponseOf<11>, events: MemberEvent[]): void {
  const { errorCode } = body;
  if (errorCode === ErrorCode.MEMBER_ID_REQUIRED) {
    member.memberId = body.memberId;
    member.retryAtMs = 0;
    return;
  }
  if (errorCode !== ErrorCode.NONE) {
    joinRefused(member, ground, env, errorCode, events);
    return;
  }
  heard(member, ground, env);
  member.memberId = body.memberId;
  member.generation = body.generationId;
  member.protocol = body.protocolName ?? '';
  member.isLeader = body.leader === body.memberId;
  member.told = member.isLeader ? body.members : [];
  member.skipsAssignment = body.skipAssignment;
  member.seenRefreshes = -1;
  member.paceMs = firstPaceMs(member);
  member.heartbeatAtMs = env.nowMs + member.paceMs;
  if (!member.options.assignors.some((name) => name === member.protocol)) {
    failMember(member, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, null, events);
    return;
  }
  member.phase = member.isLeader ? 'assigning' : 'syncing';
}

/** Cooperatively a generation is often followed by another at once, in which what the first took away is given out. */
function firstPaceMs(member: ClassicMember): number {
  const { heartbeatIntervalMs } = member.options;
  return isCooperative(member) ? Math.min(FIRST_PACE_MS, heartbeatIntervalMs) : heartbeatIntervalMs;
}

function joinRefused(member: ClassicMember, ground: Ground, env: Env, error: number, events: MemberEvent[]): void {
  if (isOuster(error)) {
    env.reached('member.unknownAtJoin');
    oust(member, error === ErrorCode.ILLEGAL_GENERATION);
  } else if (isElsewhere(error)) {
    loseCoordinator(ground.coordinator, env);
    tryLater(member, ground, env);
  } else if (error === ErrorCode.REBALANCE_IN_PROGRESS || errorInfo(error).retriable) {
    tryLater(member, ground, env);
  } else {
    failMember(member, error, null, events);
  }
}

function synced(member: ClassicMember, ground: Ground, env: Env, body: ResponseOf<14>, events: MemberEvent[]): void {
  const { errorCode, assignment } = body;
  if (errorCode === ErrorCode.NONE) {
    heard(member, ground, env);
    take(member, assignment, events);
  } else if (errorCode === ErrorCode.REBALANCE_IN_PROGRESS) {
    rejoin(member, 'the group began another generation before SyncGroup was answered');
  } else if (isOuster(errorCode)) {
    env.reached('member.unknownAtSync');
    oust(member, errorCode === ErrorCode.ILLEGAL_GENERATION);
  } else if (isElsewhere(errorCode)) {
    loseCoordinator(ground.coordinator, env);
    tryLater(member, ground, env);
    rejoin(member, 'the coordinator moved before SyncGroup was answered');
  } else if (errorInfo(errorCode).retriable) {
    tryLater(member, ground, env);
    rejoin(member, 'SyncGroup could not be answered');
  } else {
    failMember(member, errorCode, null, events);
  }
}

/** An assignment that cannot be read is one of nothing, and a fault of the leader that the owner should hear of. */
function take(member: ClassicMember, assignment: Uint8Array, events: MemberEvent[]): void {
  try {
    member.next = decodeAssignment(assignment).assignedPartitions;
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    failMember(member, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, 'the assignment makes no sense', events);
    return;
  }
  complete(member, events);
}

function heartbeatAnswered(
  member: ClassicMember,
  ground: Ground,
  env: Env,
  event: Answer | Lost,
  events: MemberEvent[],
): void {
  const isOld = member.heartbeatGeneration !== member.generation;
  if (event.kind === 'lost') {
    if (!isOld) retryHeartbeat(member, env);
    return;
  }
  const { errorCode } = answerBody(event, HEARTBEAT);
  if (errorCode === ErrorCode.NONE) {
    heard(member, ground, env);
  } else if (isOld) {
    // It was about a generation that is over.
  } else if (errorCode === ErrorCode.REBALANCE_IN_PROGRESS) {
    heard(member, ground, env);
    if (member.phase === 'stable' || member.phase === 'completing') wantRejoin(member, 'the group is rebalancing');
  } else if (isOuster(errorCode)) {
    env.reached('member.unknownAtHeartbeat');
    oust(member, errorCode === ErrorCode.ILLEGAL_GENERATION);
  } else if (isElsewhere(errorCode)) {
    loseCoordinator(ground.coordinator, env);
    retryHeartbeat(member, env);
  } else if (errorInfo(errorCode).retriable) {
    retryHeartbeat(member, env);
  } else {
    failMember(member, errorCode, null, events);
  }
}

/** Sooner than the interval: the session runs. */
function retryHeartbeat(member: ClassicMember, env: Env): void {
  member.heartbeatAtMs = env.nowMs + Math.min(member.options.retryBackoffMs, member.options.heartbeatIntervalMs);
}
