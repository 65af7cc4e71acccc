/**
 * What a node knows of the cluster at one offset of the metadata log: the image.
 *
 * Images are immutable and compared by `===`, part by part: what a batch of records did not touch is the same object in
 * the next image, so "did the brokers change?" costs one comparison. An image is made by replaying records into a
 * draft (`draft.ts`), never by hand; `snapshot.ts` turns it back into records. Everything here follows from the log:
 * a crash loses nothing but the work of reading it again.
 */
import { emptyMap, mapGet, type ShardedMap } from './sharded-map.ts';

/** The state of one partition; its number is its place in the topic. Node ids throughout. */
export interface PartitionImage {
  /** In order of preference: the first is the preferred leader. */
  readonly replicas: readonly number[];
  /** The log directory of each replica, in their order; empty where the log does not say. */
  readonly directories: readonly string[];
  readonly isr: readonly number[];
  readonly removingReplicas: readonly number[];
  readonly addingReplicas: readonly number[];
  /** Replicas outside of the in-sync set that still hold everything committed (KIP-966). */
  readonly elr: readonly number[];
  /** When nobody leads: who led last. */
  readonly lastKnownElr: readonly number[];
  /** -1: nobody. */
  readonly leader: number;
  /** 1 while a leader recovers from an unclean election. */
  readonly leaderRecoveryState: number;
  /** Grows whenever the leader is set. */
  readonly leaderEpoch: number;
  /** Grows with every change. */
  readonly partitionEpoch: number;
}

/** A topic. Invariant: `partitions` has no gaps. */
export interface TopicImage {
  readonly name: string;
  readonly id: string;
  readonly partitions: readonly PartitionImage[];
}

/** All topics. Invariant: both maps hold the same topics. A change of a partition leaves `idByName` alone. */
export interface TopicsImage {
  readonly byId: ShardedMap<TopicImage>;
  readonly idByName: ShardedMap<string>;
}

/** One address of a node. `securityProtocol`: 0 is PLAINTEXT. */
export interface EndPoint {
  readonly name: string;
  readonly host: string;
  readonly port: number;
  readonly securityProtocol: number;
}

/** The levels of a feature that a node supports, both included. */
export interface SupportedFeature {
  readonly name: string;
  readonly minSupportedVersion: number;
  readonly maxSupportedVersion: number;
}

/** A registered broker. */
export interface BrokerImage {
  readonly id: number;
  /** The offset of its registration: distinguishes its lives. */
  readonly epoch: number;
  readonly incarnationId: string;
  readonly endPoints: readonly EndPoint[];
  readonly features: readonly SupportedFeature[];
  readonly rack: string | null;
  readonly fenced: boolean;
  readonly inControlledShutdown: boolean;
  readonly logDirs: readonly string[];
  /** Log directories that get no new replicas; null until the broker says. */
  readonly cordonedLogDirs: readonly string[] | null;
}

/** A registered controller. */
export interface ControllerImage {
  readonly id: number;
  readonly incarnationId: string;
  readonly endPoints: readonly EndPoint[];
  readonly features: readonly SupportedFeature[];
}

/** The nodes, by id. */
export interface ClusterImage {
  readonly brokers: ReadonlyMap<number, BrokerImage>;
  readonly controllers: ReadonlyMap<number, ControllerImage>;
}

/** Kafka's numbers for what can be configured. */
export const ResourceType = { TOPIC: 2, BROKER: 4, BROKER_LOGGER: 8, CLIENT_METRICS: 16, GROUP: 32 } as const;

/** What the configuration is of. The name of all brokers together is empty. */
export interface ConfigResource {
  readonly type: number;
  readonly name: string;
}

/** A resource with what was set for it: key to text. Never empty. */
export interface ResourceConfig {
  readonly resource: ConfigResource;
  readonly values: ReadonlyMap<string, string>;
}

/** The last block of producer ids that was given away. */
export interface ProducerIdsImage {
  readonly brokerId: number;
  readonly brokerEpoch: number;
  /** Where the next block begins. */
  readonly nextProducerId: number;
}

/** The quotas of one entity. A null name is the default of its type. */
export interface QuotaImage {
  readonly entity: readonly { readonly entityType: string; readonly entityName: string | null }[];
  readonly values: ReadonlyMap<string, number>;
}

/** An access rule; kept, without effect yet. */
export interface AclImage {
  readonly id: string;
  readonly resourceType: number;
  readonly resourceName: string;
  readonly patternType: number;
  readonly principal: string;
  readonly host: string;
  readonly operation: number;
  readonly permissionType: number;
}

/** A SCRAM credential; kept, without effect yet. */
export interface ScramImage {
  readonly name: string;
  readonly mechanism: number;
  readonly salt: Uint8Array;
  readonly storedKey: Uint8Array;
  readonly serverKey: Uint8Array;
  readonly iterations: number;
}

/** A delegation token; kept, without effect yet. Times are ms since 1970. */
export interface TokenImage {
  readonly tokenId: string;
  readonly owner: string;
  readonly requester: string;
  readonly renewers: readonly string[];
  readonly issueTimestamp: number;
  readonly maxTimestamp: number;
  readonly expirationTimestamp: number;
}

/** Where in the log an image stands: it holds every record up to `offset`, which was written in `epoch`. */
export interface Provenance {
  readonly offset: number;
  readonly epoch: number;
  /** When the last batch was appended, ms since 1970; -1 if unknown. */
  readonly timestampMs: number;
}

/** The image. */
export interface MetadataImage {
  readonly provenance: Provenance;
  /** Finalized levels by name, `metadata.version` among them; a level of 0 is absent. */
  readonly features: ReadonlyMap<string, number>;
  readonly cluster: ClusterImage;
  readonly topics: TopicsImage;
  readonly configs: ShardedMap<ResourceConfig>;
  readonly producerIds: ProducerIdsImage;
  readonly quotas: ReadonlyMap<string, QuotaImage>;
  readonly acls: ReadonlyMap<string, AclImage>;
  readonly scram: ReadonlyMap<string, ScramImage>;
  readonly tokens: ReadonlyMap<string, TokenImage>;
}

/** The image of an empty log. */
export const EMPTY_IMAGE: MetadataImage = {
  provenance: { offset: -1, epoch: -1, timestampMs: -1 },
  features: new Map(),
  cluster: { brokers: new Map(), controllers: new Map() },
  topics: { byId: emptyMap(), idByName: emptyMap() },
  configs: emptyMap(),
  producerIds: { brokerId: -1, brokerEpoch: -1, nextProducerId: 0 },
  quotas: new Map(),
  acls: new Map(),
  scram: new Map(),
  tokens: new Map(),
};

/** The topic of an id, or undefined. */
export function topicById(image: MetadataImage, id: string): TopicImage | undefined {
  return mapGet(image.topics.byId, id);
}

/** The topic of a name, or undefined. */
export function topicByName(image: MetadataImage, name: string): TopicImage | undefined {
  const id = mapGet(image.topics.idByName, name);
  return id === undefined ? undefined : mapGet(image.topics.byId, id);
}

/** The key of a resource in `configs`. */
export function configKey(type: number, name: string): string {
  return `${type}:${name}`;
}

const NOTHING_SET: ReadonlyMap<string, string> = new Map();

/** What was set for a resource; empty if nothing. */
export function configOf(image: MetadataImage, type: number, name: string): ReadonlyMap<string, string> {
  return mapGet(image.configs, configKey(type, name))?.values ?? NOTHING_SET;
}
