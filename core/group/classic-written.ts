/**
 * Classic groups and their records: the record of a generation from a group, and a group again from its record.
 *
 * A record holds one generation whole, so only the last one counts. A group that is made from it is Stable, or Empty
 * without members, whatever the coordinator was about when it died; what it had not finished begins anew. Pure.
 */
import { Reader } from '../lib/cursor.ts';
import { ProtocolError } from '../lib/protocol-error.ts';
import { type MetadataImage, topicByName } from '../metadata/image.ts';
import { CONSUMER_PROTOCOL_TYPE, decodeAssignment, decodeSubscription } from '../protocol/consumer-protocol.ts';
import type { GroupRecord } from '../protocol/group-records.ts';
import type { GroupMetadataValue } from '../protocol/groups/classic.ts';
import {
  addMember,
  type ClassicGroup,
  type ClassicMember,
  createClassicGroup,
  createMember,
  type MemberProtocol,
  metadataOf,
  NO_BYTES,
} from './classic-group.ts';
import { groupRecord } from './records.ts';

/** Bytes of a record beside the strings and bytes of its members, and of a member beside its own, at most. */
const HEAD_BYTES = 64;

/** The record of the group's generation, with what `assigned` says a member gets. */
export function generationRecord(group: ClassicGroup, assigned: (memberId: string) => Uint8Array): GroupRecord {
  const { groupId, protocolType, generation, protocolName, leaderId, stateTimestampMs } = group;
  const members = [...group.members.values()].map((member) => ({
    memberId: member.memberId,
    groupInstanceId: member.groupInstanceId,
    clientId: member.clientId,
    clientHost: member.clientHost,
    rebalanceTimeout: member.rebalanceTimeoutMs,
    sessionTimeout: member.sessionTimeoutMs,
    subscription: metadataOf(member, protocolName),
    assignment: assigned(member.memberId),
  }));
  return groupRecord(
    'GroupMetadata',
    { group: groupId },
    {
      protocolType,
      generation,
      protocol: protocolName,
      leader: leaderId,
      currentStateTimestamp: stateTimestampMs,
      members,
    },
  );
}

/**
 * The last record of a group with a static member under its new id, if its instance was there under another, whether
 * that has left since or not: a coordinator that loads the group before its next generation would take the new one for
 * a zombie.
 */
export function renamedRecord({ groupId, written }: ClassicGroup, instanceId: string, memberId: string): GroupRecord[] {
  const formerId = written?.members.find(({ groupInstanceId }) => groupInstanceId === instanceId)?.memberId;
  if (written === null || formerId === undefined || formerId === memberId) return [];
  const members = written.members.map((member) => (member.memberId === formerId ? { ...member, memberId } : member));
  const leader = written.leader === formerId ? memberId : written.leader;
  return [groupRecord('GroupMetadata', { group: groupId }, { ...written, leader, members })];
}

/** The first record of a group: it exists, and that is all. */
export function newGroupRecord(group: ClassicGroup): GroupRecord {
  return groupRecord(
    'GroupMetadata',
    { group: group.groupId },
    {
      protocolType: '',
      generation: 0,
      protocol: null,
      leader: null,
      currentStateTimestamp: group.stateTimestampMs,
      members: [],
    },
  );
}

/** How many bytes `generationRecord` takes, at most. */
export function generationSize(group: ClassicGroup, assigned: (memberId: string) => Uint8Array): number {
  // Of a string each character takes up to three bytes.
  const heads = group.groupId.length + group.protocolType.length + (group.protocolName?.length ?? 0);
  let size = HEAD_BYTES + 3 * (heads + (group.leaderId?.length ?? 0));
  for (const member of group.members.values()) {
    const names = member.memberId.length + member.clientId.length + member.clientHost.length;
    size += HEAD_BYTES + 3 * (names + (member.groupInstanceId?.length ?? 0));
    size += metadataOf(member, group.protocolName).length + assigned(member.memberId).length;
  }
  return size;
}

/** The group that a record tells of, `written` included; sessions are not begun. */
export function groupFromRecord(groupId: string, value: GroupMetadataValue): ClassicGroup {
  const group = createClassicGroup(groupId, value.currentStateTimestamp);
  group.written = value;
  group.generation = value.generation;
  group.protocolType = value.protocolType;
  group.protocolName = value.protocol;
  for (const one of value.members) {
    const { memberId, clientId, clientHost, sessionTimeout } = one;
    if (group.members.has(memberId)) continue;
    // Of two members with one instance the later is the true one; no record of ours has two.
    const isTwin = one.groupInstanceId !== null && group.staticMembers.has(one.groupInstanceId);
    const groupInstanceId = isTwin ? null : one.groupInstanceId;
    const rebalanceTimeoutMs = one.rebalanceTimeout === -1 ? sessionTimeout : one.rebalanceTimeout;
    const protocols = [{ name: value.protocol ?? '', metadata: one.subscription }];
    const head = { memberId, groupInstanceId, clientId, clientHost };
    const member = createMember(
      head,
      { rebalanceTimeoutMs, sessionTimeoutMs: sessionTimeout },
      protocols,
      one.assignment,
    );
    addMember(group, member, value.protocolType);
  }
  if (group.members.size > 0) group.state = 'Stable';
  if (value.leader !== null && group.members.has(value.leader)) group.leaderId = value.leader;
  group.subscribedTopics = subscribedTopicsOf(group);
  return group;
}

