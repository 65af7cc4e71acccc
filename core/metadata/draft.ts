/**
 * The next image in the making: records are replayed into a draft, which copies what it writes to, and publishing it
 * gives the image and what has changed.
 *
 * One draft a committed batch. A draft belongs to one writer and ends when it is published or dropped; the image it
 * began from never changes. Replaying a record that does not fit (a change of a partition that does not exist, an
 * epoch that is not the broker's) is refused with a sentence: the log is damaged or not ours, and the node stops.
 */
import { unreachable } from '../lib/assert.ts';
import { type AccessDraft, applyAcl, applyQuota, applyScram, applyToken, draftAccess } from './draft-access.ts';
import {
  applyRegistrationChange,
  type ClusterDraft,
  draftCluster,
  fenceBroker,
  publishCluster,
  registerBroker,
  registerController,
  unregisterBroker,
  unregisterController,
} from './draft-cluster.ts';
import {
  addPartition,
  addTopic,
  changePartition,
  clearElr,
  draftTopics,
  publishTopics,
  removeTopic,
  type TopicDelta,
  type TopicsDraft,
} from './draft-topics.ts';
import {
  type ConfigResource,
  configKey,
  type MetadataImage,
  type ProducerIdsImage,
  type Provenance,
  type ResourceConfig,
  ResourceType,
} from './image.ts';
import { createPartitionPool, type PartitionPool } from './partition-pool.ts';
import type { MetadataRecord, RecordValue } from './records.ts';
import { draftDelete, draftGet, draftMap, draftSet, type MapDraft, publishMap } from './sharded-map.ts';

/** An image being made. */
export interface MetadataDraft {
  readonly before: MetadataImage;
  readonly topics: TopicsDraft;
  readonly cluster: ClusterDraft;
  readonly access: AccessDraft;
  readonly configs: MapDraft<ResourceConfig>;
  /** Touched resources by key, each with the map that this draft owns. */
  readonly touchedConfigs: Map<string, { readonly resource: ConfigResource; readonly values: Map<string, string> }>;
  features: Map<string, number> | null;
  producerIds: ProducerIdsImage;
}

/** What a batch of records has changed. Parts that are not listed are compared by `===` between the two images. */
export interface MetadataDelta {
  readonly before: MetadataImage;
  readonly after: MetadataImage;
  /** In the order in which they were first touched. */
  readonly topics: readonly TopicDelta[];
  /** Ids of brokers that came, went or changed. */
  readonly brokers: readonly number[];
  /** Ids of controllers that came, went or changed. */
  readonly controllers: readonly number[];
  /** Resources for which something was set or removed, also to what it was before (a nudge to read files again). */
  readonly configs: readonly ConfigResource[];
}

/**
 * Begins the next image; costs nothing until something is written. `pool` is the writer's, who makes one image after
 * the other: what is equal in them is one object.
 */
export function draftImage(before: MetadataImage, pool: PartitionPool = createPartitionPool()): MetadataDraft {
  return {
    before,
    topics: draftTopics(before.topics, pool),
    cluster: draftCluster(before.cluster),
    access: draftAccess(before),
    configs: draftMap(before.configs),
    touchedConfigs: new Map(),
    features: null,
    producerIds: before.producerIds,
  };
}

/**
 * Replays one record. Null, or a sentence that says why it does not fit; the draft is then of no use.
 * Records that frame transactions have no effect here: see `loader.ts`.
 */
export function applyRecord(draft: MetadataDraft, record: MetadataRecord): string | null {
  switch (record.kind) {
    case 'TopicRecord':
      return addTopic(draft.topics, record.value.topicId, record.value.name);
    case 'PartitionRecord':
      return addPartition(draft.topics, draft.cluster, record.value);
    case 'PartitionChangeRecord':
      return changePartition(draft.topics, record.value);
    case 'RemoveTopicRecord':
      return forgetTopic(draft, record.value.topicId);
    case 'ClearElrRecord':
      return clearElr(draft.topics, record.value.topicName);
    case 'ConfigRecord':
      return setConfig(draft, record.value);
    case 'FeatureLevelRecord':
      return setFeature(draft, record.value);
    case 'ProducerIdsRecord':
      draft.producerIds = record.value;
      return null;
    case 'NoOpRecord':
    case 'ZkMigrationStateRecord':
    case 'BeginTransactionRecord':
    case 'EndTransactionRecord':
    case 'AbortTransactionRecord':
      return null;
    default:
      return applyNodeOrAccess(draft, record);
  }
}

