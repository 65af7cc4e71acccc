/**
 * Members of a consumer group go: by themselves, or because the coordinator lost patience with them.
 *
 * What a member that is gone had is free at once. A static one may be away for a while: it keeps what it has until its
 * session ends, but for what it had yet to give back. Where nobody is left who speaks the consumer protocol, and the
 * operator allows it, the group goes on as a classic one.
 */
import { ErrorCode } from '../protocol/errors.ts';
import type { ConsumerGroupHeartbeatRequest } from '../protocol/messages/68-consumer-group-heartbeat.ts';
import { downgradeWithout, mayDowngrade } from './consumer-downgrade.ts';
import {
  createDraft,
  type Draft,
  draftMember,
  draftSize,
  type Refusal,
  refuse,
  removeMember,
  unknownMember,
  write,
} from './consumer-draft.ts';
import { checkInstance } from './consumer-members.ts';
import { assignmentRecord, epochRecord, targetEpochRecord } from './consumer-records.ts';
import {
  AWAY_EPOCH,
  type ConsumerGroup,
  type ConsumerMember,
  OWNS_NOTHING,
  type OwnedPartitions,
  staticMember,
} from './consumer-state.ts';
import { dropUnusedRegexes, hashTopics } from './consumer-topics.ts';
import type { GroupWork } from './shapes.ts';
import type { GroupState } from './state.ts';

/** A member leaves by a heartbeat in epoch -1, or is away from now on by one in epoch -2. A refusal, or null. */
export function leaveByHeartbeat(
  state: GroupState,
  work: GroupWork,
  group: ConsumerGroup,
  body: ConsumerGroupHeartbeatRequest,
): Refusal | null {
  const { memberId, instanceId, memberEpoch, groupId } = body;
  const draft = createDraft(state, work, group);
  if (instanceId === null) {
    const member = draftMember(draft, memberId);
    if (member === undefined) return unknownMember(groupId, memberId);
    fenceMembers(state, draft, [member]);
    return null;
  }
  const member = staticMember(group, instanceId);
  if (member === undefined) return refuse(ErrorCode.UNKNOWN_MEMBER_ID, `Instance id ${instanceId} is unknown.`);
  const refusal = checkInstance(groupId, member, memberId, instanceId);
  if (refusal !== null) return refusal;
  if (memberEpoch === AWAY_EPOCH) stayAway(draft, member);
  else fenceMembers(state, draft, [member]);
  return null;
}

function stayAway(draft: Draft, member: ConsumerMember): void {
  const timers = draft.group.timers.get(member.memberId);
  if (timers !== undefined) timers.rebalanceMs = Number.POSITIVE_INFINITY;
  const away = { ...member, memberEpoch: AWAY_EPOCH, assigned: sinceEver(member.assigned), revoking: OWNS_NOTHING };
  write(draft, assignmentRecord(draft.group.groupId, away));
}

/** Whoever takes over counts its epochs from 0 on. */
function sinceEver(owned: OwnedPartitions): OwnedPartitions {
  return new Map([...owned].map(([topicId, some]) => [topicId, new Map([...some.keys()].map((one) => [one, 0]))]));
}

/** Takes members out of the group, which gets a new epoch; the next heartbeat deals out what they had. */
export function fenceMembers(state: GroupState, draft: Draft, members: readonly ConsumerMember[]): void {
  if (members.length === 0) return;
  const { group, work, config } = draft;
  const leaving = new Set(members.map(({ memberId }) => memberId));
  if (mayDowngrade(group, config, leaving) && downgradeWithout(state, work, group, leaving)) return;
  for (const memberId of leaving) removeMember(draft, memberId);
  dropUnusedRegexes(draft);
  draft.epoch += 1;
  write(draft, epochRecord(group.groupId, draft.epoch, hashTopics(draft)));
  // Nobody is left to wait for: the next one to join is dealt to at once.
  if (draftSize(draft) === 0) write(draft, targetEpochRecord(group.groupId, draft.epoch, 0));
}
