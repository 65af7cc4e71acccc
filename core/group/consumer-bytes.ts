/**
 * What members of the classic protocol and the coordinator of a consumer group say to each other in bytes: Kafka's
 * subscription and assignment, with the names of topics where consumer groups have ids. Pure.
 */

import { Reader } from '../lib/cursor.ts';
import { ProtocolError } from '../lib/protocol-error.ts';
import { type MetadataImage, topicById, topicByName } from '../metadata/image.ts';
import {
  CONSUMER_PROTOCOL_VERSION,
  decodeAssignment,
  decodeSubscription,
  encodeAssignment,
} from '../protocol/consumer-protocol.ts';
import type { ConsumerMember, OwnedPartitions } from './consumer-state.ts';

/** What a member reads, owns and where it runs. */
export interface ClassicSubscription {
  readonly topics: readonly string[];
  readonly rackId: string | null;
  /** What it owns, by the ids that topics have in an image; those which are gone are left out. */
  readonly owned: (image: MetadataImage) => { readonly topicId: string; readonly partitions: readonly number[] }[];
}

/** Reads a subscription; null for bytes that are none. */
export function subscriptionOf(metadata: Uint8Array | null): ClassicSubscription | null {
  if (metadata === null) return null;
  try {
    const { topics, rackId, ownedPartitions } = decodeSubscription(metadata);
    const owned: ClassicSubscription['owned'] = (image) =>
      ownedPartitions.flatMap(({ topic, partitions }) => {
        const known = topicByName(image, topic);
        return known === undefined ? [] : [{ topicId: known.id, partitions }];
      });
    return { topics, rackId: rackId === '' ? null : rackId, owned };
  } catch (error) {
    if (error instanceof ProtocolError) return null;
    throw error;
  }
}

/** An assignment as a consumer group has it; null for bytes that are none, or hold what would be lost. */
export function ownedOfAssignment(image: MetadataImage, bytes: Uint8Array, epoch: number): OwnedPartitions | null {
  try {
    const { assignedPartitions, userData } = decodeAssignment(bytes);
    // An assignor of the client's own told its members more than partitions.
    if (userData !== null && userData.length > 0) return null;
    const owned = new Map<string, Map<number, number>>();
    for (const { topic, partitions } of assignedPartitions) {
      const known = topicByName(image, topic);
      if (known === undefined || partitions.length === 0) continue;
      owned.set(known.id, new Map(partitions.map((partition) => [partition, epoch])));
    }
    return owned;
  } catch (error) {
    if (error instanceof ProtocolError) return null;
    throw error;
  }
}

/** The assignment of a member, in the version of its own subscription. */
export function assignmentBytes(image: MetadataImage, member: ConsumerMember): Uint8Array {
  const assignedPartitions: { topic: string; partitions: number[] }[] = [];
  for (const [topicId, partitions] of member.assigned) {
    const topic = topicById(image, topicId);
    if (topic === undefined) continue;
    assignedPartitions.push({ topic: topic.name, partitions: [...partitions.keys()].sort((a, b) => a - b) });
  }
  return encodeAssignment({ assignedPartitions, userData: null }, versionOf(member));
}

function versionOf(member: ConsumerMember): number {
  const metadata = member.classic?.supportedProtocols[0]?.metadata;
  if (metadata === undefined || metadata.length < 2) return 0;
  return Math.min(Math.max(new Reader(metadata).int16(), 0), CONSUMER_PROTOCOL_VERSION);
}
