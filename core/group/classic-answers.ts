/**
 * Answers to those who wait in classic groups, and to those who do not wait at all. Each puts one answer into the work
 * of the call; whoever waits for a member's JoinGroup or SyncGroup is answered once and forgotten.
 */
import { ErrorCode } from '../protocol/errors.ts';
import type { JoinGroupResponse } from '../protocol/messages/11-join-group.ts';
import type { SyncGroupResponse } from '../protocol/messages/14-sync-group.ts';
import { type ClassicGroup, type ClassicMember, metadataOf, NO_BYTES, setJoinWaiter } from './classic-group.ts';
import type { GroupWork } from './shapes.ts';

/** JoinGroup is refused. */
export function joinRefused(errorCode: number, memberId: string): JoinGroupResponse {
  return {
    throttleTimeMs: 0,
    errorCode,
    generationId: -1,
    protocolType: null,
    protocolName: null,
    leader: '',
    skipAssignment: false,
    memberId,
    members: [],
  };
}

/** The member is in the generation; the leader hears of all members. */
export function joined(
  group: ClassicGroup,
  memberId: string,
  said: { readonly leaderId: string | null; readonly skipsAssignment: boolean; readonly namesMembers: boolean },
): JoinGroupResponse {
  const { generation, protocolType, protocolName } = group;
  const members = !said.namesMembers
    ? []
    : [...group.members.values()].map((member) => ({
        memberId: member.memberId,
        groupInstanceId: member.groupInstanceId,
        metadata: metadataOf(member, protocolName),
      }));
  return {
    throttleTimeMs: 0,
    errorCode: ErrorCode.NONE,
    generationId: generation,
    protocolType,
    protocolName,
    leader: said.leaderId ?? '',
    skipAssignment: said.skipsAssignment,
    memberId,
    members,
  };
}

/** The usual answer to one that joined. */
export function joinedAs(group: ClassicGroup, memberId: string): JoinGroupResponse {
  const { leaderId } = group;
  return joined(group, memberId, { leaderId, skipsAssignment: false, namesMembers: leaderId === memberId });
}

/** SyncGroup is refused. */
export function syncRefused(errorCode: number): SyncGroupResponse {
  return { throttleTimeMs: 0, errorCode, protocolType: null, protocolName: null, assignment: NO_BYTES };
}

/** The member has its assignment. */
export function synced(group: ClassicGroup, member: ClassicMember): SyncGroupResponse {
  const { protocolType, protocolName } = group;
  return { throttleTimeMs: 0, errorCode: ErrorCode.NONE, protocolType, protocolName, assignment: member.assignment };
}

/** Answers whoever waits for the member's JoinGroup, if anybody does. */
export function answerJoin(work: GroupWork, group: ClassicGroup, member: ClassicMember, body: JoinGroupResponse): void {
  const waiter = member.joinWaiter;
  if (waiter < 0) return;
  setJoinWaiter(group, member, -1);
  work.answers.push({ waiter, body });
}

/** Answers whoever waits for the member's SyncGroup. Whether anybody did. */
export function answerSync(work: GroupWork, member: ClassicMember, body: SyncGroupResponse): boolean {
  const waiter = member.syncWaiter;
  if (waiter < 0) return false;
  member.syncWaiter = -1;
  work.answers.push({ waiter, body });
  return true;
}

/** Answers all who wait in the group with an error: it is about to change its kind, or to go. */
export function answerAll(work: GroupWork, group: ClassicGroup, errorCode: number): void {
  for (const member of group.members.values()) {
    answerJoin(work, group, member, joinRefused(errorCode, member.memberId));
    answerSync(work, member, syncRefused(errorCode));
  }
}
