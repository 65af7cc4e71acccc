/**
 * Feature levels: which exist, which we serve, and which versions of records a level of `metadata.version` asks for.
 *
 * Levels and names are those of Apache Kafka 4.4. A feature is finalized only if we serve it; a log that finalizes
 * more than that is refused by name (`unservedFeatures`), because nodes would act on what they do not understand.
 * Data and pure functions, no state.
 */
import { type MetadataImage, ResourceType, type SupportedFeature } from './image.ts';
import { type MetadataRecord, metadataRecord } from './records.ts';

/** The feature whose level says which records may be written. */
export const METADATA_VERSION = 'metadata.version';
/** The feature of eligible leader replicas (KIP-966). */
export const ELR_VERSION = 'eligible.leader.replicas.version';
/** The feature of groups: at level 1 the consumer protocol is served (KIP-848). */
export const GROUP_VERSION = 'group.version';
/** The feature of the quorum itself; its level is in the quorum's control records, never in a FeatureLevelRecord. */
export const KRAFT_VERSION = 'kraft.version';

/** The lowest level of `metadata.version` that we can work with, 3.3-IV3. */
export const METADATA_LEVEL_MIN = 7;
/** The level of `metadata.version` of Apache Kafka 4.4, 4.4-IV2. */
export const METADATA_LEVEL_MAX = 33;

/** Names of the levels from `METADATA_LEVEL_MIN`. A star marks those that brought new records or fields. */
const LEVELS = (
  '3.3-IV3* 3.4-IV0* 3.5-IV0 3.5-IV1 3.5-IV2* 3.6-IV0 3.6-IV1* 3.6-IV2* 3.7-IV0* 3.7-IV1 3.7-IV2* 3.7-IV3 3.7-IV4 ' +
  '3.8-IV0 3.9-IV0 4.0-IV0 4.0-IV1* 4.0-IV2 4.0-IV3 4.1-IV0 4.1-IV1 4.2-IV0 4.2-IV1 4.3-IV0* 4.4-IV0 4.4-IV1* 4.4-IV2*'
).split(' ');

/** Kafka's name of a level of `metadata.version`, or the number if there is none. */
export function metadataLevelName(level: number): string {
  return LEVELS[level - METADATA_LEVEL_MIN]?.replace('*', '') ?? String(level);
}

/** Whether going from one level to a lower one would lose metadata. */
export function losesMetadata(from: number, to: number): boolean {
  for (let level = to + 1; level <= from; level++) {
    if (LEVELS[level - METADATA_LEVEL_MIN]?.endsWith('*') === true) return true;
  }
  return false;
}

/** What this node supports, for its registration and for ApiVersions, by name. */
export const SUPPORTED_FEATURES: readonly SupportedFeature[] = [
  { name: ELR_VERSION, minSupportedVersion: 0, maxSupportedVersion: 1 },
  { name: GROUP_VERSION, minSupportedVersion: 0, maxSupportedVersion: 1 },
  { name: KRAFT_VERSION, minSupportedVersion: 0, maxSupportedVersion: 1 },
  { name: METADATA_VERSION, minSupportedVersion: METADATA_LEVEL_MIN, maxSupportedVersion: METADATA_LEVEL_MAX },
];

/** A finalized feature. */
export interface FeatureLevel {
  readonly name: string;
  readonly level: number;
}

/** What an image finalizes that this node does not serve; if any, the node must not start. */
export function unservedFeatures(image: MetadataImage): FeatureLevel[] {
  const unserved: FeatureLevel[] = [];
  for (const [name, level] of image.features) {
    const own = SUPPORTED_FEATURES.find((feature) => feature.name === name);
    const isServed = own !== undefined && level >= own.minSupportedVersion && level <= own.maxSupportedVersion;
    if (!isServed) unserved.push({ name, level });
  }
  return unserved;
}

/** The level of `metadata.version`; the lowest while the log has none. */
export function metadataLevel(image: MetadataImage): number {
  return image.features.get(METADATA_VERSION) ?? METADATA_LEVEL_MIN;
}

/** Whether eligible leader replicas are kept. */
export function isElrEnabled(image: MetadataImage): boolean {
  return (image.features.get(ELR_VERSION) ?? 0) > 0;
}

/** Whether an ISR that shrinks must begin a new leader epoch: below 3.6-IV0 followers relied on it. */
export function bumpsEpochOnShrink(level: number): boolean {
  return level < 12;
}

/** Whether log directories of replicas are recorded, from 3.7-IV2 (KIP-858). */
export function recordsDirectories(level: number): boolean {
  return level >= 17;
}

/** Whether controllers are registered, from 3.7-IV0 (KIP-919). */
export function registersControllers(level: number): boolean {
  return level >= 15;
}

/** Whether controllers may be unregistered, from 4.4-IV2. */
export function unregistersControllers(level: number): boolean {
  return level >= 33;
}

/** The version in which a broker's registration is written. */
export function registerBrokerVersion(level: number): number {
  if (level >= 30) return 4;
  if (level >= 17) return 3;
  return level >= 8 ? 2 : 1;
}

/** The version in which partitions and their changes are written. */
export function partitionVersion(level: number): number {
  if (level >= 23) return 2;
  return level >= 17 ? 1 : 0;
}

/** What a node that formats itself finalizes: all that it serves, at the highest level. */
export const BOOTSTRAP_LEVELS: readonly FeatureLevel[] = [
  { name: METADATA_VERSION, level: METADATA_LEVEL_MAX },
  { name: ELR_VERSION, level: 1 },
  { name: GROUP_VERSION, level: 1 },
];

/**
 * The first records of a new cluster, in Kafka's order: `metadata.version`, the other features by name, and with
 * eligible leader replicas the cluster's `min.insync.replicas`, which from then on cannot be absent.
 */
export function bootstrapRecords(
  minInsyncReplicas: number,
  levels: readonly FeatureLevel[] = BOOTSTRAP_LEVELS,
): MetadataRecord[] {
  const records: MetadataRecord[] = featureRecords(new Map(levels.map(({ name, level }) => [name, level])));
  if (levels.some(({ name, level }) => name === ELR_VERSION && level > 0)) {
    records.push(
      metadataRecord('ConfigRecord', 0, {
        resourceType: ResourceType.BROKER,
        resourceName: '',
        name: 'min.insync.replicas',
        value: String(minInsyncReplicas),
      }),
    );
  }
  return records;
}

/** Feature levels as records: `metadata.version` first, because it says how the others are to be read. */
export function featureRecords(features: ReadonlyMap<string, number>): MetadataRecord[] {
  const names = [...features.keys()].filter((name) => name !== METADATA_VERSION).sort();
  if (features.has(METADATA_VERSION)) names.unshift(METADATA_VERSION);
  return names.map((name) =>
    metadataRecord('FeatureLevelRecord', 0, { name, featureLevel: features.get(name) as number }),
  );
}
