/**
 * The records for all partitions that a broker's coming or going touches. Goes over every partition of the cluster:
 * some milliseconds for a hundred thousand, and rare.
 */
import { isDirectoryOnline } from '../metadata/describe-topics.ts';
import { topicSettingValue } from '../metadata/effective.ts';
import { isElrEnabled, metadataLevel } from '../metadata/features.ts';
import type { MetadataImage, PartitionImage, TopicImage } from '../metadata/image.ts';
import type { MetadataRecord } from '../metadata/records.ts';
import { mapValues } from '../metadata/sharded-map.ts';
import { type ChangeRules, changeOf } from './partition-change.ts';
import { type Controller, isActive } from './state.ts';

/** What happens. Each -1 if it does not. */
export interface Upheaval {
  /** A broker that may neither lead nor stay in sync. */
  readonly leaving: number;
  /** A broker that may lead although the image still has it fenced. */
  readonly joining: number;
  /** A broker that comes back from an unclean shutdown: it may not lead, and what it held may be gone. */
  readonly unclean: number;
}

/** Whether a broker holds the log directory that a replica of a partition lies in. */
function hasDirectory(image: MetadataImage, id: number, partition: PartitionImage): boolean {
  const broker = image.cluster.brokers.get(id);
  if (broker === undefined) return false;
  return isDirectoryOnline(broker, partition.directories[partition.replicas.indexOf(id)]);
}

/** How the partitions of a topic may change. */
export function rulesFor(controller: Controller, topic: TopicImage, upheaval: Upheaval): ChangeRules {
  const { image, config } = controller;
  const { leaving, joining, unclean } = upheaval;
  const allowsUnclean = topicSettingValue(image, config, topic.name, 'unclean.leader.election.enable') === 'true';
  return {
    level: metadataLevel(image),
    isElrEnabled: isElrEnabled(image),
    minInsync: Number(topicSettingValue(image, config, topic.name, 'min.insync.replicas')),
    election: allowsUnclean ? 'unclean' : 'online',
    isAcceptable: (id, partition) => {
      if (id === leaving || id === unclean) return false;
      return (id === joining || isActive(image, id)) && hasDirectory(image, id, partition);
    },
  };
}

function isTouched(partition: PartitionImage, upheaval: Upheaval): boolean {
  const { leaving, joining, unclean } = upheaval;
  if (joining >= 0 && partition.leader < 0) return true;
  if (leaving >= 0 && partition.isr.includes(leaving)) return true;
  return unclean >= 0 && (partition.isr.includes(unclean) || partition.elr.includes(unclean));
}

/** Adds to `records` what becomes of the partitions. */
export function addPartitionChanges(controller: Controller, upheaval: Upheaval, records: MetadataRecord[]): void {
  const { leaving, unclean } = upheaval;
  for (const topic of mapValues(controller.image.topics.byId)) {
    let rules: ChangeRules | null = null;
    for (let index = 0; index < topic.partitions.length; index++) {
      const partition = topic.partitions[index];
      if (partition === undefined || !isTouched(partition, upheaval)) continue;
      rules ??= rulesFor(controller, topic, upheaval);
      const isr = partition.isr.filter((id) => id !== leaving && id !== unclean);
      const change = changeOf(topic.id, index, partition, rules, { isr, uncleanBroker: unclean });
      if (change !== null) records.push(change);
    }
  }
}

/** Whether a broker leads a partition. */
export function leadsAny(image: MetadataImage, id: number): boolean {
  for (const topic of mapValues(image.topics.byId)) {
    if (topic.partitions.some((partition) => partition.leader === id)) return true;
  }
  return false;
}
