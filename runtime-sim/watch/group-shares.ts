/**
 * Watches what a generation of a classic group shares out: each partition of the constant topic, if anybody reads that,
 * is given to a member, or is claimed by one that is to give it up and join again. One that is neither waits for a
 * rebalance that nobody asks for. The constant topic is always there, so that no leader has missed it. It looks where
 * the group was written anew, after steps of its coordinator, and stays without assertions.
 */
import type { Node } from '../../core/broker/node.ts';
import { type ClassicGroup, type ClassicMember, metadataOf } from '../../core/group/classic-group.ts';
import { decodeAssignment, decodeSubscription } from '../../core/protocol/consumer-protocol.ts';
import type { GroupHistory } from '../../core/verify/group-history.ts';
import { complain, type History } from '../../core/verify/history.ts';
import { TOPIC } from '../cast/casting.ts';

/** By node, the record of each group that was looked at last. Plain data. */
export type ShareNotes = Map<number, Map<string, ClassicGroup['written']>>;

/** Looks at the coordinators of a node after a step of it. */
export function watchShares(notes: ShareNotes, history: History, node: Node, nowUs: number): void {
  const { nodeId, groups } = node;
  const known = notes.get(nodeId) ?? new Map<string, ClassicGroup['written']>();
  notes.set(nodeId, known);
  for (const { stage, coordinator } of groups.hosts) {
    if (stage !== 'active') continue;
    for (const group of history.groups) {
      const { groupId } = group;
      const found = coordinator.state?.groups.get(groupId);
      if (found?.kind !== 'classic' || found.state !== 'Stable' || known.get(groupId) === found.written) continue;
      known.set(groupId, found.written);
      look(history, group, found, nowUs);
    }
  }
}

function look(history: History, { groupId }: GroupHistory, group: ClassicGroup, nowUs: number): void {
  if (group.subscribedTopics?.has(TOPIC) !== true) return;
  const had = new Set<number>();
  for (const member of group.members.values()) for (const partition of sharesOf(group, member)) had.add(partition);
  history.partitions.forEach(({ topic, partition }) => {
    if (topic !== TOPIC || had.has(partition)) return;
    const what = `${TOPIC}-${partition} at ${nowUs} us to no member, and none is to give it up first`;
    const sentence = `generation ${group.generation} of ${groupId} gave ${what}`;
    complain(history, { checker: 'group-unshared', promise: 6, partition, sentence });
  });
}

/** What a member has, or says that it owns. */
function sharesOf(group: ClassicGroup, member: ClassicMember): readonly number[] {
  const { ownedPartitions } = decodeSubscription(metadataOf(member, group.protocolName));
  const assigned = member.assignment.length === 0 ? [] : decodeAssignment(member.assignment).assignedPartitions;
  return [...ownedPartitions, ...assigned].flatMap(({ topic, partitions }) => (topic === TOPIC ? partitions : []));
}
