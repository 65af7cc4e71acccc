/** Where groups are kept: their topic, and which of its partitions has which group. Pure, no state. */

/** The topic of groups and of their offsets. */
export const OFFSETS_TOPIC = '__consumer_offsets';

/** The partition of a group among `count`, by Java's hash of its name, as Kafka chooses it. */
export function partitionOfGroup(groupId: string, count: number): number {
  let hash = 0;
  for (let i = 0; i < groupId.length; i++) hash = (Math.imul(hash, 31) + groupId.charCodeAt(i)) | 0;
  // The smallest integer has no positive one beside it.
  return (hash === -2147483648 ? 0 : Math.abs(hash)) % count;
}
