/**
 * ConsumerGroupHeartbeat: members join, say what has changed, own up to what they own, leave; and learn what they are
 * to have. Whatever the group is at the moment: absent, classic and to be upgraded, or a consumer group.
 *
 * The assignment is in the answer where it changed, where the member joins, and where it says everything it knows:
 * then it has lost an answer. Sessions begin anew with each heartbeat that is not refused.
 */
import { ErrorCode } from '../protocol/errors.ts';
import type {
  ConsumerGroupHeartbeatRequest,
  ConsumerGroupHeartbeatResponse,
} from '../protocol/messages/68-consumer-group-heartbeat.ts';
import { advance } from './consumer-advance.ts';
import {
  createDraft,
  type Draft,
  isRefusal,
  type Refusal,
  refuse,
  settleDraft,
  timersOf,
  wakeBy,
} from './consumer-draft.ts';
import { leaveByHeartbeat } from './consumer-leave.ts';
import { checkSize, findMember } from './consumer-members.ts';
import { isSameOwned } from './consumer-reconcile.ts';
import { heartbeatIntervalMs, sessionTimeoutMs } from './consumer-settings.ts';
import {
  AWAY_EPOCH,
  type ConsumerMember,
  createConsumerGroup,
  LEAVING_EPOCH,
  MemberState,
  type OwnedPartitions,
} from './consumer-state.ts';
import { upgrade } from './consumer-upgrade.ts';
import type { GroupCallOf, GroupConfig, GroupWork } from './shapes.ts';
import type { GroupState } from './state.ts';
import { isStorable } from './texts.ts';

type Call = GroupCallOf<'consumerGroupHeartbeat'>;

/** Since when members make their own ids: a version of the API. */
const OWN_ID_SINCE = 1;

/** ConsumerGroupHeartbeat, whatever the group is at the moment: absent, classic (upgrade) or consumer. */
export function consumerGroupHeartbeat(state: GroupState, work: GroupWork, waiter: number, call: Call): void {
  const recordsBefore = work.records.length;
  const answer = beat(state, work, call);
  if (isRefusal(answer)) {
    // What was decided on the way to the refusal is of no use.
    work.records.length = recordsBefore;
    work.answers.push({ waiter, body: refusedBody(answer) });
    return;
  }
  work.answers.push({ waiter, body: answer });
}

function refusedBody({ refused, message }: Refusal): ConsumerGroupHeartbeatResponse {
  return {
    throttleTimeMs: 0,
    errorCode: refused,
    errorMessage: message,
    memberId: null,
    memberEpoch: 0,
    heartbeatIntervalMs: 0,
    assignment: null,
  };
}

function beat(state: GroupState, work: GroupWork, call: Call): ConsumerGroupHeartbeatResponse | Refusal {
  const { body } = call;
  const refusal = checkRequest(state.config, call);
  if (refusal !== null) return refusal;
  if (body.memberEpoch === LEAVING_EPOCH || body.memberEpoch === AWAY_EPOCH) return leave(state, work, body);
  const draft = draftOf(state, work, body);
  if (isRefusal(draft)) return draft;
  const memberId = body.memberId === '' ? work.uuid : body.memberId;
  const tooMany = checkSize(draft, memberId, body.instanceId);
  if (tooMany !== null) return tooMany;
  const before = findMember(draft, {
    memberId,
    instanceId: body.instanceId,
    memberEpoch: body.memberEpoch,
    mayJoin: body.memberEpoch === 0,
    said: body.topicPartitions,
    isClassic: false,
  });
  if (isRefusal(before)) return before;
  const member = advance(draft, before, updated(before, call), body.topicPartitions);
  if (isRefusal(member)) return member;
  keepTime(state, draft, before, member);
  const isFull =
    body.rebalanceTimeoutMs !== -1 &&
    (body.subscribedTopicNames !== null || body.subscribedTopicRegex !== null) &&
    body.topicPartitions !== null;
  const isTold = body.memberEpoch === 0 || isFull || !hasSamePartitions(before.assigned, member.assigned);
  return {
    throttleTimeMs: 0,
    errorCode: ErrorCode.NONE,
    errorMessage: null,
    memberId: member.memberId,
    memberEpoch: member.memberEpoch,
    heartbeatIntervalMs: heartbeatIntervalMs(state.config, work.image, body.groupId),
    assignment: isTold ? { topicPartitions: partitionsOf(member.assigned) } : null,
  };
}

function checkRequest(config: GroupConfig, { body, apiVersion: version, clientId }: Call): Refusal | null {
  const invalid = (message: string): Refusal => refuse(ErrorCode.INVALID_REQUEST, message);
  const { memberEpoch, serverAssignor } = body;
  const mustHaveId = version >= OWN_ID_SINCE || memberEpoch > 0 || memberEpoch === LEAVING_EPOCH;
  if (mustHaveId && body.memberId === '') return invalid("MemberId can't be empty.");
  if (body.groupId === '') return invalid("GroupId can't be empty.");
  if (body.instanceId === '') return invalid("InstanceId can't be empty.");
  if (body.rackId === '') return invalid("RackId can't be empty.");
  const texts = [body.groupId, body.memberId, body.instanceId ?? '', body.rackId ?? '', clientId];
  if (!texts.every(isStorable)) return invalid('A name in the request is too long.');
  if (memberEpoch === 0) {
    if (body.rebalanceTimeoutMs === -1) return invalid('RebalanceTimeoutMs must be provided in first request.');
    if (body.topicPartitions === null || body.topicPartitions.length > 0) {
      return invalid('TopicPartitions must be empty when (re-)joining.');
    }
    if (body.subscribedTopicNames === null && body.subscribedTopicRegex === null) {
      return invalid('Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.');
    }
  }
  if (memberEpoch === AWAY_EPOCH && body.instanceId === null) return invalid("InstanceId can't be null.");
  if (memberEpoch < AWAY_EPOCH) return invalid('MemberEpoch is invalid.');
  const { assignors } = config.consumer;
  if (serverAssignor !== null && !assignors.includes(serverAssignor)) {
    return refuse(
      ErrorCode.UNSUPPORTED_ASSIGNOR,
      `ServerAssignor ${serverAssignor} is not supported. Supported assignors: ${assignors.join(', ')}.`,
    );
  }
  return null;
}