/** The topics that the members read, if they speak the protocol of consumers and can be understood; else null. */
export function subscribedTopicsOf(group: ClassicGroup): ReadonlySet<string> | null {
  if (group.protocolType !== CONSUMER_PROTOCOL_TYPE) return null;
  const topics = new Set<string>();
  if (group.members.size === 0) return topics;
  for (const member of group.members.values()) {
    const read = topicsOf(group, member);
    if (read === null) return null;
    for (const topic of read) topics.add(topic);
  }
  return topics;
}

/** The topics that a member reads, if it speaks the protocol of consumers and can be understood; else null. */
export function topicsOf({ protocolType, protocolName }: ClassicGroup, member: ClassicMember): Set<string> | null {
  if (protocolType !== CONSUMER_PROTOCOL_TYPE || protocolName === null) return null;
  try {
    const topics = new Set<string>();
    const reader = new Reader(metadataOf(member, protocolName));
    // Every version of a subscription begins as version 0 does: the version, then the topics.
    reader.int16();
    for (let left = reader.arrayLength(2); left > 0; left--) topics.add(reader.string());
    return topics;
  } catch (error) {
    if (error instanceof ProtocolError) return null;
    throw error;
  }
}

/**
 * Whether a member of consumers said that it owns what its assignment lacks. It is to give that up and join again;
 * until then nobody else is given it, so that the group waits for a rebalance that only this member knows of.
 */
export function owesPartitions(group: ClassicGroup, member: ClassicMember): boolean {
  if (group.protocolType !== CONSUMER_PROTOCOL_TYPE) return false;
  try {
    const { ownedPartitions } = decodeSubscription(metadataOf(member, group.protocolName));
    const assigned = new Map<string, ReadonlySet<number>>();
    for (const { topic, partitions } of decodeAssignment(member.assignment).assignedPartitions) {
      assigned.set(topic, new Set(partitions));
    }
    return ownedPartitions.some(({ topic, partitions }) => {
      return partitions.some((partition) => assigned.get(topic)?.has(partition) !== true);
    });
  } catch (error) {
    if (error instanceof ProtocolError) return false;
    throw error;
  }
}

const NO_PARTITIONS: ReadonlySet<number> = new Set();

/**
 * Whether a generation shares out what there is of the topics that its members read: every partition, and no other. A
 * static leader that comes back does not see what was shared out, and is not to do it anew (KIP-814): what came or went
 * while it was away would have no reader, or one that waits for nothing. True of what is not understood.
 */
export function sharesWhatThereIs(group: ClassicGroup, image: MetadataImage): boolean {
  const topics = subscribedTopicsOf(group);
  if (topics === null) return true;
  const shared = new Map<string, Set<number>>();
  try {
    // Assignors of users may give one partition to several.
    for (const { assignment } of group.members.values()) {
      for (const { topic, partitions } of decodeAssignment(assignment).assignedPartitions) {
        shared.set(topic, new Set([...(shared.get(topic) ?? []), ...partitions]));
      }
    }
  } catch (error) {
    if (error instanceof ProtocolError) return true;
    throw error;
  }
  // Those of a topic are numbered from 0: as many as there are, and none above.
  return [...new Set([...topics, ...shared.keys()])].every((topic) => {
    const count = topics.has(topic) ? (topicByName(image, topic)?.partitions.length ?? 0) : 0;
    const given = shared.get(topic) ?? NO_PARTITIONS;
    return given.size === count && [...given].every((partition) => partition < count);
  });
}

/** What a member can do, each protocol once, as it named it first; the bytes are not a view of more. */
export function distinctProtocols(said: readonly MemberProtocol[]): MemberProtocol[] {
  const byName = new Map<string, MemberProtocol>();
  for (const { name, metadata } of said) {
    if (!byName.has(name)) byName.set(name, { name, metadata: ownBytes(metadata) });
  }
  return [...byName.values()];
}

/** A copy where the bytes are a small part of what they are a view of, which they would keep alive. */
export function ownBytes(bytes: Uint8Array): Uint8Array {
  if (bytes.length === 0) return NO_BYTES;
  return bytes.length * 2 < bytes.buffer.byteLength ? bytes.slice() : bytes;
}
