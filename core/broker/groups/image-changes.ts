/**
 * What a change of the metadata means to groups: topics that come, go or grow, and brokers that move to another rack.
 * Each coordinator hears of it in a wake of its own; of several changes before that at once. No state of its own.
 */
import { setDeadline } from '../../lib/heap.ts';
import type { TopicDelta } from '../../metadata/draft-topics.ts';
import type { MetadataImage } from '../../metadata/image.ts';
import type { Node } from '../state.ts';
import type { DeletedTopic } from './state.ts';

/** A deadline that has come whatever the time is. */
const AT_ONCE_MS = 0;

/** Topics that are kept for one that cannot write yet; of more it looks itself what is gone. */
const DELETED_MAX = 1_000;

/** Topics have changed; those that only have other leaders or replicas say nothing to groups. */
export function noteTopics(node: Node, deltas: readonly TopicDelta[]): void {
  if (node.groups.hosts.size === 0) return;
  const deleted: DeletedTopic[] = [];
  let isOther = false;
  for (const { before, after } of deltas) {
    if (before?.partitions.length !== after?.partitions.length) isOther = true;
    if (before !== null && after === null) deleted.push({ name: before.name, id: before.id });
  }
  if (isOther) tell(node, deleted);
}

/** Brokers have changed. */
export function noteBrokers(node: Node, before: MetadataImage, after: MetadataImage): void {
  if (node.groups.hosts.size > 0 && racksDiffer(before, after)) tell(node, []);
}

function racksDiffer({ cluster: before }: MetadataImage, { cluster: after }: MetadataImage): boolean {
  if (before.brokers.size !== after.brokers.size) return true;
  for (const { id, rack } of after.brokers.values()) if (before.brokers.get(id)?.rack !== rack) return true;
  return false;
}

function tell(node: Node, deleted: readonly DeletedTopic[]): void {
  for (const host of node.groups.hosts) {
    if (host.deletedTopics !== null) {
      const isTooMany = host.deletedTopics.length + deleted.length > DELETED_MAX;
      host.deletedTopics = isTooMany ? null : [...host.deletedTopics, ...deleted];
    }
    host.isImageDue = true;
    // One that loads hears of it when it is active.
    if (host.stage === 'active') setDeadline(node.deadlines, host, AT_ONCE_MS);
  }
}