function leave(
  state: GroupState,
  work: GroupWork,
  body: ConsumerGroupHeartbeatRequest,
): ConsumerGroupHeartbeatResponse | Refusal {
  const group = state.groups.get(body.groupId);
  if (group?.kind !== 'consumer') {
    return refuse(ErrorCode.GROUP_ID_NOT_FOUND, `Group ${body.groupId} not found.`);
  }
  const refusal = leaveByHeartbeat(state, work, group, body);
  if (refusal !== null) return refusal;
  const { memberId, memberEpoch } = body;
  const done = { throttleTimeMs: 0, errorCode: ErrorCode.NONE, errorMessage: null };
  return { ...done, memberId, memberEpoch, heartbeatIntervalMs: 0, assignment: null };
}

/** The group to speak to: the one that is there, a new one, or the one that a classic group is about to become. */
function draftOf(state: GroupState, work: GroupWork, body: ConsumerGroupHeartbeatRequest): Draft | Refusal {
  const { groupId } = body;
  const group = state.groups.get(groupId);
  if (group?.kind === 'consumer') return createDraft(state, work, group);
  if (body.memberEpoch !== 0) {
    const what =
      group === undefined ? `Consumer group ${groupId} not found.` : `Group ${groupId} is not a consumer group.`;
    return refuse(ErrorCode.GROUP_ID_NOT_FOUND, what);
  }
  if (group !== undefined) return upgrade(state, work, group);
  return createDraft(state, work, createConsumerGroup(groupId));
}

/** The member with what it says of itself now; what it does not say stays as it was. */
function updated(before: ConsumerMember, { body, clientId, clientHost }: Call): ConsumerMember {
  return {
    ...before,
    instanceId: body.instanceId ?? before.instanceId,
    rackId: body.rackId ?? before.rackId,
    rebalanceTimeoutMs: body.rebalanceTimeoutMs === -1 ? before.rebalanceTimeoutMs : body.rebalanceTimeoutMs,
    serverAssignor: body.serverAssignor ?? before.serverAssignor,
    subscribedTopicNames: namesSaid(before.subscribedTopicNames, body.subscribedTopicNames),
    subscribedTopicRegex: body.subscribedTopicRegex ?? before.subscribedTopicRegex,
    clientId,
    clientHost,
    classic: null,
  };
}

/** Names of topics, sorted and each once: those said, or those of before where none are said. */
export function namesSaid(before: readonly string[], said: readonly string[] | null): readonly string[] {
  if (said === null) return before;
  return [...new Set(said)].sort();
}

/** The group is there, the member's session begins anew, and so does its time to give back, if it must. */
function keepTime(state: GroupState, draft: Draft, before: ConsumerMember, member: ConsumerMember): void {
  const { config, work } = draft;
  const group = settleDraft(state, draft);
  const timers = timersOf(group, member.memberId);
  timers.joinMs = Number.POSITIVE_INFINITY;
  timers.syncMs = Number.POSITIVE_INFINITY;
  timers.sessionMs = work.nowMs + sessionTimeoutMs(config, work.image, group.groupId);
  if (member.state !== MemberState.UNREVOKED_PARTITIONS) {
    timers.rebalanceMs = Number.POSITIVE_INFINITY;
  } else if (!isSameStand(before, member)) {
    timers.rebalanceMs = work.nowMs + member.rebalanceTimeoutMs;
  }
  wakeBy(state, group, Math.min(timers.sessionMs, timers.rebalanceMs));
}

/** Whether a member has come no further, so that its time goes on. */
function isSameStand(before: ConsumerMember, after: ConsumerMember): boolean {
  if (before.state !== after.state || before.memberEpoch !== after.memberEpoch) return false;
  return isSameOwned(before.assigned, after.assigned) && isSameOwned(before.revoking, after.revoking);
}

/** Partitions as they stand in an answer. */
export function partitionsOf(owned: OwnedPartitions): { topicId: string; partitions: number[] }[] {
  return [...owned].map(([topicId, partitions]) => ({
    topicId,
    partitions: [...partitions.keys()].sort((a, b) => a - b),
  }));
}

/** Whether two members own the same, since whenever. */
function hasSamePartitions(a: OwnedPartitions, b: OwnedPartitions): boolean {
  if (a === b) return true;
  if (a.size !== b.size) return false;
  for (const [topicId, partitions] of a) {
    const others = b.get(topicId);
    if (others === undefined || others.size !== partitions.size) return false;
    for (const partition of partitions.keys()) if (!others.has(partition)) return false;
  }
  return true;
}
