/** What the broker's tests say as members of groups, in few words. */
import type { GroupHost } from '../../core/broker/groups/state.ts';
import type { Node } from '../../core/broker/state.ts';
import type { RequestInputOf, ResponseOf } from '../../core/protocol/messages/index.ts';
import type { Loose } from './frames.ts';
import { type Changes, type ToyConnection, ToyWorld } from './toy-world.ts';

/** API keys by name. */
export const GROUP_KEY = {
  offsetCommit: 8,
  offsetFetch: 9,
  findCoordinator: 10,
  joinGroup: 11,
  heartbeat: 12,
  leaveGroup: 13,
  syncGroup: 14,
  describeGroups: 15,
  listGroups: 16,
  deleteGroups: 42,
  offsetDelete: 47,
  consumerGroupHeartbeat: 68,
  consumerGroupDescribe: 69,
} as const;

/** The topic of groups. */
export const OFFSETS = '__consumer_offsets';

/** A node with few partitions for groups, and a client of it. */
export function groupsOf(changes: Changes = {}): { world: ToyWorld; client: ToyConnection } {
  const settings = { 'offsets.topic.num.partitions': '4', 'group.initial.rebalance.delay.ms': '0', ...changes };
  const world = new ToyWorld(settings).start();
  return { world, client: world.connect() };
}

/** A node that has the topic of groups. */
export function withTopic(changes: Changes = {}): { world: ToyWorld; client: ToyConnection } {
  const both = groupsOf(changes);
  both.world.ask(both.client, GROUP_KEY.findCoordinator, 0, { key: 'g' });
  return both;
}

/** The coordinators that a node hosts. */
export function hostsOf({ groups }: Node): GroupHost[] {
  return [...groups.hosts];
}

/** Offsets of `orders` for a group without members. */
export function commitBody(groupId: string, offsets: readonly number[], metadata = ''): Loose<RequestInputOf<8>> {
  const partitions = offsets.map((committedOffset, partitionIndex) => {
    return { partitionIndex, committedOffset, committedMetadata: metadata };
  });
  return { groupId, topics: [{ name: 'orders', partitions }] };
}

/** The errors of a commit, partition by partition. */
export function errorsOf({ topics }: ResponseOf<8>): number[] {
  return topics.flatMap(({ partitions }) => partitions.map(({ errorCode }) => errorCode));
}

/** What OffsetFetch asks for all offsets of a group. */
export function fetchAllBody(groupId: string): Loose<RequestInputOf<9>> {
  return { groups: [{ groupId, topics: null }] };
}

/** The offsets in an answer, by topic and partition; or the error of the group. */
export function offsetsIn({ groups }: ResponseOf<9>): Map<string, number> | number {
  const [group] = groups;
  if (group === undefined || group.errorCode !== 0) return group?.errorCode ?? -1;
  const found = new Map<string, number>();
  for (const { name, partitions } of group.topics) {
    for (const { partitionIndex, committedOffset } of partitions)
      found.set(`${name}-${partitionIndex}`, committedOffset);
  }
  return found;
}

/** A member that says one protocol. */
export function joinBody(groupId: string, memberId = ''): Loose<RequestInputOf<11>> {
  const protocols = [{ name: 'range', metadata: new Uint8Array([0, 1, 0, 0, 0, 0, 0, 0]) }];
  return {
    groupId,
    memberId,
    sessionTimeoutMs: 10_000,
    rebalanceTimeoutMs: 5_000,
    protocolType: 'consumer',
    protocols,
  };
}
