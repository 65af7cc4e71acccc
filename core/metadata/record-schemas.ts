/**
 * The records of `__cluster_metadata` as schemas: brokers, controllers, features, topics, configurations.
 *
 * Names, types, versions and tags are those of Apache Kafka 4.4. The other records are in `record-schemas-more.ts`;
 * `records.ts` gives each its number and reads and writes them. Data, no state.
 */
import {
  array,
  arrayOf,
  boolean,
  int8,
  int16,
  int32,
  int64,
  message,
  string,
  uint16,
  uuid,
} from '../protocol/schema.ts';

const endPoints = { name: string(), host: string(), port: uint16(), securityProtocol: int16() };
const features = { name: string(), minSupportedVersion: int16(), maxSupportedVersion: int16() };

/** A broker has registered: where it is reached, what it supports, which log directories it has. */
export const RegisterBrokerRecord = message(
  { name: 'RegisterBrokerRecord', versions: '0-4', flexible: '0+' },
  {
    brokerId: int32(),
    isMigratingZkBroker: boolean('2+', { default: false }),
    incarnationId: uuid(),
    brokerEpoch: int64(),
    endPoints: array(endPoints),
    features: array(features),
    rack: string('0+', { nullable: '0+' }),
    fenced: boolean('0+', { default: true }),
    inControlledShutdown: boolean('1+', { default: false }),
    logDirs: arrayOf(uuid(), '3+', { tag: 0 }),
    cordonedLogDirs: arrayOf(uuid(), '4+', { tag: 1, nullable: '4+', default: null }),
  },
);

/** A broker is no longer part of the cluster. */
export const UnregisterBrokerRecord = message(
  { name: 'UnregisterBrokerRecord', versions: '0', flexible: '0+' },
  { brokerId: int32(), brokerEpoch: int64() },
);

/** A broker was fenced; written before metadata.version 3.3-IV3, read for ever. */
export const FenceBrokerRecord = message(
  { name: 'FenceBrokerRecord', versions: '0', flexible: '0+' },
  { id: int32(), epoch: int64() },
);

/** A broker was unfenced; written before metadata.version 3.3-IV3, read for ever. */
export const UnfenceBrokerRecord = message(
  { name: 'UnfenceBrokerRecord', versions: '0', flexible: '0+' },
  { id: int32(), epoch: int64() },
);

/** Something about a registered broker changed. `fenced`: 1 fences, -1 unfences, 0 leaves it. */
export const BrokerRegistrationChangeRecord = message(
  { name: 'BrokerRegistrationChangeRecord', versions: '0-3', flexible: '0+' },
  {
    brokerId: int32(),
    brokerEpoch: int64(),
    fenced: int8('0+', { tag: 0 }),
    inControlledShutdown: int8('1+', { tag: 1 }),
    logDirs: arrayOf(uuid(), '2+', { tag: 2 }),
    cordonedLogDirs: arrayOf(uuid(), '3+', { tag: 3, nullable: '3+', default: null }),
  },
);

/** A controller has registered. */
export const RegisterControllerRecord = message(
  { name: 'RegisterControllerRecord', versions: '0', flexible: '0+' },
  {
    controllerId: int32(),
    incarnationId: uuid(),
    zkMigrationReady: boolean(),
    endPoints: array(endPoints),
    features: array(features),
  },
);

/** A controller is no longer part of the cluster. */
export const UnregisterControllerRecord = message(
  { name: 'UnregisterControllerRecord', versions: '0', flexible: '0+' },
  { controllerId: int32() },
);

/** The cluster now uses this level of a feature; 0 takes the feature away. */
export const FeatureLevelRecord = message(
  { name: 'FeatureLevelRecord', versions: '0', flexible: '0+' },
  { name: string(), featureLevel: int16() },
);

/** A topic exists. */
export const TopicRecord = message(
  { name: 'TopicRecord', versions: '0', flexible: '0+' },
  { name: string(), topicId: uuid() },
);

/** A topic is gone, with its partitions and its configuration. */
export const RemoveTopicRecord = message(
  { name: 'RemoveTopicRecord', versions: '0', flexible: '0+' },
  { topicId: uuid() },
);

/** A partition exists, in this state. */
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
    eligibleLeaderReplicas: arrayOf(int32(), '2+', { tag: 1, nullable: '2+', default: null }),
    lastKnownElr: arrayOf(int32(), '2+', { tag: 2, nullable: '2+', default: null }),
  },
);

/** A partition changed: null, or -2 for the leader and -1 for the recovery state, leave a field as it is. */
export const PartitionChangeRecord = message(
  { name: 'PartitionChangeRecord', versions: '0-2', flexible: '0+' },
  {
    partitionId: int32('0+', { default: -1 }),
    topicId: uuid(),
    isr: arrayOf(int32(), '0+', { tag: 0, nullable: '0+', default: null }),
    leader: int32('0+', { tag: 1, default: -2 }),
    replicas: arrayOf(int32(), '0+', { tag: 2, nullable: '0+', default: null }),
    removingReplicas: arrayOf(int32(), '0+', { tag: 3, nullable: '0+', default: null }),
    addingReplicas: arrayOf(int32(), '0+', { tag: 4, nullable: '0+', default: null }),
    leaderRecoveryState: int8('0+', { tag: 5, default: -1 }),
    eligibleLeaderReplicas: arrayOf(int32(), '2+', { tag: 6, nullable: '2+', default: null }),
    lastKnownElr: arrayOf(int32(), '2+', { tag: 7, nullable: '2+', default: null }),
    directories: arrayOf(uuid(), '1+', { tag: 8, nullable: '1+', default: null }),
  },
);

/** The eligible leader replicas of a topic are forgotten; of all topics if the name is empty. */
export const ClearElrRecord = message(
  { name: 'ClearElrRecord', versions: '0', flexible: '0+' },
  { topicName: string() },
);

/** A configuration key of a resource has a value, or with null none. */
export const ConfigRecord = message(
  { name: 'ConfigRecord', versions: '0', flexible: '0+' },
  { resourceType: int8(), resourceName: string(), name: string(), value: string('0+', { nullable: '0+' }) },
);
