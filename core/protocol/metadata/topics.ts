/**
 * Records of the metadata log about topics, partitions and settings.
 *
 * Names, types and versions of the fields are those of Apache Kafka 4.4. `metadata-records.ts` frames them.
 */
import { arrayOf, type BodyOf, int8, int32, message, string, uuid } from '../schema.ts';

/** A topic was created. */
export const TopicRecord = message(
  { name: 'TopicRecord', versions: '0', flexible: '0+' },
  { name: string(), topicId: uuid() },
);
/** The record as it is read. */
export type TopicRecord = BodyOf<typeof TopicRecord>;

/** A partition was created. */
export const PartitionRecord = message(
  { name: 'PartitionRecord', versions: '0-2', flexible: '0+' },
  {
    partitionId: int32('0+', { default: -1 }),
    topicId: uuid(),
    replicas: arrayOf(int32()),
    isr: arrayOf(int32()),
    removingReplicas: arrayOf(int32()),
    addingReplicas: arrayOf(int32()),
    leader: int32('0+', { default: -1 }),
    leaderRecoveryState: int8('0+', { tag: 0, default: 0 }),
    leaderEpoch: int32('0+', { default: -1 }),
    partitionEpoch: int32('0+', { default: -1 }),
    directories: arrayOf(uuid(), '1+'),
    eligibleLeaderReplicas: arrayOf(int32(), '2+', { nullable: '2+', tag: 1, default: null }),
    lastKnownElr: arrayOf(int32(), '2+', { nullable: '2+', tag: 2, default: null }),
  },
);
/** The record as it is read. */
export type PartitionRecord = BodyOf<typeof PartitionRecord>;

/** A partition changed: only what is set. */
export const PartitionChangeRecord = message(
  { name: 'PartitionChangeRecord', versions: '0-2', flexible: '0+' },
  {
    partitionId: int32('0+', { default: -1 }),
    topicId: uuid(),
    isr: arrayOf(int32(), '0+', { nullable: '0+', tag: 0, default: null }),
    leader: int32('0+', { tag: 1, default: -2 }),
    replicas: arrayOf(int32(), '0+', { nullable: '0+', tag: 2, default: null }),
    removingReplicas: arrayOf(int32(), '0+', { nullable: '0+', tag: 3, default: null }),
    addingReplicas: arrayOf(int32(), '0+', { nullable: '0+', tag: 4, default: null }),
    leaderRecoveryState: int8('0+', { tag: 5, default: -1 }),
    directories: arrayOf(uuid(), '1+', { nullable: '1+', tag: 8, default: null }),
    eligibleLeaderReplicas: arrayOf(int32(), '2+', { nullable: '2+', tag: 6, default: null }),
    lastKnownElr: arrayOf(int32(), '2+', { nullable: '2+', tag: 7, default: null }),
  },
);
/** The record as it is read. */
export type PartitionChangeRecord = BodyOf<typeof PartitionChangeRecord>;

/** A topic was deleted, with all its partitions. */
export const RemoveTopicRecord = message(
  { name: 'RemoveTopicRecord', versions: '0', flexible: '0+' },
  { topicId: uuid() },
);
/** The record as it is read. */
export type RemoveTopicRecord = BodyOf<typeof RemoveTopicRecord>;

/** A setting of a topic, broker or group; null takes it away. */
export const ConfigRecord = message(
  { name: 'ConfigRecord', versions: '0', flexible: '0+' },
  { resourceType: int8(), resourceName: string(), name: string(), value: string('0+', { nullable: '0+' }) },
);
/** The record as it is read. */
export type ConfigRecord = BodyOf<typeof ConfigRecord>;

/** The eligible leaders outside of the in-sync set are forgotten; an empty name means every topic. */
export const ClearElrRecord = message(
  { name: 'ClearElrRecord', versions: '0', flexible: '0+' },
  { topicName: string() },
);
/** The record as it is read. */
export type ClearElrRecord = BodyOf<typeof ClearElrRecord>;
