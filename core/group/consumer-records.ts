/**
 * Records of consumer groups, as handlers write them. Pure, no state.
 */
import type { PartitionsByTopic } from '../assignors/server-shapes.ts';
import type { GroupRecord } from '../protocol/group-records.ts';
import type { ConsumerGroup, ConsumerMember, OwnedPartitions, ResolvedRegex } from './consumer-state.ts';
import { groupRecord, tombstone } from './records.ts';

/** What a member says of itself. */
export function memberRecord(groupId: string, member: ConsumerMember): GroupRecord {
  return groupRecord(
    'ConsumerGroupMemberMetadata',
    { groupId, memberId: member.memberId },
    {
      instanceId: member.instanceId,
      rackId: member.rackId,
      clientId: member.clientId,
      clientHost: member.clientHost,
      subscribedTopicNames: [...member.subscribedTopicNames],
      subscribedTopicRegex: member.subscribedTopicRegex,
      rebalanceTimeoutMs: member.rebalanceTimeoutMs,
      serverAssignor: member.serverAssignor,
      classicMemberMetadata: member.classic,
    },
  );
}

/** A new epoch of the group. */
export function epochRecord(groupId: string, epoch: number, metadataHash: number): GroupRecord {
  return groupRecord('ConsumerGroupMetadata', { groupId }, { epoch, metadataHash });
}

/** The epoch of the group that the targets are for. `timestampMs` since 1970; 0: they may be made anew at once. */
export function targetEpochRecord(groupId: string, epoch: number, timestampMs: number): GroupRecord {
  const value = { assignmentEpoch: epoch, assignmentTimestamp: timestampMs };
  return groupRecord('ConsumerGroupTargetAssignmentMetadata', { groupId }, value);
}

/** What a member is to have. */
export function targetRecord(groupId: string, memberId: string, target: PartitionsByTopic): GroupRecord {
  const topicPartitions = [...target].map(([topicId, partitions]) => ({ topicId, partitions: [...partitions] }));
  return groupRecord('ConsumerGroupTargetAssignmentMember', { groupId, memberId }, { topicPartitions });
}

/** What a member has, and has yet to give back. */
export function assignmentRecord(groupId: string, member: ConsumerMember): GroupRecord {
  return groupRecord(
    'ConsumerGroupCurrentMemberAssignment',
    { groupId, memberId: member.memberId },
    {
      memberEpoch: member.memberEpoch,
      previousMemberEpoch: member.previousMemberEpoch,
      state: member.state,
      assignedPartitions: ownedValue(member.assigned),
      partitionsPendingRevocation: ownedValue(member.revoking),
    },
  );
}

interface OwnedTopic {
  readonly topicId: string;
  readonly partitions: number[];
  readonly assignmentEpochs: number[];
}

function ownedValue(owned: OwnedPartitions): OwnedTopic[] {
  return [...owned].map(([topicId, partitions]) => ({
    topicId,
    partitions: [...partitions.keys()],
    assignmentEpochs: [...partitions.values()],
  }));
}

/** The topics that an expression means. */
export function regexRecord(groupId: string, regex: string, resolved: ResolvedRegex): GroupRecord {
  const { topics, version, timestampMs } = resolved;
  const value = { topics: [...topics], version, timestamp: timestampMs };
  return groupRecord('ConsumerGroupRegularExpression', { groupId, regularExpression: regex }, value);
}

/** Nobody uses an expression any more. */
export function regexTombstone(groupId: string, regex: string): GroupRecord {
  return tombstone('ConsumerGroupRegularExpression', { groupId, regularExpression: regex });
}

/** What an older Kafka wrote of the topics is superseded. */
export function partitionMetadataTombstone(groupId: string): GroupRecord {
  return tombstone('ConsumerGroupPartitionMetadata', { groupId });
}

/** What removes a member, in the order that Kafka wants: what it has, what it is to have, itself. */
export function memberTombstones(groupId: string, memberId: string): GroupRecord[] {
  return [
    tombstone('ConsumerGroupCurrentMemberAssignment', { groupId, memberId }),
    tombstone('ConsumerGroupTargetAssignmentMember', { groupId, memberId }),
    tombstone('ConsumerGroupMemberMetadata', { groupId, memberId }),
  ];
}

/** What removes a group with its members, but not its offsets, in the order that Kafka wants. */
export function consumerTombstones(group: ConsumerGroup): GroupRecord[] {
  const { groupId } = group;
  const ids = [...group.members.keys()];
  const records: GroupRecord[] = [];
  for (const memberId of ids) records.push(tombstone('ConsumerGroupCurrentMemberAssignment', { groupId, memberId }));
  for (const memberId of ids) records.push(tombstone('ConsumerGroupTargetAssignmentMember', { groupId, memberId }));
  records.push(tombstone('ConsumerGroupTargetAssignmentMetadata', { groupId }));
  for (const memberId of ids) records.push(tombstone('ConsumerGroupMemberMetadata', { groupId, memberId }));
  for (const regex of group.regexes.keys()) records.push(regexTombstone(groupId, regex));
  if (group.hasPartitionMetadata) records.push(partitionMetadataTombstone(groupId));
  records.push(tombstone('ConsumerGroupMetadata', { groupId }));
  return records;
}
