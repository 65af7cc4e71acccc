/**
 * Members of the classic protocol in a consumer group: JoinGroup, SyncGroup, Heartbeat and LeaveGroup, translated.
 *
 * Such a member believes in a rebalance of its own: its generation is its member epoch. JoinGroup says what it reads
 * and owns and takes one step of reconciliation, answered at once, with nobody to lead; SyncGroup fetches what the
 * step gave it; Heartbeat tells it to join again where there is another step to take. It must do so within its
 * rebalance time-out, and fetch within it, or it goes. The coordinator deals out, so what members can do counts only
 * in so far as all of them must share one protocol, for the day when the group goes back to being a classic one.
 */
import { CONSUMER_PROTOCOL_TYPE } from '../protocol/consumer-protocol.ts';
import { ErrorCode } from '../protocol/errors.ts';
import type { JoinGroupResponse } from '../protocol/messages/11-join-group.ts';
import type { LeaveGroupResponse } from '../protocol/messages/13-leave-group.ts';
import type { SyncGroupResponse } from '../protocol/messages/14-sync-group.ts';
import { joinRefused, syncRefused } from './classic-answers.ts';
import type { Leaving } from './classic-leave.ts';
import { distinctProtocols } from './classic-written.ts';
import { advance } from './consumer-advance.ts';
import { assignmentBytes, type ClassicSubscription, subscriptionOf } from './consumer-bytes.ts';
import { downgradeWithout, isLastOfConsumers } from './consumer-downgrade.ts';
import { createDraft, type Draft, draftTarget, isFreeFor, isRefusal, timersOf, wakeBy } from './consumer-draft.ts';
import { namesSaid } from './consumer-heartbeat.ts';
import { fenceMembers } from './consumer-leave.ts';
import { checkInstance, checkSize, findMember } from './consumer-members.ts';
import { type ConsumerGroup, type ConsumerMember, MemberState, staticMember } from './consumer-state.ts';
import { MEMBER_ID_SINCE } from './member-ids.ts';
import { fitBatch } from './records.ts';
import type { GroupCallOf, GroupWork } from './shapes.ts';
import type { GroupState } from './state.ts';

type Join = GroupCallOf<'joinGroup'>;

/** JoinGroup of a classic client in a consumer group. Answers by `work.answers`. */
export function joinConsumerGroup(
  state: GroupState,
  work: GroupWork,
  waiter: number,
  group: ConsumerGroup,
  call: Join,
): void {
  const recordsBefore = work.records.length;
  const body = join(state, work, group, call);
  if (typeof body === 'number') {
    work.records.length = recordsBefore;
    work.answers.push({ waiter, body: joinRefused(body, '') });
    return;
  }
  work.answers.push({ waiter, body });
}

/** The answer, or the error. */
function join(state: GroupState, work: GroupWork, group: ConsumerGroup, call: Join): JoinGroupResponse | number {
  const { body } = call;
  const { groupInstanceId: instanceId } = body;
  if (state.config.consumer.migrationPolicy === 'disabled') return ErrorCode.INCONSISTENT_GROUP_PROTOCOL;
  const draft = createDraft(state, work, group);
  const isUnknown = body.memberId === '';
  const memberId = isUnknown ? work.uuid : body.memberId;
  const tooMany = checkSize(draft, memberId, instanceId);
  if (tooMany !== null) return tooMany.refused;
  const subscription = subscriptionOf(body.protocols[0]?.metadata ?? null);
  if (subscription === null || !sharesProtocol(group, memberId, body)) return ErrorCode.INCONSISTENT_GROUP_PROTOCOL;
  const owned = subscription.owned(work.image);
  const ownsAny = owned.some(({ partitions }) => partitions.length > 0);
  if (!isUnknown && !group.members.has(memberId) && ownsAny) {
    // It was thrown out, and would give up, and commit, what may be another's by now: it has to hear that it is lost.
    return ErrorCode.UNKNOWN_MEMBER_ID;
  }
  if (isUnknown && instanceId === null && call.apiVersion >= MEMBER_ID_SINCE) {
    return joinRefused(ErrorCode.MEMBER_ID_REQUIRED, memberId);
  }
  const replaced = instanceId === null ? undefined : staticMember(group, instanceId);
  if (replaced !== undefined && isUnknown && isLastOfConsumers(group, state.config, replaced)) {
    // The group is a classic one from here on, which is for the client to find out when it comes again.
    if (downgradeWithout(state, work, group, new Set([replaced.memberId]))) {
      return joinRefused(ErrorCode.REBALANCE_IN_PROGRESS, body.memberId);
    }
  }
  const before = findMember(draft, {
    memberId,
    instanceId,
    memberEpoch: -1,
    mayJoin: instanceId === null || isUnknown,
    said: [],
    isClassic: true,
  });
  if (isRefusal(before)) return before.refused;
  const member = advance(draft, before, updated(before, call, subscription), owned);
  if (isRefusal(member)) return member.refused;
  keepJoinTime(state, draft, member);
  return joinedBody(member);
}

