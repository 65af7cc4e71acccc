/**
 * What a change of the metadata means to groups: offsets of topics that went go, too. Each coordinator hears of it in a
 * wake of its own; of several changes before that at once. What else changed, topics that come or grow and brokers that
 * move to another rack, groups see by themselves, in the image that comes with the next heartbeat. No state of its own.
 */
import { setDeadline } from '../../lib/heap.ts';
import type { TopicDelta } from '../../metadata/draft-topics.ts';
import type { Node } from '../state.ts';
import type { DeletedTopic } from './state.ts';

/** A deadline that has come whatever the time is. */
const AT_ONCE_MS = 0;

/** Topics that are kept for one that cannot write yet; of more it looks itself what is gone. */
const DELETED_MAX = 1_000;

/** Topics have changed: of those that went the coordinators here are told. */
export function noteTopics(node: Node, deltas: readonly TopicDelta[]): void {
  if (node.groups.hosts.size === 0) return;
  const deleted: DeletedTopic[] = [];
  for (const { before, after } of deltas) {
    if (before !== null && after === null) deleted.push({ name: before.name, id: before.id });
  }
  if (deleted.length > 0) tell(node, deleted);
}

function tell(node: Node, deleted: readonly DeletedTopic[]): void {
  for (const host of node.groups.hosts) {
    if (host.deletedTopics !== null) {
      const isTooMany = host.deletedTopics.length + deleted.length > DELETED_MAX;
      host.deletedTopics = isTooMany ? null : [...host.deletedTopics, ...deleted];
    }
    // One that loads hears of it when it is active.
    if (host.stage === 'active') setDeadline(node.deadlines, host, AT_ONCE_MS);
  }
}
