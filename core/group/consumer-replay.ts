/**
 * Replay of the records of consumer groups: the only place where what is hard in them changes.
 *
 * The order of the records is Kafka's, and a log that was compacted may have lost the first of them: a record about a
 * member that is not known makes the member, and a partition that two members claim is with the one that claimed it
 * last. So any suffix of a log replays, and a whole one gives what the live state has.
 */
import type { PartitionsByTopic } from '../assignors/server-shapes.ts';
import { setDeadline } from '../lib/heap.ts';
import type { ConsumerGroupCurrentMemberAssignmentValue } from '../protocol/groups/consumer.ts';
import { ownBytes } from './classic-written.ts';
import type { ConsumerRecord } from './consumer.ts';
import {
  type ClassicPart,
  type ConsumerGroup,
  type ConsumerMember,
  createConsumerGroup,
  createConsumerMember,
  LEAVING_EPOCH,
  MemberState,
  OWNS_NOTHING,
  type OwnedPartitions,
} from './consumer-state.ts';
import { type GroupState, removeGroup } from './state.ts';

/**
 * A record of the log, or one just appended: creates the group in `state.groups`, or takes the place of a classic
 * group that only keeps offsets. What does not fit what is there is passed over.
 */
export function replayConsumerRecord(state: GroupState, record: ConsumerRecord): void {
  const { groupId } = record.key;
  const group = state.groups.get(groupId);
  if (group?.kind === 'consumer') {
    applyConsumerRecord(group, record);
    if (record.kind === 'ConsumerGroupMetadata' && record.value === null) removeGroup(state, groupId);
    return;
  }
  if (record.value === null || (group !== undefined && group.written !== null)) return;
  if (group !== undefined) setDeadline(state.deadlines, group, Number.POSITIVE_INFINITY);
  const made = createConsumerGroup(groupId);
  state.groups.set(groupId, made);
  applyConsumerRecord(made, record);
}

/** What a record says becomes true of its group. */
export function applyConsumerRecord(group: ConsumerGroup, record: ConsumerRecord): void {
  switch (record.kind) {
    case 'ConsumerGroupMetadata':
      group.epoch = record.value?.epoch ?? 0;
      group.metadataHash = record.value?.metadataHash ?? 0;
      break;
    case 'ConsumerGroupPartitionMetadata':
      group.hasPartitionMetadata = record.value !== null;
      break;
    case 'ConsumerGroupMemberMetadata':
      applyMember(group, record);
      break;
    case 'ConsumerGroupTargetAssignmentMetadata':
      group.targetEpoch = record.value?.assignmentEpoch ?? 0;
      group.targetTimestampMs = record.value?.assignmentTimestamp ?? 0;
      break;
    case 'ConsumerGroupTargetAssignmentMember':
      if (record.value === null) group.targets.delete(record.key.memberId);
      else group.targets.set(record.key.memberId, targetOf(record.value.topicPartitions));
      break;
    case 'ConsumerGroupCurrentMemberAssignment':
      applyAssignment(group, record.key.memberId, record.value);
      break;
    default:
      if (record.value === null) group.regexes.delete(record.key.regularExpression);
      else {
        const { topics, version, timestamp } = record.value;
        group.regexes.set(record.key.regularExpression, { topics, version, timestampMs: timestamp });
      }
  }
}

function applyMember(
  group: ConsumerGroup,
  { key, value }: Extract<ConsumerRecord, { readonly kind: 'ConsumerGroupMemberMetadata' }>,
): void {
  const before = group.members.get(key.memberId);
  if (value === null) {
    if (before === undefined) return;
    putMember(group, before, null);
    group.timers.delete(key.memberId);
    return;
  }
  const { classicMemberMetadata, subscribedTopicRegex, ...rest } = value;
  putMember(group, before ?? null, {
    ...(before ?? createConsumerMember(key.memberId)),
    ...rest,
    subscribedTopicRegex: subscribedTopicRegex ?? '',
    classic: classicMemberMetadata === null ? null : ownClassicPart(classicMemberMetadata),
  });
}

