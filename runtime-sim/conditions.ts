/**
 * What a run waits for when it has several nodes: questions about the cluster as its newest image and its nodes have
 * it. They look at states and change nothing.
 */
import type { PartitionImage } from '../core/metadata/image.ts';
import { mapValues } from '../core/metadata/sharded-map.ts';
import type { Actor } from './actor.ts';
import { monotonicMs } from './clock.ts';
import { constantPartitions, newestImage, nodeOf } from './nodes.ts';

/** Whether each partition is led by one of these nodes, which is up and serves. */
export function areLed(nodes: readonly Actor[], core: readonly Actor[]): boolean {
  return everywhere(nodes, ({ leader }) => core.some((actor) => actor.isReady && nodeOf(actor)?.nodeId === leader));
}

/** Whether each node has had an answer to a heartbeat since then. */
export function areHeard(nodes: readonly Actor[], sinceUs: number): boolean {
  return nodes.every((actor) => (nodeOf(actor)?.contact.answeredMs ?? -1) > monotonicMs(actor.clock, sinceUs));
}

/** Whether all nodes are brokers that take part. */
export function takePart(nodes: readonly Actor[]): boolean {
  const brokers = newestImage(nodes)?.cluster.brokers;
  return nodes.every(({ actor }) => brokers?.get(actor + 1)?.fenced === false);
}

/** Whether each partition has all its replicas of these nodes in sync. */
export function areInSync(nodes: readonly Actor[], core: readonly Actor[]): boolean {
  const ids = core.map((actor) => actor.actor + 1);
  return everywhere(nodes, ({ replicas, isr }) => replicas.every((id) => isr.includes(id) || !ids.includes(id)));
}

/** Whether nobody waits for this node any more: it is in sync with no partition. */
export function isGivenUp(nodes: readonly Actor[], lost: Actor): boolean {
  return everywhere(nodes, ({ isr }) => !isr.includes(lost.actor + 1));
}

/**
 * Whether each partition has more replicas than must be in sync without this node: where an operator has left fewer,
 * what was acknowledged last need not be shown before it comes back.
 */
export function canSpare(nodes: readonly Actor[], lost: Actor, inSyncMin: number): boolean {
  return everywhere(nodes, ({ replicas }) => !replicas.includes(lost.actor + 1) || replicas.length > inSyncMin);
}

/** Whether each partition is led by the first of its replicas. */
export function arePreferred(nodes: readonly Actor[]): boolean {
  return every(nodes, ({ replicas, leader }) => replicas[0] === leader);
}

/** Whether nobody leads the first partition. */
export function isLeaderless(nodes: readonly Actor[]): boolean {
  return constantPartitions(nodes)[0]?.leader === -1;
}

/** Whether each partition has its replicas in different racks. */
export function areSpread(nodes: readonly Actor[], rackOf: (nodeId: number) => string): boolean {
  return every(nodes, ({ replicas }) => new Set(replicas.map(rackOf)).size === replicas.length);
}

/** Of all topics: those that come and go lose a record too with the only node that is in sync. */
function everywhere(nodes: readonly Actor[], isSo: (partition: PartitionImage) => boolean): boolean {
  const image = newestImage(nodes);
  if (image === null || constantPartitions(nodes).length === 0) return false;
  for (const { partitions } of mapValues(image.topics.byId)) if (!partitions.every(isSo)) return false;
  return true;
}

function every(nodes: readonly Actor[], isSo: (partition: PartitionImage) => boolean): boolean {
  const partitions = constantPartitions(nodes);
  return partitions.length > 0 && partitions.every(isSo);
}

/** The state of the partitions in a few words, for the story. */
export function partitionsText(nodes: readonly Actor[]): string {
  const one = ({ leader, leaderEpoch, isr, elr }: PartitionImage, index: number): string => {
    return `${index}: led by ${leader} in ${leaderEpoch}, in sync ${isr.join(' ')}, eligible ${elr.join(' ')}`;
  };
  return constantPartitions(nodes).map(one).join('; ');
}
