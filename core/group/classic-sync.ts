/**
 * SyncGroup and Heartbeat of the classic protocol, and whether a caller is the member that it says it is.
 *
 * The leader's SyncGroup brings the assignment: the generation is written, the group is stable, and all who waited get
 * their part, once the record is committed. Others wait for the leader, or are answered at once if it was there before.
 */
import { ErrorCode } from '../protocol/errors.ts';
import type { SyncGroupRequest } from '../protocol/messages/14-sync-group.ts';
import { answerSync, synced, syncRefused } from './classic-answers.ts';
import type { ClassicGroup, ClassicMember } from './classic-group.ts';
import { NO_BYTES } from './classic-group.ts';
import { failSync, prepareRebalance, stabilize, touch } from './classic-rebalance.ts';
import { generationRecord, generationSize, ownBytes } from './classic-written.ts';
import { heartbeatConsumerGroup, syncConsumerGroup } from './consumer.ts';
import type { GroupCallOf, GroupWork } from './shapes.ts';
import { type GroupState, groupOf } from './state.ts';
import { groupIdError } from './texts.ts';

/** From this version on SyncGroup names the protocol, and must. */
const PROTOCOL_SINCE = 5;

/** Whether the group has this member: an instance that came again under another id has fenced its former self. */
export function memberError(group: ClassicGroup, memberId: string, groupInstanceId: string | null): number {
  if (groupInstanceId !== null) {
    const known = group.staticMembers.get(groupInstanceId);
    if (known === undefined) return ErrorCode.UNKNOWN_MEMBER_ID;
    if (known !== memberId) return ErrorCode.FENCED_INSTANCE_ID;
  }
  return group.members.has(memberId) ? ErrorCode.NONE : ErrorCode.UNKNOWN_MEMBER_ID;
}

/** Takes a SyncGroup: answers at once, or when the leader's comes. */
export function syncGroup(state: GroupState, work: GroupWork, waiter: number, call: GroupCallOf<'syncGroup'>): void {
  const { body, apiVersion } = call;
  const refuse = (errorCode: number): void => {
    work.answers.push({ waiter, body: syncRefused(errorCode) });
  };
  const idError = groupIdError(body.groupId);
  if (idError !== ErrorCode.NONE) {
    refuse(idError);
    return;
  }
  if (apiVersion >= PROTOCOL_SINCE && (body.protocolType === null || body.protocolName === null)) {
    refuse(ErrorCode.INCONSISTENT_GROUP_PROTOCOL);
    return;
  }
  const group = groupOf(state, body.groupId);
  if (group?.kind === 'consumer' && group.members.size > 0) {
    syncConsumerGroup(state, work, waiter, group, call);
    return;
  }
  if (group?.kind !== 'classic' || group.state === 'Empty') {
    refuse(ErrorCode.UNKNOWN_MEMBER_ID);
    return;
  }
  const error = syncError(group, body);
  const member = group.members.get(body.memberId);
  if (error !== ErrorCode.NONE || member === undefined) refuse(error);
  else syncMember(state, work, group, member, waiter, body);
}

function syncError(group: ClassicGroup, body: SyncGroupRequest): number {
  const error = memberError(group, body.memberId, body.groupInstanceId);
  if (error !== ErrorCode.NONE) return error;
  if (body.generationId !== group.generation) return ErrorCode.ILLEGAL_GENERATION;
  const isOtherType = body.protocolType !== null && body.protocolType !== group.protocolType;
  const isOtherProtocol = body.protocolName !== null && body.protocolName !== group.protocolName;
  return isOtherType || isOtherProtocol ? ErrorCode.INCONSISTENT_GROUP_PROTOCOL : ErrorCode.NONE;
}

function syncMember(
  state: GroupState,
  work: GroupWork,
  group: ClassicGroup,
  member: ClassicMember,
  waiter: number,
  body: SyncGroupRequest,
): void {
  if (group.state === 'PreparingRebalance') {
    work.answers.push({ waiter, body: syncRefused(ErrorCode.REBALANCE_IN_PROGRESS) });
    return;
  }
  group.pendingSync.delete(member.memberId);
  if (group.pendingSync.size === 0) group.syncDeadlineMs = Number.POSITIVE_INFINITY;
  if (group.state === 'Stable') {
    work.answers.push({ waiter, body: synced(group, member) });
    return;
  }
  // Whoever waited in the member's name before has given up.
  answerSync(work, member, syncRefused(ErrorCode.REBALANCE_IN_PROGRESS));
  member.syncWaiter = waiter;
  if (group.leaderId === member.memberId) assign(state, work, group, body);
}

/** The leader has said who gets what: it is written, and holds. */
function assign(state: GroupState, work: GroupWork, group: ClassicGroup, body: SyncGroupRequest): void {
  const assignments = new Map(body.assignments.map((one) => [one.memberId, one.assignment]));
  const assigned = (memberId: string): Uint8Array => assignments.get(memberId) ?? NO_BYTES;
  if (generationSize(group, assigned) > state.config.recordSizeMax) {
    failSync(state, work, group, ErrorCode.UNKNOWN_SERVER_ERROR);
    prepareRebalance(state, work, group);
    return;
  }
  for (const member of group.members.values()) member.assignment = ownBytes(assigned(member.memberId));
  // Kafka writes the time at which the generation began, and takes the group for stable when that is committed.
  work.records.push(generationRecord(group, (memberId) => group.members.get(memberId)?.assignment ?? NO_BYTES));
  stabilize(work, group);
  for (const member of group.members.values()) {
    if (answerSync(work, member, synced(group, member))) touch(state, work, group, member);
  }
}

/** Takes a Heartbeat: the member lives, and hears whether a rebalance goes on. */
export function heartbeat(state: GroupState, work: GroupWork, waiter: number, call: GroupCallOf<'heartbeat'>): void {
  const { groupId, memberId, groupInstanceId, generationId } = call.body;
  const group = groupOf(state, groupId);
  if (group?.kind === 'consumer') {
    heartbeatConsumerGroup(state, work, waiter, group, call);
    return;
  }
  const answer = (errorCode: number): void => {
    work.answers.push({ waiter, body: { throttleTimeMs: 0, errorCode } });
  };
  const idError = groupIdError(groupId);
  if (idError !== ErrorCode.NONE || group === undefined) {
    answer(idError !== ErrorCode.NONE ? idError : ErrorCode.UNKNOWN_MEMBER_ID);
    return;
  }
  const error = memberError(group, memberId, groupInstanceId);
  const member = group.members.get(memberId);
  if (error !== ErrorCode.NONE || member === undefined) {
    answer(error);
  } else if (generationId !== group.generation) {
    answer(ErrorCode.ILLEGAL_GENERATION);
  } else {
    touch(state, work, group, member);
    answer(group.state === 'PreparingRebalance' ? ErrorCode.REBALANCE_IN_PROGRESS : ErrorCode.NONE);
  }
}
