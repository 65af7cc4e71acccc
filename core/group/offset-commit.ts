/**
 * OffsetCommit: members of a generation, or anybody for a group without members, store how far they have read.
 *
 * Whether the caller may is decided for the whole request; whether the topic is there and the text is short enough, for
 * each partition. The id of the topic is stored, whatever the version, so that an offset of a topic that was deleted
 * and made again is not taken for one of the new topic.
 */
import { utf8Size } from '../lib/utf8.ts';
import { ZERO_UUID } from '../lib/uuid.ts';
import { type MetadataImage, type TopicImage, topicById, topicByName } from '../metadata/image.ts';
import { ErrorCode } from '../protocol/errors.ts';
import type { OffsetCommitRequest } from '../protocol/messages/08-offset-commit.ts';
import type { ClassicGroup } from './classic-group.ts';
import { touch } from './classic-rebalance.ts';
import { memberError } from './classic-sync.ts';
import { consumerCommitError, consumerPartitionCommitError } from './consumer.ts';
import { groupRecord } from './records.ts';
import type { GroupCallOf, GroupWork } from './shapes.ts';
import { type GroupState, groupOf } from './state.ts';
import { isStorable } from './texts.ts';

/** From this version on a missing group is called so. */
const GROUP_ERROR_SINCE = 9;
/** From this version on topics have ids in place of names. */
export const TOPIC_IDS_SINCE = 10;
/** The longest text that a record holds, bytes. */
const TEXT_BYTES_MAX = 0x7fff;

type Topic = OffsetCommitRequest['topics'][number];
type Partition = Topic['partitions'][number];

/** Takes an OffsetCommit. */
export function commitOffsets(
  state: GroupState,
  work: GroupWork,
  waiter: number,
  call: GroupCallOf<'offsetCommit'>,
): void {
  const { body, apiVersion } = call;
  const hasIds = apiVersion >= TOPIC_IDS_SINCE;
  const found = body.topics.map((topic) => findTopic(work.image, topic, hasIds));
  const isAnyThere = body.topics.some(({ partitions }, i) =>
    partitions.some(({ partitionIndex }) => hasPartition(found[i], partitionIndex)),
  );
  // Of topics that are not there nothing is asked of the group.
  const error = isAnyThere ? commitError(state, work, call) : ErrorCode.NONE;
  const topics = body.topics.map((topic, i) => {
    const image = found[i];
    const unknown = hasIds && image === undefined ? ErrorCode.UNKNOWN_TOPIC_ID : ErrorCode.UNKNOWN_TOPIC_OR_PARTITION;
    const partitions = topic.partitions.map((partition) => {
      const { partitionIndex } = partition;
      if (image === undefined || !hasPartition(image, partitionIndex)) return { partitionIndex, errorCode: unknown };
      const fenced = error === ErrorCode.NONE ? partitionError(state, body, image.id, partitionIndex) : error;
      if (fenced !== ErrorCode.NONE) return { partitionIndex, errorCode: fenced };
      return { partitionIndex, errorCode: commitOne(state, work, body, image, partition) };
    });
    return { name: topic.name, topicId: topic.topicId, partitions };
  });
  work.answers.push({ waiter, body: { throttleTimeMs: 0, topics } });
}

function findTopic(image: MetadataImage, topic: Topic, hasIds: boolean): TopicImage | undefined {
  return hasIds ? topicById(image, topic.topicId) : topicByName(image, topic.name);
}

function hasPartition(topic: TopicImage | undefined, partition: number): boolean {
  return topic?.partitions[partition] !== undefined;
}

/** Whether the caller may commit for the group. A member of a classic group has shown that it lives. */
function commitError(state: GroupState, work: GroupWork, call: GroupCallOf<'offsetCommit'>): number {
  const { groupId, generationIdOrMemberEpoch } = call.body;
  const group = groupOf(state, groupId);
  if (!isStorable(groupId)) return ErrorCode.INVALID_GROUP_ID;
  if (group === undefined) {
    // Nobody's group: it begins with its first offset.
    if (generationIdOrMemberEpoch < 0) return ErrorCode.NONE;
    return call.apiVersion >= GROUP_ERROR_SINCE ? ErrorCode.GROUP_ID_NOT_FOUND : ErrorCode.ILLEGAL_GENERATION;
  }
  if (group.kind === 'consumer') return consumerCommitError(group, call);
  const error = classicCommitError(group, call.body);
  if (error !== ErrorCode.NONE) return error;
  const member = group.members.get(call.body.memberId);
  if (member !== undefined) touch(state, work, group, member);
  return ErrorCode.NONE;
}

/** Whether a caller that may commit may do so for a partition: a consumer may have it since a later epoch only. */
function partitionError(state: GroupState, body: OffsetCommitRequest, topicId: string, partition: number): number {
  const group = groupOf(state, body.groupId);
  return group?.kind === 'consumer' ? consumerPartitionCommitError(group, body, topicId, partition) : ErrorCode.NONE;
}

function classicCommitError(group: ClassicGroup, body: OffsetCommitRequest): number {
  const { generationIdOrMemberEpoch: generation, memberId, groupInstanceId } = body;
  if (generation < 0 && group.state === 'Empty') return ErrorCode.NONE;
  const isMember = generation >= 0 || memberId !== '' || groupInstanceId !== null;
  if (!isMember) return group.state === 'Empty' ? ErrorCode.NONE : ErrorCode.UNKNOWN_MEMBER_ID;
  const error = memberError(group, memberId, groupInstanceId);
  if (error !== ErrorCode.NONE) return error;
  if (generation !== group.generation) return ErrorCode.ILLEGAL_GENERATION;
  // It knows of the generation and has no assignment in it yet: what it read belongs to the one before.
  return group.state === 'CompletingRebalance' ? ErrorCode.REBALANCE_IN_PROGRESS : ErrorCode.NONE;
}

function commitOne(
  state: GroupState,
  work: GroupWork,
  body: OffsetCommitRequest,
  topic: TopicImage,
  partition: Partition,
): number {
  const { partitionIndex, committedOffset, committedLeaderEpoch } = partition;
  const metadata = partition.committedMetadata ?? '';
  if (metadata.length > state.config.offsetMetadataSizeMax || utf8Size(metadata) > TEXT_BYTES_MAX) {
    return ErrorCode.OFFSET_METADATA_TOO_LARGE;
  }
  const doesExpire = body.retentionTimeMs !== -1;
  const record = groupRecord(
    'OffsetCommit',
    { group: body.groupId, topic: topic.name, partition: partitionIndex },
    {
      offset: committedOffset,
      // Old clients that say how long have no more to say.
      leaderEpoch: doesExpire ? -1 : committedLeaderEpoch,
      metadata,
      commitTimestamp: work.wallMs,
      expireTimestamp: doesExpire ? work.wallMs + body.retentionTimeMs : -1,
      topicId: doesExpire ? ZERO_UUID : topic.id,
    },
  );
  work.records.push(record);
  return ErrorCode.NONE;
}