function joinedBody(member: ConsumerMember): JoinGroupResponse {
  return {
    throttleTimeMs: 0,
    errorCode: ErrorCode.NONE,
    generationId: member.memberEpoch,
    protocolType: CONSUMER_PROTOCOL_TYPE,
    protocolName: protocolOf(member),
    leader: '',
    skipAssignment: false,
    memberId: member.memberId,
    members: [],
  };
}

function protocolOf(member: ConsumerMember): string {
  return member.classic?.supportedProtocols[0]?.name ?? '';
}

/** Whether a member can do any protocol that all other classic members can do. */
function sharesProtocol(group: ConsumerGroup, memberId: string, body: Join['body']): boolean {
  if (body.protocolType !== CONSUMER_PROTOCOL_TYPE) return false;
  const shared = new Set(body.protocols.map(({ name }) => name));
  for (const member of group.members.values()) {
    if (member.classic === null || member.memberId === memberId) continue;
    const names = new Set(member.classic.supportedProtocols.map(({ name }) => name));
    for (const name of shared) if (!names.has(name)) shared.delete(name);
  }
  return shared.size > 0;
}

function updated(before: ConsumerMember, call: Join, subscription: ClassicSubscription): ConsumerMember {
  const { body, clientId, clientHost } = call;
  return {
    ...before,
    instanceId: body.groupInstanceId ?? before.instanceId,
    rackId: subscription.rackId ?? before.rackId,
    rebalanceTimeoutMs: body.rebalanceTimeoutMs === -1 ? body.sessionTimeoutMs : body.rebalanceTimeoutMs,
    subscribedTopicNames: namesSaid(before.subscribedTopicNames, subscription.topics),
    subscribedTopicRegex: '',
    clientId,
    clientHost,
    classic: {
      sessionTimeoutMs: body.sessionTimeoutMs,
      supportedProtocols: distinctProtocols(body.protocols),
    },
  };
}

function keepJoinTime(state: GroupState, { group, work }: Draft, member: ConsumerMember): void {
  const timers = timersOf(group, member.memberId);
  timers.sessionMs = work.nowMs + (member.classic?.sessionTimeoutMs ?? 0);
  timers.syncMs = work.nowMs + member.rebalanceTimeoutMs;
  timers.joinMs = Number.POSITIVE_INFINITY;
  timers.rebalanceMs = Number.POSITIVE_INFINITY;
  wakeBy(state, group, Math.min(timers.sessionMs, timers.syncMs));
}

/** The member that a call names, or the error. */
function namedMember(group: ConsumerGroup, memberId: string, instanceId: string | null): ConsumerMember | number {
  const member = instanceId === null ? group.members.get(memberId) : staticMember(group, instanceId);
  if (member === undefined) return ErrorCode.UNKNOWN_MEMBER_ID;
  if (instanceId === null) return member;
  return checkInstance(group.groupId, member, memberId, instanceId)?.refused ?? member;
}

/** The member of the classic protocol that a call comes from, or the error. */
function classicMember(group: ConsumerGroup, memberId: string, instanceId: string | null): ConsumerMember | number {
  const member = namedMember(group, memberId, instanceId);
  return typeof member === 'number' || member.classic !== null ? member : ErrorCode.UNKNOWN_MEMBER_ID;
}

/** SyncGroup of a classic client in a consumer group. */
export function syncConsumerGroup(
  state: GroupState,
  work: GroupWork,
  waiter: number,
  group: ConsumerGroup,
  call: GroupCallOf<'syncGroup'>,
): void {
  const body = sync(state, work, group, call);
  work.answers.push({ waiter, body: typeof body === 'number' ? syncRefused(body) : body });
}

