/**
 * Records of `__consumer_offsets` about groups of the consumer protocol (KIP-848): keys and values.
 *
 * Names, types and versions of the fields are those of Apache Kafka 4.4. `group-records.ts` frames them. The hash of
 * the metadata has all 64 bits in Kafka; here it rounds, which makes a foreign one a hash like any other.
 */
import {
  array,
  arrayOf,
  type BodyOf,
  bytes,
  int8,
  int32,
  int64,
  message,
  string,
  struct,
  timestamp,
  uuid,
} from '../schema.ts';

const group = { groupId: string('0') };
const member = { groupId: string('0'), memberId: string('0') };

/** Which group. */
export const ConsumerGroupMetadataKey = message(
  { name: 'ConsumerGroupMetadataKey', versions: '0', flexible: 'none' },
  group,
);
/** The epoch of a group. */
export const ConsumerGroupMetadataValue = message(
  { name: 'ConsumerGroupMetadataValue', versions: '0', flexible: '0+' },
  { epoch: int32(), metadataHash: timestamp('0+', { default: 0, tag: 0 }) },
);
/** The value as it is read. */
export type ConsumerGroupMetadataValue = BodyOf<typeof ConsumerGroupMetadataValue>;

/** Which group: written until Kafka 4.0, the hash took its place. */
export const ConsumerGroupPartitionMetadataKey = message(
  { name: 'ConsumerGroupPartitionMetadataKey', versions: '0', flexible: 'none' },
  group,
);
/** The topics that a group reads, as they were when it was last looked at. */
export const ConsumerGroupPartitionMetadataValue = message(
  { name: 'ConsumerGroupPartitionMetadataValue', versions: '0', flexible: '0+' },
  {
    topics: array({
      topicId: uuid(),
      topicName: string(),
      numPartitions: int32(),
      partitionMetadata: array({ partition: int32(), racks: arrayOf(string()) }),
    }),
  },
);

/** Which member. */
export const ConsumerGroupMemberMetadataKey = message(
  { name: 'ConsumerGroupMemberMetadataKey', versions: '0', flexible: 'none' },
  member,
);
/** What a member said of itself. */
export const ConsumerGroupMemberMetadataValue = message(
  { name: 'ConsumerGroupMemberMetadataValue', versions: '0', flexible: '0+' },
  {
    instanceId: string('0+', { nullable: '0+' }),
    rackId: string('0+', { nullable: '0+' }),
    clientId: string(),
    clientHost: string(),
    subscribedTopicNames: arrayOf(string()),
    subscribedTopicRegex: string('0+', { nullable: '0+' }),
    rebalanceTimeoutMs: int32('0+', { default: -1 }),
    serverAssignor: string('0+', { nullable: '0+' }),
    classicMemberMetadata: struct(
      { sessionTimeoutMs: int32(), supportedProtocols: array({ name: string(), metadata: bytes() }) },
      '0+',
      { nullable: '0+', default: null, tag: 0 },
    ),
  },
);
/** The value as it is read. */
export type ConsumerGroupMemberMetadataValue = BodyOf<typeof ConsumerGroupMemberMetadataValue>;

/** Which group. */
export const ConsumerGroupTargetAssignmentMetadataKey = message(
  { name: 'ConsumerGroupTargetAssignmentMetadataKey', versions: '0', flexible: 'none' },
  group,
);
/** The epoch of the group that the target assignment was made for. */
export const ConsumerGroupTargetAssignmentMetadataValue = message(
  { name: 'ConsumerGroupTargetAssignmentMetadataValue', versions: '0', flexible: '0+' },
  { assignmentEpoch: int32(), assignmentTimestamp: timestamp('0+', { default: 0, tag: 0, ignorable: true }) },
);
/** The value as it is read. */
export type ConsumerGroupTargetAssignmentMetadataValue = BodyOf<typeof ConsumerGroupTargetAssignmentMetadataValue>;

/** Which member. */
export const ConsumerGroupTargetAssignmentMemberKey = message(
  { name: 'ConsumerGroupTargetAssignmentMemberKey', versions: '0', flexible: 'none' },
  member,
);
/** What a member is to have. */
export const ConsumerGroupTargetAssignmentMemberValue = message(
  { name: 'ConsumerGroupTargetAssignmentMemberValue', versions: '0', flexible: '0+' },
  { topicPartitions: array({ topicId: uuid(), partitions: arrayOf(int32()) }) },
);
/** The value as it is read. */
export type ConsumerGroupTargetAssignmentMemberValue = BodyOf<typeof ConsumerGroupTargetAssignmentMemberValue>;

/** Which member. */
export const ConsumerGroupCurrentMemberAssignmentKey = message(
  { name: 'ConsumerGroupCurrentMemberAssignmentKey', versions: '0', flexible: 'none' },
  member,
);

const ownedPartitions = {
  topicId: uuid(),
  partitions: arrayOf(int32()),
  assignmentEpochs: arrayOf(int32(), '0+', { nullable: '0+', default: null, tag: 0 }),
};

/** What a member has, and what it must give back. */
export const ConsumerGroupCurrentMemberAssignmentValue = message(
  { name: 'ConsumerGroupCurrentMemberAssignmentValue', versions: '0', flexible: '0+' },
  {
    memberEpoch: int32(),
    previousMemberEpoch: int32(),
    state: int8(),
    assignedPartitions: array(ownedPartitions),
    partitionsPendingRevocation: array(ownedPartitions),
  },
);
/** The value as it is read. */
export type ConsumerGroupCurrentMemberAssignmentValue = BodyOf<typeof ConsumerGroupCurrentMemberAssignmentValue>;

/** Which expression. */
export const ConsumerGroupRegularExpressionKey = message(
  { name: 'ConsumerGroupRegularExpressionKey', versions: '0', flexible: 'none' },
  { groupId: string('0'), regularExpression: string('0') },
);
/** The topics that a regular expression means. */
export const ConsumerGroupRegularExpressionValue = message(
  { name: 'ConsumerGroupRegularExpressionValue', versions: '0', flexible: '0+' },
  { topics: arrayOf(string()), version: int64(), timestamp: timestamp() },
);
/** The value as it is read. */
export type ConsumerGroupRegularExpressionValue = BodyOf<typeof ConsumerGroupRegularExpressionValue>;