/** Bytes that a member keeps for long must not keep alive what they were read from. */
function ownClassicPart({ sessionTimeoutMs, supportedProtocols }: ClassicPart): ClassicPart {
  const owned = supportedProtocols.map(({ name, metadata }) => ({ name, metadata: ownBytes(metadata) }));
  return { sessionTimeoutMs, supportedProtocols: owned };
}

function applyAssignment(
  group: ConsumerGroup,
  memberId: string,
  value: ConsumerGroupCurrentMemberAssignmentValue | null,
): void {
  const before = group.members.get(memberId);
  if (value === null) {
    if (before === undefined) return;
    putMember(group, before, {
      ...before,
      memberEpoch: LEAVING_EPOCH,
      previousMemberEpoch: LEAVING_EPOCH,
      state: MemberState.STABLE,
      assigned: OWNS_NOTHING,
      revoking: OWNS_NOTHING,
    });
    return;
  }
  putMember(group, before ?? null, {
    ...(before ?? createConsumerMember(memberId)),
    memberEpoch: value.memberEpoch,
    previousMemberEpoch: value.previousMemberEpoch,
    state: value.state,
    assigned: ownedOf(value.assignedPartitions, value.memberEpoch),
    revoking: ownedOf(value.partitionsPendingRevocation, value.memberEpoch),
  });
}

/** Puts a member in the place of another, of the same id; null: of nobody, or nobody in its place. */
function putMember(group: ConsumerGroup, before: ConsumerMember | null, after: ConsumerMember | null): void {
  if (before !== null) {
    release(group, before.memberId, before.assigned);
    release(group, before.memberId, before.revoking);
    if (before.classic !== null) group.classicCount -= 1;
    const { instanceId } = before;
    if (instanceId !== null && group.staticMembers.get(instanceId) === before.memberId) {
      group.staticMembers.delete(instanceId);
    }
  }
  if (after === null) {
    if (before !== null) group.members.delete(before.memberId);
    return;
  }
  claim(group, after.memberId, after.assigned);
  claim(group, after.memberId, after.revoking);
  if (after.classic !== null) group.classicCount += 1;
  if (after.instanceId !== null) group.staticMembers.set(after.instanceId, after.memberId);
  group.members.set(after.memberId, after);
}

function release(group: ConsumerGroup, memberId: string, owned: OwnedPartitions): void {
  for (const [topicId, partitions] of owned) {
    const owners = group.owners.get(topicId);
    if (owners === undefined) continue;
    for (const partition of partitions.keys()) if (owners.get(partition) === memberId) owners.delete(partition);
    if (owners.size === 0) group.owners.delete(topicId);
  }
}

function claim(group: ConsumerGroup, memberId: string, owned: OwnedPartitions): void {
  for (const [topicId, partitions] of owned) {
    let owners = group.owners.get(topicId);
    if (owners === undefined) {
      owners = new Map();
      group.owners.set(topicId, owners);
    }
    for (const partition of partitions.keys()) owners.set(partition, memberId);
  }
}

function targetOf(list: readonly { readonly topicId: string; readonly partitions: number[] }[]): PartitionsByTopic {
  return new Map(list.map(({ topicId, partitions }) => [topicId, partitions]));
}

type OwnedValue = ConsumerGroupCurrentMemberAssignmentValue['assignedPartitions'];

/** Partitions of a record; where an older Kafka wrote no epochs, they count from that of the member. */
function ownedOf(list: OwnedValue, memberEpoch: number): OwnedPartitions {
  if (list.length === 0) return OWNS_NOTHING;
  return new Map(
    list.map(({ topicId, partitions, assignmentEpochs }) => [
      topicId,
      new Map(partitions.map((partition, i) => [partition, assignmentEpochs?.[i] ?? memberEpoch])),
    ]),
  );
}
