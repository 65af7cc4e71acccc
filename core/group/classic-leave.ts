/**
 * LeaveGroup of the classic protocol: members go by themselves, or an operator removes static ones by their instance.
 *
 * All of one request go before the group is rebalanced, so that there is one rebalance and not many.
 */
import { ErrorCode } from '../protocol/errors.ts';
import type { LeaveGroupResponse } from '../protocol/messages/13-leave-group.ts';
import { type ClassicGroup, removeMember } from './classic-group.ts';
import { dropMember, rebalanceOrComplete } from './classic-rebalance.ts';
import { memberError } from './classic-sync.ts';
import { leaveConsumerGroup } from './consumer.ts';
import type { GroupCallOf, GroupWork } from './shapes.ts';
import { type GroupState, groupOf } from './state.ts';
import { groupIdError } from './texts.ts';

/** From this version on a request names several members. */
const BATCHED_SINCE = 3;

/** Who wants to go. */
export interface Leaving {
  readonly memberId: string;
  readonly groupInstanceId: string | null;
}

/** Those whom a request of any version names. */
function leavingMembers({ apiVersion, body }: GroupCallOf<'leaveGroup'>): readonly Leaving[] {
  return apiVersion < BATCHED_SINCE ? [{ memberId: body.memberId, groupInstanceId: null }] : body.members;
}

/** The response to a request of any version; what became of those whom it names, in their order. */
function leaveResponse(apiVersion: number, members: LeaveGroupResponse['members']): LeaveGroupResponse {
  if (apiVersion >= BATCHED_SINCE) return { throttleTimeMs: 0, errorCode: ErrorCode.NONE, members };
  return { throttleTimeMs: 0, errorCode: members[0]?.errorCode ?? ErrorCode.NONE, members: [] };
}

/** Takes a LeaveGroup. */
export function leaveGroup(state: GroupState, work: GroupWork, waiter: number, call: GroupCallOf<'leaveGroup'>): void {
  const group = groupOf(state, call.body.groupId);
  const leaving = leavingMembers(call);
  if (group?.kind === 'consumer') {
    const members = leaveConsumerGroup(state, work, group, leaving);
    work.answers.push({ waiter, body: leaveResponse(call.apiVersion, members) });
    return;
  }
  const idError = groupIdError(call.body.groupId);
  if (idError !== ErrorCode.NONE) {
    work.answers.push({ waiter, body: { throttleTimeMs: 0, errorCode: idError, members: [] } });
    return;
  }
  const members = leaving.map((one) => ({
    memberId: one.memberId,
    groupInstanceId: one.groupInstanceId,
    errorCode: group === undefined ? ErrorCode.UNKNOWN_MEMBER_ID : leaveOne(work, group, one),
  }));
  work.answers.push({ waiter, body: leaveResponse(call.apiVersion, members) });
  if (group === undefined || group.state === 'Empty') return;
  if (members.some(({ errorCode }) => errorCode === ErrorCode.NONE)) rebalanceOrComplete(state, work, group);
}

function leaveOne(work: GroupWork, group: ClassicGroup, { memberId, groupInstanceId }: Leaving): number {
  // An operator knows the instance and not the id.
  const known = groupInstanceId === null ? undefined : group.staticMembers.get(groupInstanceId);
  const leavingId = memberId === '' ? (known ?? '') : memberId;
  if (group.pendingMembers.has(leavingId)) {
    removeMember(group, leavingId);
    return ErrorCode.NONE;
  }
  const error = memberError(group, leavingId, groupInstanceId);
  const member = group.members.get(leavingId);
  if (error !== ErrorCode.NONE || member === undefined) return error;
  dropMember(work, group, member);
  return ErrorCode.NONE;
}
