/**
 * Of which replicas the controller knows that they have all that is committed: those in sync, and those eligible.
 *
 * A broker that was shut down uncleanly counts as one that may have lost something until it is in sync again (KIP-966),
 * whatever its disk holds; its older copies are told from it by nothing else. So where the only replica that is known
 * loses its disk, or has lost one and the last other is shut down uncleanly, nobody leads until an operator says who:
 * nothing need be lost, and yet nothing comes back by itself. Within the promises disks are not damaged so far.
 *
 * Looks at nodes and at what the newest image says, and changes nothing of them.
 */
import type { MetadataImage } from '../../core/metadata/image.ts';
import { mapValues } from '../../core/metadata/sharded-map.ts';
import { isOnlyKnown, logName, woundedIn } from '../../core/verify/excuses.ts';
import { type Known, knownAfter, knownWithout } from '../../core/verify/knowing.ts';
import type { Actor } from '../actor.ts';
import { nodeOf } from '../nodes.ts';
import type { Keeper } from './damage.ts';
import { type Holdings, nodeIdOf, partitionsOn, partOf, refreshImage, topicOf } from './holdings.ts';

/** By log: who should be known, by the images that nodes have come to. */
export interface Knowing {
  image: MetadataImage | null;
  readonly logs: Map<string, Known>;
}

/** Nothing was seen. */
export function createKnowing(): Knowing {
  return { image: null, logs: new Map() };
}

/** Looks at an image that a node has come to; an older one than is known is passed over. */
export function noteKnown({ knowing, holdings, inSyncMin }: Keeper, image: MetadataImage): void {
  const before = knowing.image;
  if (before === image || (before !== null && image.provenance.offset <= before.provenance.offset)) return;
  knowing.image = image;
  if (before?.topics === image.topics) return;
  const { nodes, clean } = holdings;
  for (const { id: incarnation, name, partitions } of mapValues(image.topics.byId)) {
    for (const [index, partition] of partitions.entries()) {
      const log = logName(name, index);
      const known = knowing.logs.get(log);
      if (known?.incarnation === incarnation && known.partitionEpoch === partition.partitionEpoch) continue;
      const isSureNow = (id: number): boolean => isSure({ nodes, image, clean }, id);
      knowing.logs.set(log, knownAfter(known, { incarnation, ...partition }, inSyncMin, isSureNow));
    }
  }
}

/** The life of a node has ended: of one that was shut down uncleanly nobody knows any more what it has. */
export function forgetKnown({ knowing, holdings }: Keeper, node: number): void {
  if (holdings.clean.has(node)) return;
  for (const [log, known] of knowing.logs) knowing.logs.set(log, knownWithout(known, node));
}

/** Whether no other replica of a log is known to have all of it, and whole, and about to stay up. */
export function isLastKnown({ excuses, holdings }: Keeper, log: string, node: number): boolean {
  const { nodes, image } = holdings;
  const partition = topicOf(holdings, log)?.partitions[partOf(log).partition];
  return (
    partition !== undefined && isOnlyKnown(excuses, log, partition, node, (id) => isSteady(nodes[id - 1], image, id))
  );
}

/** Whether a node is up in the life that the cluster knows, and nothing that is planned will end it. */
function isSteady(actor: Actor | undefined, image: Keeper['holdings']['image'], id: number): boolean {
  const node = actor === undefined ? null : nodeOf(actor);
  if (actor === undefined || actor.disk === null || node === null || actor.down !== null) return false;
  if (node.stage === 'stopping') return false;
  if (actor.effectsLeft !== Number.POSITIVE_INFINITY || actor.disk.failNext.size > 0) return false;
  return node.lifecycle.epoch >= 0 && image?.cluster.brokers.get(id)?.epoch === node.lifecycle.epoch;
}

/** Whether a replica is wounded, and only this node is known to have what it may have lost. */
export function isIndispensable(keeper: Keeper, actor: Actor): boolean {
  const { excuses, holdings } = keeper;
  if (excuses.wounds.size === 0) return false;
  refreshImage(holdings);
  const id = nodeIdOf(actor);
  return partitionsOn(holdings, id).some((log) => woundedIn(excuses, log).length > 0 && isLastKnown(keeper, log, id));
}

/** Whether a node was not shut down uncleanly since the life that the cluster knows. */
export function isSure({ nodes, image, clean }: Pick<Holdings, 'nodes' | 'image' | 'clean'>, id: number): boolean {
  const broker = image?.cluster.brokers.get(id);
  const actor = nodes[id - 1];
  const node = actor === undefined ? null : nodeOf(actor);
  if (broker === undefined) return false;
  return node?.lifecycle.incarnationId === broker.incarnationId || clean.get(id) === broker.epoch;
}