function sync(
  state: GroupState,
  work: GroupWork,
  group: ConsumerGroup,
  { body }: GroupCallOf<'syncGroup'>,
): SyncGroupResponse | number {
  const { memberId, groupInstanceId, generationId, protocolType, protocolName } = body;
  const member = classicMember(group, memberId, groupInstanceId);
  if (typeof member === 'number') return member;
  if (generationId !== member.memberEpoch) return ErrorCode.ILLEGAL_GENERATION;
  const isOtherType = protocolType !== null && protocolType !== CONSUMER_PROTOCOL_TYPE;
  const isOtherName = protocolName !== null && protocolName !== protocolOf(member);
  if (isOtherType || isOtherName) return ErrorCode.INCONSISTENT_GROUP_PROTOCOL;
  if (group.targetEpoch > member.memberEpoch && member.state !== MemberState.UNREVOKED_PARTITIONS) {
    mustJoin(state, work, group, member);
    return ErrorCode.REBALANCE_IN_PROGRESS;
  }
  const timers = timersOf(group, memberId);
  timers.syncMs = Number.POSITIVE_INFINITY;
  keepSession(state, work, group, member);
  const assignment = assignmentBytes(work.image, member);
  return { throttleTimeMs: 0, errorCode: ErrorCode.NONE, protocolType, protocolName, assignment };
}

function keepSession(state: GroupState, work: GroupWork, group: ConsumerGroup, member: ConsumerMember): void {
  const timers = timersOf(group, member.memberId);
  timers.sessionMs = work.nowMs + (member.classic?.sessionTimeoutMs ?? 0);
  wakeBy(state, group, timers.sessionMs);
}

/** The member is told to join again; its time for that begins when it is told first. */
function mustJoin(state: GroupState, work: GroupWork, group: ConsumerGroup, member: ConsumerMember): void {
  const timers = timersOf(group, member.memberId);
  if (timers.joinMs !== Number.POSITIVE_INFINITY) return;
  timers.joinMs = work.nowMs + member.rebalanceTimeoutMs;
  wakeBy(state, group, timers.joinMs);
}

/** Heartbeat of a classic client in a consumer group. */
export function heartbeatConsumerGroup(
  state: GroupState,
  work: GroupWork,
  waiter: number,
  group: ConsumerGroup,
  call: GroupCallOf<'heartbeat'>,
): void {
  const errorCode = beat(state, work, group, call);
  work.answers.push({ waiter, body: { throttleTimeMs: 0, errorCode } });
}

function beat(state: GroupState, work: GroupWork, group: ConsumerGroup, { body }: GroupCallOf<'heartbeat'>): number {
  const member = classicMember(group, body.memberId, body.groupInstanceId);
  if (typeof member === 'number') return member;
  if (body.generationId !== member.memberEpoch) return ErrorCode.ILLEGAL_GENERATION;
  keepSession(state, work, group, member);
  if (!hasStepToTake(createDraft(state, work, group), member)) return ErrorCode.NONE;
  mustJoin(state, work, group, member);
  return ErrorCode.REBALANCE_IN_PROGRESS;
}

/** There is a newer target, or something to give back, or all that the member waited for is free. */
function hasStepToTake(draft: Draft, member: ConsumerMember): boolean {
  if (member.memberEpoch < draft.targetEpoch || member.state === MemberState.UNREVOKED_PARTITIONS) return true;
  if (member.state !== MemberState.UNRELEASED_PARTITIONS) return false;
  for (const [topicId, partitions] of draftTarget(draft, member.memberId)) {
    const mine = member.assigned.get(topicId);
    for (const partition of partitions) {
      if (mine?.has(partition) !== true && !isFreeFor(draft, member.memberId, topicId, partition)) return false;
    }
  }
  return true;
}

/**
 * LeaveGroup in a consumer group: of classic clients, or of any member by an operator. What became of each; nobody goes
 * where that would be more than a batch of the log takes.
 */
export function leaveConsumerGroup(
  state: GroupState,
  work: GroupWork,
  group: ConsumerGroup,
  asked: readonly Leaving[],
): LeaveGroupResponse['members'] {
  const leaving = new Map<string, ConsumerMember>();
  const members = asked.map(({ memberId, groupInstanceId }) => {
    const knownAs = groupInstanceId !== null && memberId === '' ? group.staticMembers.get(groupInstanceId) : memberId;
    const member = namedMember(group, knownAs ?? '', groupInstanceId);
    if (typeof member === 'number') return { memberId, groupInstanceId, errorCode: member };
    leaving.set(member.memberId, member);
    return { memberId: member.memberId, groupInstanceId, errorCode: ErrorCode.NONE as number };
  });
  fenceMembers(state, createDraft(state, work, group), [...leaving.values()]);
  if (fitBatch(work.records, state.config.recordSizeMax)) return members;
  work.records.length = 0;
  return members.map((one) => ({ ...one, errorCode: ErrorCode.UNKNOWN_SERVER_ERROR }));
}
