/**
 * An image as records, and records as an image: what a snapshot (`.checkpoint` file) of the metadata log holds
 * between its control records. Replaying the records of an image gives an equal image.
 *
 * The order is Kafka's: features, brokers, controllers, topics each with its partitions, configurations, quotas,
 * producer ids, access rules, credentials, tokens. Versions follow from `metadata.version`, so that every node that
 * may take part can read the snapshot. Pure, no state.
 */
import { applyRecord, draftImage, publishDraft } from './draft.ts';
import {
  featureRecords,
  metadataLevel,
  partitionVersion,
  recordsDirectories,
  registerBrokerVersion,
} from './features.ts';
import {
  type BrokerImage,
  EMPTY_IMAGE,
  type MetadataImage,
  type PartitionImage,
  type Provenance,
  type TopicImage,
} from './image.ts';
import { type MetadataRecord, metadataRecord, type RecordValue } from './records.ts';
import { mapValues } from './sharded-map.ts';

/** The records of an image, one at a time: they may be a million. */
export function* snapshotRecords(image: MetadataImage): IterableIterator<MetadataRecord> {
  yield* nodeRecords(image);
  for (const topic of mapValues(image.topics.byId)) yield* topicRecords(image, topic);
  yield* settingRecords(image);
  yield* accessRecords(image);
}

/** A piece of a snapshot: records, and where the next piece begins; -1 behind the last. */
export interface SnapshotSlice {
  readonly records: readonly MetadataRecord[];
  readonly next: number;
}

/**
 * The same records in the same order, piece by piece: about `countMax` of them from `from` on, which is 0 at first.
 * Topics are not divided, so that a piece is found without walking over those before it.
 */
export function snapshotSlice(image: MetadataImage, from: number, countMax: number): SnapshotSlice {
  const topics = [...mapValues(image.topics.byId)];
  // 0 is what comes before the topics, i + 1 is topic i, and behind them every record counts one.
  if (from === 0) return { records: [...nodeRecords(image)], next: 1 };
  const records: MetadataRecord[] = [];
  let at = from;
  for (; at <= topics.length; at++) {
    if (records.length >= countMax) return { records, next: at };
    records.push(...topicRecords(image, topics[at - 1] as TopicImage));
  }
  let rest = topics.length + 1;
  for (const record of [...settingRecords(image), ...accessRecords(image)]) {
    if (records.length >= countMax) return { records, next: at };
    if (rest++ < at) continue;
    records.push(record);
    at += 1;
  }
  return { records, next: -1 };
}

function* nodeRecords(image: MetadataImage): IterableIterator<MetadataRecord> {
  const level = metadataLevel(image);
  yield* featureRecords(image.features);
  for (const broker of image.cluster.brokers.values()) yield brokerRecord(broker, level);
  for (const { id: controllerId, incarnationId, endPoints, features } of image.cluster.controllers.values()) {
    const value = { controllerId, incarnationId, zkMigrationReady: false, endPoints, features };
    yield metadataRecord('RegisterControllerRecord', 0, value);
  }
}

function* topicRecords(image: MetadataImage, topic: TopicImage): IterableIterator<MetadataRecord> {
  const level = metadataLevel(image);
  yield metadataRecord('TopicRecord', 0, { name: topic.name, topicId: topic.id });
  for (const [partitionId, partition] of topic.partitions.entries()) {
    yield partitionRecord(topic.id, partitionId, partition, level);
  }
}

/** A broker's registration as a record. */
export function brokerRecord(broker: BrokerImage, level: number): MetadataRecord {
  const version = registerBrokerVersion(level);
  return metadataRecord('RegisterBrokerRecord', version, {
    brokerId: broker.id,
    incarnationId: broker.incarnationId,
    brokerEpoch: broker.epoch,
    endPoints: broker.endPoints,
    features: broker.features,
    rack: broker.rack,
    fenced: broker.fenced,
    inControlledShutdown: broker.inControlledShutdown,
    logDirs: version >= 3 ? broker.logDirs : [],
    cordonedLogDirs: version >= 4 ? broker.cordonedLogDirs : null,
  });
}

/** The state of a partition as a record. Empty lists of eligible replicas are left out, as Kafka does. */
export function partitionRecord(
  topicId: string,
  partitionId: number,
  partition: PartitionImage,
  level: number,
): MetadataRecord {
  const version = partitionVersion(level);
  // Written out: there are a hundred thousand. Records and images share arrays; neither changes them.
  const value: RecordValue<'PartitionRecord'> = {
    partitionId,
    topicId,
    replicas: partition.replicas as number[],
    isr: partition.isr as number[],
    removingReplicas: partition.removingReplicas as number[],
    addingReplicas: partition.addingReplicas as number[],
    leader: partition.leader,
    leaderRecoveryState: partition.leaderRecoveryState,
    leaderEpoch: partition.leaderEpoch,
    partitionEpoch: partition.partitionEpoch,
    directories: recordsDirectories(level) ? (partition.directories as string[]) : [],
    eligibleLeaderReplicas: partition.elr.length === 0 || version < 2 ? null : (partition.elr as number[]),
    lastKnownElr: partition.lastKnownElr.length === 0 || version < 2 ? null : (partition.lastKnownElr as number[]),
  };
  return { kind: 'PartitionRecord', version, value };
}

function* settingRecords(image: MetadataImage): IterableIterator<MetadataRecord> {
  for (const { resource, values } of mapValues(image.configs)) {
    for (const [name, value] of values) {
      const head = { resourceType: resource.type, resourceName: resource.name };
      yield metadataRecord('ConfigRecord', 0, { ...head, name, value });
    }
  }
  for (const { entity, values } of image.quotas.values()) {
    for (const [key, value] of values)
      yield metadataRecord('ClientQuotaRecord', 0, { entity, key, value, remove: false });
  }
  const { brokerId, brokerEpoch, nextProducerId } = image.producerIds;
  if (nextProducerId > 0) yield metadataRecord('ProducerIdsRecord', 0, { brokerId, brokerEpoch, nextProducerId });
}

function* accessRecords(image: MetadataImage): IterableIterator<MetadataRecord> {
  for (const acl of image.acls.values()) yield metadataRecord('AccessControlEntryRecord', 0, { ...acl });
  for (const credential of image.scram.values()) {
    yield metadataRecord('UserScramCredentialRecord', 0, { ...credential });
  }
  for (const token of image.tokens.values()) yield metadataRecord('DelegationTokenRecord', 0, { ...token });
}

/** The image that records make, from nothing; a sentence if one does not fit. */
export function imageFromRecords(records: Iterable<MetadataRecord>, provenance: Provenance): MetadataImage | string {
  const draft = draftImage(EMPTY_IMAGE);
  for (const record of records) {
    const problem = applyRecord(draft, record);
    if (problem !== null) return problem;
  }
  const delta = publishDraft(draft, provenance);
  return typeof delta === 'string' ? delta : delta.after;
}