type NodeOrAccess = Exclude<
  MetadataRecord,
  {
    readonly kind:
      | 'TopicRecord'
      | 'PartitionRecord'
      | 'PartitionChangeRecord'
      | 'RemoveTopicRecord'
      | 'ClearElrRecord'
      | 'ConfigRecord'
      | 'FeatureLevelRecord'
      | 'ProducerIdsRecord'
      | 'NoOpRecord'
      | 'ZkMigrationStateRecord'
      | 'BeginTransactionRecord'
      | 'EndTransactionRecord'
      | 'AbortTransactionRecord';
  }
>;

function applyNodeOrAccess(draft: MetadataDraft, record: NodeOrAccess): string | null {
  const { cluster, access } = draft;
  switch (record.kind) {
    case 'RegisterBrokerRecord':
      return registerBroker(cluster, record.value);
    case 'UnregisterBrokerRecord':
      return unregisterBroker(cluster, record.value.brokerId, record.value.brokerEpoch);
    case 'FenceBrokerRecord':
      return fenceBroker(cluster, record.value.id, record.value.epoch, true);
    case 'UnfenceBrokerRecord':
      return fenceBroker(cluster, record.value.id, record.value.epoch, false);
    case 'BrokerRegistrationChangeRecord':
      return applyRegistrationChange(cluster, record.value);
    case 'RegisterControllerRecord':
      return registerController(cluster, record.value);
    case 'UnregisterControllerRecord':
      return unregisterController(cluster, record.value.controllerId);
    case 'ClientQuotaRecord':
      return applyQuota(access, record.value);
    case 'AccessControlEntryRecord':
      return applyAcl(access, record.value.id, record.value);
    case 'RemoveAccessControlEntryRecord':
      return applyAcl(access, record.value.id, null);
    case 'UserScramCredentialRecord':
      return applyScram(access, record.value.name, record.value.mechanism, record.value);
    case 'RemoveUserScramCredentialRecord':
      return applyScram(access, record.value.name, record.value.mechanism, null);
    case 'DelegationTokenRecord':
      return applyToken(access, record.value.tokenId, record.value);
    case 'RemoveDelegationTokenRecord':
      return applyToken(access, record.value.tokenId, null);
    default:
      return unreachable(record);
  }
}

function forgetTopic(draft: MetadataDraft, id: string): string | null {
  const name = removeTopic(draft.topics, id);
  if (name === null) return `A topic with id ${id} is removed that does not exist.`;
  const key = configKey(ResourceType.TOPIC, name);
  if (draftGet(draft.configs, key) !== undefined || draft.touchedConfigs.has(key)) {
    ownConfig(draft, { type: ResourceType.TOPIC, name }).clear();
  }
  return null;
}

function ownConfig(draft: MetadataDraft, resource: ConfigResource): Map<string, string> {
  const key = configKey(resource.type, resource.name);
  const touched = draft.touchedConfigs.get(key);
  if (touched !== undefined) return touched.values;
  const values = new Map(draftGet(draft.configs, key)?.values);
  draft.touchedConfigs.set(key, { resource, values });
  return values;
}

function setConfig(draft: MetadataDraft, record: RecordValue<'ConfigRecord'>): string | null {
  const values = ownConfig(draft, { type: record.resourceType, name: record.resourceName });
  if (record.value === null) values.delete(record.name);
  else values.set(record.name, record.value);
  return null;
}

function setFeature(draft: MetadataDraft, record: RecordValue<'FeatureLevelRecord'>): string | null {
  draft.features ??= new Map(draft.before.features);
  if (record.featureLevel === 0) draft.features.delete(record.name);
  else draft.features.set(record.name, record.featureLevel);
  return null;
}

/** Ends the draft. A sentence if what was replayed is not whole: a topic that lacks a partition. */
export function publishDraft(draft: MetadataDraft, provenance: Provenance): MetadataDelta | string {
  const topics = publishTopics(draft.topics);
  if (typeof topics === 'string') return topics;
  const { before, access } = draft;
  const after: MetadataImage = {
    provenance,
    features: draft.features ?? before.features,
    cluster: publishCluster(draft.cluster),
    topics: topics.image,
    configs: publishConfigs(draft),
    producerIds: draft.producerIds,
    quotas: access.quotas ?? before.quotas,
    acls: access.acls ?? before.acls,
    scram: access.scram ?? before.scram,
    tokens: access.tokens ?? before.tokens,
  };
  return {
    before,
    after,
    topics: topics.deltas,
    brokers: [...draft.cluster.touchedBrokers],
    controllers: [...draft.cluster.touchedControllers],
    configs: [...draft.touchedConfigs.values()].map(({ resource }) => resource),
  };
}

function publishConfigs(draft: MetadataDraft): MetadataImage['configs'] {
  for (const [key, { resource, values }] of draft.touchedConfigs) {
    if (values.size === 0) draftDelete(draft.configs, key);
    else draftSet(draft.configs, key, { resource, values });
  }
  return publishMap(draft.configs);
}
