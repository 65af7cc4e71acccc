/**
 * Up to where this broker has applied the metadata log: the image is published, and every log that it makes necessary
 * here is open. Its heartbeats say so, and the active controller holds the answer to whoever made partitions until all
 * brokers have come that far (`core/controller/served-topics.ts`).
 *
 * Changes are applied in order, but their logs open in any order. So each change whose logs are not open yet is kept,
 * oldest first; what is before the oldest is applied. A crash loses all of it, and the next life begins with what its
 * logs are opened for.
 */
import { isAwaited } from '../../controller/served-topics.ts';
import type { MetadataDelta } from '../../metadata/draft.ts';
import { hurryHeartbeat } from '../control/lifecycle.ts';
import type { Node, Topic } from '../state.ts';
import { waitForTopics } from './topic-waits.ts';

/** A change whose logs are not all open. */
export interface Unapplied {
  /** Of the last record before it. */
  readonly offset: number;
  readonly isAwaited: boolean;
}

/** The offset of the last record that is applied. */
export function appliedOffset({ unapplied, image }: Node): number {
  return unapplied[0]?.offset ?? image.provenance.offset;
}

/** A change has become this node's image. */
export function noteApplied(node: Node, delta: MetadataDelta): void {
  // A node that is the whole cluster is waited for by nobody else.
  if (!node.topics.isLoaded || delta.after.cluster.brokers.size < 2) return;
  const change: Unapplied = { offset: delta.before.provenance.offset, isAwaited: isAwaited(delta) };
  const topics: Topic[] = [];
  for (const { after } of delta.topics) {
    const topic = after === null ? undefined : node.topics.byId.get(after.id);
    if (topic !== undefined && topic.opening > 0) topics.push(topic);
  }
  if (topics.length === 0) {
    settle(node, change);
    return;
  }
  node.unapplied.push(change);
  waitForTopics(node, topics, Number.POSITIVE_INFINITY, { kind: 'applied', change });
}

/** The logs of a change are open. */
export function changeApplied(node: Node, change: Unapplied): void {
  const at = node.unapplied.indexOf(change);
  if (at >= 0) node.unapplied.splice(at, 1);
  settle(node, change);
}

/** Whoever waits for a change hears of it at once. */
function settle(node: Node, { isAwaited: isUrgent }: Unapplied): void {
  if (isUrgent) hurryHeartbeat(node);
}
