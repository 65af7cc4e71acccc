/**
 * The client's assignors 'sticky' and 'cooperative-sticky'. Pure, no state.
 *
 * 'sticky' is eager: everybody gives up everything before it joins, and says in its user data what it had. With
 * 'cooperative-sticky' members go on owning what they have while they join; a partition that is to move is given to
 * nobody in this generation, and to its new owner in the next one, for which the old owner asks once it has given it
 * up.
 *
 * Invariant of the latter: a member is never given a partition that another member says it owns.
 */
import { decodeStickyUserData, encodeStickyUserData } from '../protocol/consumer-protocol.ts';
import type { Assignment, AssignorMember, AssignorTopic, ClientAssignor, TopicPartitions } from './client-shapes.ts';
import { type Claim, dealSticky } from './client-sticky-deal.ts';

/** The eager one. */
export const clientSticky: ClientAssignor = {
  name: 'sticky',
  isCooperative: false,
  userData: (previous, generation) =>
    previous.length === 0 && generation < 0 ? null : encodeStickyUserData({ previousAssignment: previous, generation }),
  assign: (members, topics) => dealSticky(members, topics, claimOfUserData),
};

/** The cooperative one. */
export const clientCooperativeSticky: ClientAssignor = {
  name: 'cooperative-sticky',
  isCooperative: true,
  userData: (_previous, generation) => generationBytes(generation),
  assign: assignCooperatively,
};

function claimOfUserData({ userData }: AssignorMember): Claim {
  const told = userData === null ? null : decodeStickyUserData(userData);
  if (told === null) return { owned: [], generation: -1 };
  return { owned: told.previousAssignment, generation: told.generation };
}

/** Members that are too old to say their generation in the subscription say it here: four bytes. */
function generationBytes(generation: number): Uint8Array {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setInt32(0, generation);
  return bytes;
}

function claimOfSubscription({ owned, generation, userData }: AssignorMember): Claim {
  if (generation >= 0 || userData === null || userData.length < 4) return { owned, generation };
  return { owned, generation: new DataView(userData.buffer, userData.byteOffset).getInt32(0) };
}

function assignCooperatively(members: readonly AssignorMember[], topics: readonly AssignorTopic[]): Assignment {
  const wanted = dealSticky(members, topics, claimOfSubscription);
  const owners = new Map<string, Map<number, Set<string>>>();
  for (const { memberId, owned } of members) {
    for (const { topic, partitions } of owned) {
      const ofTopic = owners.get(topic) ?? new Map<number, Set<string>>();
      owners.set(topic, ofTopic);
      for (const partition of partitions) {
        ofTopic.set(partition, (ofTopic.get(partition) ?? new Set<string>()).add(memberId));
      }
    }
  }
  const isOthers = (memberId: string, topic: string, partition: number): boolean => {
    const claimants = owners.get(topic)?.get(partition);
    return claimants !== undefined && !claimants.has(memberId);
  };
  const assignment: Assignment = new Map();
  for (const [memberId, given] of wanted) {
    const kept: TopicPartitions[] = [];
    for (const { topic, partitions } of given) {
      const free = partitions.filter((partition) => !isOthers(memberId, topic, partition));
      if (free.length > 0) kept.push({ topic, partitions: free });
    }
    assignment.set(memberId, kept);
  }
  return assignment;
}
