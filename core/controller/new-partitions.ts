/** New partitions as records: who replicates them, in which log directories, who leads first. */
import { DirectoryId } from '../metadata/describe-topics.ts';
import { metadataLevel } from '../metadata/features.ts';
import type { MetadataImage } from '../metadata/image.ts';
import type { MetadataRecord } from '../metadata/records.ts';
import { partitionRecord } from '../metadata/snapshot.ts';
import { isActive } from './state.ts';

/** The log directory of a new replica: the broker's only one, or the broker chooses. */
export function directoryOf(image: MetadataImage, id: number): string {
  const dirs = image.cluster.brokers.get(id)?.logDirs ?? [];
  return (dirs.length === 1 ? dirs[0] : undefined) ?? DirectoryId.UNASSIGNED;
}

/** The replicas that are there to be in sync from the start. */
export function firstInSync(image: MetadataImage, replicas: readonly number[]): number[] {
  return replicas.filter((id) => isActive(image, id));
}

/** The record of a new partition; `isr` is not empty, and its first is the leader. */
export function newPartition(
  image: MetadataImage,
  topicId: string,
  partitionId: number,
  replicas: readonly number[],
  isr: readonly number[],
): MetadataRecord {
  const partition = {
    replicas,
    directories: replicas.map((id) => directoryOf(image, id)),
    isr,
    removingReplicas: [],
    addingReplicas: [],
    elr: [],
    lastKnownElr: [],
    leader: isr[0] ?? -1,
    leaderRecoveryState: 0,
    leaderEpoch: 0,
    partitionEpoch: 0,
  };
  return partitionRecord(topicId, partitionId, partition, metadataLevel(image));
}
