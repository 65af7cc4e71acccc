/**
 * OffsetFetch and OffsetDelete.
 *
 * A group that is not there has no offsets, which is no error. Nothing is fetched that is not committed: the answer
 * waits for what it may have seen. So nothing here is ever unstable, until there are transactions. An offset that was
 * committed for a topic which is gone is not told for a newer one of its name, also to those who ask by name.
 */
import { ZERO_UUID } from '../lib/uuid.ts';
import { topicById, topicByName } from '../metadata/image.ts';
import { CONSUMER_PROTOCOL_TYPE } from '../protocol/consumer-protocol.ts';
import { ErrorCode } from '../protocol/errors.ts';
import type { OffsetFetchResponse } from '../protocol/messages/09-offset-fetch.ts';
import type { OffsetDeleteResponse } from '../protocol/messages/47-offset-delete.ts';
import { consumerFetchError, consumerTopics } from './consumer.ts';
import { TOPIC_IDS_SINCE } from './offset-commit.ts';
import { tombstone } from './records.ts';
import type { GroupCallOf, GroupWork } from './shapes.ts';
import { type CommittedOffset, committedOffset, type Group, type GroupState, groupOf } from './state.ts';

type FetchedGroup = OffsetFetchResponse['groups'][number];
type FetchedTopic = FetchedGroup['topics'][number];
type FetchedPartition = FetchedTopic['partitions'][number];

/** Takes an OffsetFetch of one group. */
export function fetchOffsets(
  state: GroupState,
  work: GroupWork,
  waiter: number,
  call: GroupCallOf<'offsetFetch'>,
): void {
  const { groupId, memberId, memberEpoch, topics } = call.body;
  const group = groupOf(state, groupId);
  const errorCode = group?.kind === 'consumer' ? consumerFetchError(group, memberId, memberEpoch) : ErrorCode.NONE;
  const body: FetchedGroup = { groupId, topics: [], errorCode };
  if (errorCode === ErrorCode.NONE) {
    const hasIds = call.apiVersion >= TOPIC_IDS_SINCE;
    body.topics = topics === null ? allTopics(state, work, groupId, hasIds) : namedTopics(state, work, call, hasIds);
  }
  work.answers.push({ waiter, body });
}

function namedTopics(
  state: GroupState,
  work: GroupWork,
  call: GroupCallOf<'offsetFetch'>,
  hasIds: boolean,
): FetchedTopic[] {
  const { groupId, topics } = call.body;
  return (topics ?? []).map(({ name, topicId, partitionIndexes }) => {
    const topic = hasIds ? topicById(work.image, topicId) : topicByName(work.image, name);
    const known = hasIds ? topic?.name : name;
    const partitions = partitionIndexes.map((partition) => {
      if (known === undefined) return nothing(partition, ErrorCode.UNKNOWN_TOPIC_ID);
      const offset = committedOffset(state, groupId, known, partition);
      const isThere = offset !== undefined && isOf(offset, topic?.id);
      return isThere ? fetched(partition, offset) : nothing(partition, ErrorCode.NONE);
    });
    return { name, topicId, partitions };
  });
}

function allTopics(state: GroupState, work: GroupWork, groupId: string, hasIds: boolean): FetchedTopic[] {
  const topics: FetchedTopic[] = [];
  for (const [name, partitions] of state.offsets.get(groupId) ?? []) {
    const topicId = topicByName(work.image, name)?.id;
    // There is no way to name the id of a topic that is gone.
    if (topicId === undefined && hasIds) continue;
    const own = [...partitions].filter(([, offset]) => isOf(offset, topicId));
    if (own.length === 0) continue;
    topics.push({
      name,
      topicId: hasIds && topicId !== undefined ? topicId : ZERO_UUID,
      partitions: own.map(([partition, offset]) => fetched(partition, offset)),
    });
  }
  return topics;
}

/** Whether an offset is not of an older topic than the one of this id, which has its name now; undefined: none has. */
function isOf(offset: CommittedOffset, topicId: string | undefined): boolean {
  return topicId === undefined || offset.topicId === ZERO_UUID || offset.topicId === topicId;
}

function fetched(partitionIndex: number, offset: CommittedOffset): FetchedPartition {
  return {
    partitionIndex,
    committedOffset: offset.offset,
    committedLeaderEpoch: offset.leaderEpoch,
    metadata: offset.metadata,
    errorCode: ErrorCode.NONE,
  };
}

function nothing(partitionIndex: number, errorCode: number): FetchedPartition {
  return { partitionIndex, committedOffset: -1, committedLeaderEpoch: -1, metadata: '', errorCode };
}

/** Takes an OffsetDelete: offsets of topics that nobody in the group reads. */
export function deleteOffsets(
  state: GroupState,
  work: GroupWork,
  waiter: number,
  call: GroupCallOf<'offsetDelete'>,
): void {
  const { groupId, topics } = call.body;
  const group = groupOf(state, groupId);
  const errorCode = groupId === '' ? ErrorCode.INVALID_GROUP_ID : deleteError(group);
  const body: OffsetDeleteResponse = { errorCode, throttleTimeMs: 0, topics: [] };
  if (group !== undefined && errorCode === ErrorCode.NONE) {
    work.isAtomic = false;
    const reads = readsOf(group);
    const gone = new Set<CommittedOffset>();
    body.topics = topics.map(({ name, partitions }) => {
      const isRead = reads(name);
      return {
        name,
        partitions: partitions.map(({ partitionIndex }) => ({
          partitionIndex,
          errorCode: deleteOne(state, work, groupId, { topic: name, partition: partitionIndex, isRead, gone }),
        })),
      };
    });
  }
  work.answers.push({ waiter, body });
}

function hasPartition(work: GroupWork, topic: string, partition: number): boolean {
  return topicByName(work.image, topic)?.partitions[partition] !== undefined;
}

interface Deletion {
  readonly topic: string;
  readonly partition: number;
  /** Somebody in the group reads the topic. */
  readonly isRead: boolean;
  /** What this call deletes: a partition that is named again is not deleted again. */
  readonly gone: Set<CommittedOffset>;
}

function deleteOne(
  state: GroupState,
  work: GroupWork,
  group: string,
  { topic, partition, isRead, gone }: Deletion,
): number {
  if (!hasPartition(work, topic, partition)) return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION;
  if (isRead) return ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC;
  const offset = committedOffset(state, group, topic, partition);
  if (offset !== undefined && !gone.has(offset)) {
    gone.add(offset);
    work.records.push(tombstone('OffsetCommit', { group, topic, partition }));
  }
  return ErrorCode.NONE;
}

/** Of groups that are not consumers nobody knows what they read: they must be empty. */
function deleteError(group: Group | undefined): number {
  if (group === undefined) return ErrorCode.GROUP_ID_NOT_FOUND;
  if (group.kind === 'consumer' || group.state === 'Empty') return ErrorCode.NONE;
  return group.protocolType === CONSUMER_PROTOCOL_TYPE ? ErrorCode.NONE : ErrorCode.NON_EMPTY_GROUP;
}

/** Whether anybody in the group reads a topic; where that is unknown, members of consumers may. */
export function readsOf(group: Group): (topic: string) => boolean {
  const topics = group.kind === 'consumer' ? consumerTopics(group) : group.subscribedTopics;
  if (topics !== null) return (topic) => topics.has(topic);
  const mayRead = group.kind === 'classic' && group.protocolType === CONSUMER_PROTOCOL_TYPE;
  return () => mayRead;
}
