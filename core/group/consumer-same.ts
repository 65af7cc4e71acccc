/** Whether two consumer groups hold the same by their records: for checks that replay gives what is live. Pure. */
import { isSameClassicPart } from './consumer-advance.ts';
import { isSameOwned } from './consumer-reconcile.ts';
import type { ConsumerGroup, ConsumerMember, ResolvedRegex } from './consumer-state.ts';
import { isSameTarget } from './consumer-target.ts';
import { isSameList } from './consumer-topics.ts';

/** Whether two groups hold the same by their records. */
export function isSameConsumerGroup(a: ConsumerGroup, b: ConsumerGroup): boolean {
  return (
    a.groupId === b.groupId &&
    a.epoch === b.epoch &&
    a.metadataHash === b.metadataHash &&
    a.targetEpoch === b.targetEpoch &&
    a.targetTimestampMs === b.targetTimestampMs &&
    a.hasPartitionMetadata === b.hasPartitionMetadata &&
    a.classicCount === b.classicCount &&
    isSameMap(a.members, b.members, isSameMember) &&
    isSameMap(a.targets, b.targets, isSameTarget) &&
    isSameMap(a.regexes, b.regexes, isSameRegex) &&
    isSameMap(a.staticMembers, b.staticMembers, Object.is) &&
    isSameMap(a.owners, b.owners, (some, others) => isSameMap(some, others, Object.is))
  );
}

function isSameMap<K, V>(a: ReadonlyMap<K, V>, b: ReadonlyMap<K, V>, isSame: (a: V, b: V) => boolean): boolean {
  if (a.size !== b.size) return false;
  for (const [key, value] of a) {
    const other = b.get(key);
    if (other === undefined || !isSame(value, other)) return false;
  }
  return true;
}

function isSameMember(a: ConsumerMember, b: ConsumerMember): boolean {
  return (
    a.memberId === b.memberId &&
    a.instanceId === b.instanceId &&
    a.rackId === b.rackId &&
    a.clientId === b.clientId &&
    a.clientHost === b.clientHost &&
    a.subscribedTopicRegex === b.subscribedTopicRegex &&
    a.rebalanceTimeoutMs === b.rebalanceTimeoutMs &&
    a.serverAssignor === b.serverAssignor &&
    a.memberEpoch === b.memberEpoch &&
    a.previousMemberEpoch === b.previousMemberEpoch &&
    a.state === b.state &&
    isSameList(a.subscribedTopicNames, b.subscribedTopicNames) &&
    isSameClassicPart(a.classic, b.classic) &&
    isSameOwned(a.assigned, b.assigned) &&
    isSameOwned(a.revoking, b.revoking)
  );
}

function isSameRegex(a: ResolvedRegex, b: ResolvedRegex): boolean {
  return a.version === b.version && a.timestampMs === b.timestampMs && isSameList(a.topics, b.topics);
}
