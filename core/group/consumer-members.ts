/**
 * Which member of a consumer group a call is from, and whether it may speak: ids, instance ids and epochs.
 *
 * A member speaks in the epoch that the coordinator told it last, or in the one before, if it owns no more than it has
 * been given: then the answer with the newer one was lost. In epoch 0 it joins, also a second time, as one that owns
 * nothing. A static member that is away (epoch -2) is taken over by whoever comes with its instance id; one that is
 * there only by itself, or by a member of the other protocol, which it is upgrading from. Pure but for the draft.
 */
import { ErrorCode } from '../protocol/errors.ts';
import {
  type Draft,
  draftMember,
  draftSize,
  draftTarget,
  type Refusal,
  refuse,
  removeMember,
  unknownMember,
  write,
} from './consumer-draft.ts';
import type { SaidPartitions } from './consumer-reconcile.ts';
import { assignmentRecord, memberRecord, targetRecord } from './consumer-records.ts';
import {
  AWAY_EPOCH,
  type ConsumerMember,
  createConsumerMember,
  type OwnedPartitions,
  staticMember,
} from './consumer-state.ts';

/** Who says what. */
export interface Speaker {
  readonly memberId: string;
  readonly instanceId: string | null;
  readonly memberEpoch: number;
  /** Whether it may be somebody new. */
  readonly mayJoin: boolean;
  readonly said: SaidPartitions;
  readonly isClassic: boolean;
}

/** Whether there is room for a member that may be new; a refusal if not. */
export function checkSize(draft: Draft, memberId: string, instanceId: string | null): Refusal | null {
  const { group, config } = draft;
  const { sizeMax } = config.consumer;
  if (instanceId !== null && group.staticMembers.has(instanceId)) return null;
  if (draftSize(draft) < sizeMax || draftMember(draft, memberId) !== undefined) return null;
  return refuse(
    ErrorCode.GROUP_MAX_SIZE_REACHED,
    `The consumer group has reached its maximum capacity of ${sizeMax} members.`,
  );
}

/** The member that speaks: one of the group, a new one, or one that takes the place of another with this very call. */
export function findMember(draft: Draft, speaker: Speaker): ConsumerMember | Refusal {
  if (speaker.instanceId !== null) return findStatic(draft, speaker, speaker.instanceId);
  const member = draftMember(draft, speaker.memberId);
  if (member === undefined) {
    if (!speaker.mayJoin) return unknownMember(draft.group.groupId, speaker.memberId);
    return createConsumerMember(speaker.memberId);
  }
  return checkEpoch(member, speaker) ?? member;
}

function findStatic(draft: Draft, speaker: Speaker, instanceId: string): ConsumerMember | Refusal {
  const { group } = draft;
  const { memberId, mayJoin, isClassic } = speaker;
  const before = staticMember(group, instanceId);
  if (before === undefined) {
    if (!mayJoin) return refuse(ErrorCode.UNKNOWN_MEMBER_ID, `Instance id ${instanceId} is unknown.`);
    return draftMember(draft, memberId) ?? createConsumerMember(memberId);
  }
  if (!mayJoin) {
    return checkInstance(group.groupId, before, memberId, instanceId) ?? checkEpoch(before, speaker) ?? before;
  }
  if (before.memberId === memberId && before.memberEpoch !== AWAY_EPOCH) return before;
  if (!isClassic && before.classic === null && before.memberEpoch !== AWAY_EPOCH) {
    return refuse(
      ErrorCode.UNRELEASED_INSTANCE_ID,
      `Static member ${memberId} with instance id ${instanceId} cannot join the group because the instance id is ` +
        `owned by ${before.memberId} member.`,
    );
  }
  return takeOver(draft, before, memberId);
}

/** Refuses who uses the instance id of another. */
export function checkInstance(
  groupId: string,
  member: ConsumerMember,
  memberId: string,
  instanceId: string,
): Refusal | null {
  if (member.memberId === memberId) return null;
  return refuse(
    ErrorCode.FENCED_INSTANCE_ID,
    `Static member ${memberId} with instance id ${instanceId} in group ${groupId} was fenced by existing member ` +
      `${member.memberId}.`,
  );
}

/** A static member goes on, perhaps under a new id, with what it has and is to have. */
function takeOver(draft: Draft, before: ConsumerMember, memberId: string): ConsumerMember {
  const { groupId } = draft.group;
  const target = draftTarget(draft, before.memberId);
  // The same process may come back: it never ceases to be a member, or its session would end with the old one.
  if (before.memberId !== memberId) removeMember(draft, before.memberId);
  const member = { ...before, memberId, memberEpoch: 0, previousMemberEpoch: 0 };
  draft.changed.set(memberId, member);
  draft.targets.set(memberId, target);
  write(draft, memberRecord(groupId, member), targetRecord(groupId, memberId, target));
  write(draft, assignmentRecord(groupId, member));
  return member;
}

function checkEpoch(member: ConsumerMember, { memberEpoch, said, isClassic }: Speaker): Refusal | null {
  if (isClassic || memberEpoch === 0 || memberEpoch === member.memberEpoch) return null;
  if (memberEpoch > member.memberEpoch) return fenced('greater', memberEpoch, member.memberEpoch);
  if (memberEpoch === member.previousMemberEpoch && isWithin(said, member.assigned)) return null;
  return fenced('smaller', memberEpoch, member.memberEpoch);
}

function fenced(how: string, received: number, known: number): Refusal {
  return refuse(
    ErrorCode.FENCED_MEMBER_EPOCH,
    `The consumer group member has a ${how} member epoch (${received}) than the one known by the group coordinator ` +
      `(${known}). The member must abandon all its partitions and rejoin.`,
  );
}

/** Whether a member says that it owns nothing but these. */
function isWithin(said: SaidPartitions, owned: OwnedPartitions): boolean {
  if (said === null) return false;
  return said.every(({ topicId, partitions }) => {
    const some = owned.get(topicId);
    return some !== undefined && partitions.every((partition) => some.has(partition));
  });
}
