/**
 * The one place where records change state: the same whether they were just made or come from the log.
 *
 * A log may hold records in any order that writing and compaction leave: what a tombstone names need not be there, an
 * offset may come before its group or without one. An offset makes a group that only keeps offsets; a record of a
 * generation replaces whatever was known under its id. What cannot be understood as an order of ours is passed over,
 * never refused: a coordinator that does not load helps nobody.
 */
import { setDeadline } from '../lib/heap.ts';
import { ZERO_UUID } from '../lib/uuid.ts';
import type { GroupRecord, GroupRecordOf } from '../protocol/group-records.ts';
import { createClassicGroup } from './classic-group.ts';
import { ownBytes } from './classic-written.ts';
import { replayConsumerRecord } from './consumer.ts';
import type { ForeignRecord } from './records.ts';
import { type CommittedOffset, type GroupState, removeGroup } from './state.ts';

/** Replays one record. */
export function replayRecord(state: GroupState, record: GroupRecord | ForeignRecord): void {
  switch (record.kind) {
    case 'foreign':
      break;
    case 'OffsetCommit':
      replayOffset(state, record);
      break;
    case 'LegacyOffsetCommit':
      replayLegacyOffset(state, record);
      break;
    case 'GroupMetadata':
      replayGeneration(state, record);
      break;
    default:
      replayConsumerRecord(state, record);
  }
}

function replayGeneration(state: GroupState, record: GroupRecordOf<'GroupMetadata'>): void {
  const groupId = record.key.group;
  const { value } = record;
  const known = state.groups.get(groupId);
  if (value === null) {
    // A group that has become a consumer group is not what this one tells of.
    if (known?.kind === 'classic') removeGroup(state, groupId);
    return;
  }
  const downgraded = state.downgraded.get(groupId);
  let group = known?.kind === 'classic' && downgraded === undefined ? known : undefined;
  if (group === undefined) {
    if (known !== undefined) setDeadline(state.deadlines, known, Number.POSITIVE_INFINITY);
    group = downgraded ?? createClassicGroup(groupId, value.currentStateTimestamp);
    state.groups.set(groupId, group);
    state.downgraded.delete(groupId);
  }
  group.written = {
    ...value,
    members: value.members.map((member) => ({
      ...member,
      subscription: ownBytes(member.subscription),
      assignment: ownBytes(member.assignment),
    })),
  };
}

function replayOffset(state: GroupState, { key, value }: GroupRecordOf<'OffsetCommit'>): void {
  if (value === null) {
    dropOffset(state, key.group, key.topic, key.partition);
    return;
  }
  setOffset(state, key.group, key.topic, key.partition, {
    offset: value.offset,
    leaderEpoch: value.leaderEpoch,
    metadata: value.metadata,
    commitTimestampMs: value.commitTimestamp,
    expireTimestampMs: value.expireTimestamp,
    topicId: value.topicId,
  });
}

function replayLegacyOffset(state: GroupState, { key, value }: GroupRecordOf<'LegacyOffsetCommit'>): void {
  if (value === null) {
    dropOffset(state, key.group, key.topic, key.partition);
    return;
  }
  setOffset(state, key.group, key.topic, key.partition, {
    offset: value.offset,
    leaderEpoch: -1,
    metadata: value.metadata,
    commitTimestampMs: value.commitTimestamp,
    expireTimestampMs: -1,
    topicId: ZERO_UUID,
  });
}

/** Puts an offset in its place, and makes a group for it where there is none. Of replay alone. */
export function setOffset(
  state: GroupState,
  groupId: string,
  topic: string,
  partition: number,
  offset: CommittedOffset,
): void {
  let topics = state.offsets.get(groupId);
  if (topics === undefined) {
    topics = new Map();
    state.offsets.set(groupId, topics);
    if (!state.groups.has(groupId)) state.groups.set(groupId, createClassicGroup(groupId, -1));
  }
  const partitions = topics.get(topic);
  if (partitions === undefined) topics.set(topic, new Map([[partition, offset]]));
  else partitions.set(partition, offset);
}

/** Takes an offset out, if it is there. Of replay alone. */
export function dropOffset(state: GroupState, groupId: string, topic: string, partition: number): void {
  const topics = state.offsets.get(groupId);
  const partitions = topics?.get(topic);
  if (topics === undefined || partitions === undefined) return;
  partitions.delete(partition);
  if (partitions.size === 0) topics.delete(topic);
  if (topics.size === 0) state.offsets.delete(groupId);
}
