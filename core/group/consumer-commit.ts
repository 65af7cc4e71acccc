/**
 * Whether a member of a consumer group may commit or fetch offsets: fencing by epoch.
 *
 * A commit in the member's epoch counts. One in an older epoch counts for the partitions that the member has had since
 * that epoch or before: it was on its way when the member came to the newer one. For others, the partition may have
 * been somebody else's in between, and the commit is refused. Pure.
 */
import { ErrorCode } from '../protocol/errors.ts';
import type { OffsetCommitRequest } from '../protocol/messages/08-offset-commit.ts';
import type { ConsumerGroup, ConsumerMember } from './consumer-state.ts';
import type { GroupCallOf } from './shapes.ts';

/** The first version of OffsetCommit that members of the consumer protocol may use. */
const COMMIT_SINCE = 9;

/** Whether the caller may commit at all: NONE, or the error for every partition. */
export function consumerCommitError(group: ConsumerGroup, call: GroupCallOf<'offsetCommit'>): ErrorCode {
  const { memberId, generationIdOrMemberEpoch } = call.body;
  // Nobody is in the group: an operator, or a consumer that has its partitions by hand.
  if (generationIdOrMemberEpoch < 0 && group.members.size === 0) return ErrorCode.NONE;
  const member = group.members.get(memberId);
  if (member === undefined) return ErrorCode.UNKNOWN_MEMBER_ID;
  if (member.classic === null && call.apiVersion < COMMIT_SINCE) return ErrorCode.UNSUPPORTED_VERSION;
  return generationIdOrMemberEpoch > member.memberEpoch ? staleError(member) : ErrorCode.NONE;
}

/** Whether a caller who may commit may do so for a partition, given the id of its topic: NONE, or the error. */
export function consumerPartitionCommitError(
  group: ConsumerGroup,
  body: OffsetCommitRequest,
  topicId: string,
  partition: number,
): ErrorCode {
  const { memberId, generationIdOrMemberEpoch: epoch } = body;
  const member = group.members.get(memberId);
  if (member === undefined || epoch === member.memberEpoch) return ErrorCode.NONE;
  const since = member.assigned.get(topicId)?.get(partition) ?? member.revoking.get(topicId)?.get(partition);
  return since === undefined || epoch < since ? staleError(member) : ErrorCode.NONE;
}

/** Whether a member may fetch offsets; -1 and no id: no member asks. */
export function consumerFetchError(group: ConsumerGroup, memberId: string | null, memberEpoch: number): ErrorCode {
  if (memberId === null && memberEpoch < 0) return ErrorCode.NONE;
  const member = memberId === null ? undefined : group.members.get(memberId);
  if (member === undefined) return ErrorCode.UNKNOWN_MEMBER_ID;
  return memberEpoch === member.memberEpoch ? ErrorCode.NONE : staleError(member);
}

function staleError(member: ConsumerMember): ErrorCode {
  return member.classic === null ? ErrorCode.STALE_MEMBER_EPOCH : ErrorCode.ILLEGAL_GENERATION;
}
