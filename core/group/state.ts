/**
 * The state of one coordinator of groups: all groups of a partition of `__consumer_offsets`, and their offsets.
 *
 * Hard is what records say: `offsets`, `ClassicGroup.written`, and what consumer groups say is. It is changed by replay
 * alone, and `sameHardState` compares it. The rest is soft: changed by handlers, lost with the lead.
 *
 * Invariants: a group with offsets is in `groups`; a group's deadline is never later than what it waits for.
 * A crash loses all of it; the log holds what is hard.
 */
import { assert } from '../lib/assert.ts';
import { isSameBytes } from '../lib/bytes.ts';
import { checkHeap, createHeap, type DeadlineHeap, setDeadline } from '../lib/heap.ts';
import type { GroupMetadataValue } from '../protocol/groups/classic.ts';
import { type ClassicGroup, checkClassicGroup, createClassicGroup } from './classic-group.ts';
import { type ConsumerGroup, checkConsumerGroup, isSameConsumerGroup } from './consumer.ts';
import type { GroupConfig } from './shapes.ts';

/** A group of either protocol. */
export type Group = ClassicGroup | ConsumerGroup;

/** A committed offset. */
export interface CommittedOffset {
  readonly offset: number;
  /** Of the last record that was read; -1: unknown. */
  readonly leaderEpoch: number;
  readonly metadata: string;
  /** Ms since 1970. */
  readonly commitTimestampMs: number;
  /** When it expires, as old clients said, ms since 1970; -1: by the retention of the broker. */
  readonly expireTimestampMs: number;
  /** Of the topic that it was committed for; all zero: unknown. */
  readonly topicId: string;
}

/** The offsets of a group: by topic, then by partition. No map in it is empty. */
export type GroupOffsets = Map<string, Map<number, CommittedOffset>>;

/** The state. */
export interface GroupState {
  /** Kafka's defaults while loading. */
  config: GroupConfig;
  readonly groups: Map<string, Group>;
  readonly offsets: Map<string, GroupOffsets>;
  /** When each group has something to do by itself. Entries may be early. */
  readonly deadlines: DeadlineHeap<Group>;
  /** When offsets are next looked at for their age, `nowMs`; Infinity while loading. */
  expiryDeadlineMs: number;
  /** Groups whose offsets are still to be looked at in this round of expiry. */
  readonly expiring: string[];
  /** Topics went: another round follows. They are in `deletedTopics`, or too many; this one's are by name, with ids. */
  isRoundDue: boolean;
  readonly deletedTopics: { readonly name: string; readonly id: string }[];
  readonly goneTopics: Map<string, Set<string>>;
  /**
   * Soft parts for classic groups that the records of this very call are about to create (a downgrade): replay of a
   * GroupMetadata record takes them up instead of making the group from the record alone. Empty between calls.
   */
  readonly downgraded: Map<string, ClassicGroup>;
}

/** The state before the first record. */
export function createGroupState(config: GroupConfig): GroupState {
  return {
    config,
    groups: new Map(),
    offsets: new Map(),
    deadlines: createHeap(),
    expiryDeadlineMs: Number.POSITIVE_INFINITY,
    expiring: [],
    isRoundDue: false,
    deletedTopics: [],
    goneTopics: new Map(),
    downgraded: new Map(),
  };
}

/** A committed offset, or undefined. */
export function committedOffset(
  state: GroupState,
  groupId: string,
  topic: string,
  partition: number,
): CommittedOffset | undefined {
  return state.offsets.get(groupId)?.get(topic)?.get(partition);
}

/** The group of an id, of either protocol, or undefined. */
export function groupOf(state: GroupState, groupId: string): Group | undefined {
  return state.groups.get(groupId);
}

/** Removes a group by replay; one that has offsets stays, to keep them, as a classic group without members. */
export function removeGroup(state: GroupState, groupId: string): void {
  const group = state.groups.get(groupId);
  if (group === undefined) return;
  setDeadline(state.deadlines, group, Number.POSITIVE_INFINITY);
  if (state.offsets.has(groupId)) state.groups.set(groupId, createClassicGroup(groupId, -1));
  else state.groups.delete(groupId);
}

/** Throws AssertionError if an invariant is broken; true between any two calls. */
export function checkGroups(state: GroupState): void {
  checkHeap(state.deadlines);
  assert(state.downgraded.size === 0, 'what a downgrade left for replay was taken up');
  for (const groupId of state.offsets.keys()) assert(state.groups.has(groupId), 'offsets belong to a group');
  for (const [groupId, group] of state.groups) {
    assert(group.groupId === groupId, 'a group is known by its id');
    checkGroup(group);
  }
}

/**
 * The same of a state that may be large, a portion at a time: all where about `looksMax` members and partitions are all
 * there are, else groups that wait for something, from a place among them on. Where to go on.
 */
export function checkSomeGroups(state: GroupState, from: number, looksMax: number): number {
  if (isSmall(state, looksMax)) {
    checkGroups(state);
    return 0;
  }
  const { items } = state.deadlines;
  let at = from < items.length ? from : 0;
  for (let looks = 0; looks < looksMax && at < items.length; at++) {
    const group = items[at];
    assert(group !== undefined, 'the places of groups that wait have no gaps');
    assert(state.groups.get(group.groupId) === group, 'a group that waits is one that is known');
    assert(group.heapIndex === at, 'a group that waits knows its place');
    checkGroup(group);
    looks += sizeOf(group);
  }
  return at;
}

function checkGroup(group: Group): void {
  if (group.kind === 'classic') checkClassicGroup(group);
  else checkConsumerGroup(group);
}

/** What a check of the group looks at. */
function sizeOf(group: Group): number {
  let size = 1 + group.members.size;
  if (group.kind === 'consumer') for (const partitions of group.owners.values()) size += partitions.size;
  return size;
}

function isSmall({ groups }: GroupState, looksMax: number): boolean {
  let looks = 0;
  for (const group of groups.values()) {
    looks += sizeOf(group);
    if (looks > looksMax) return false;
  }
  return true;
}

/** Whether two states hold the same by their records; groups that no record tells of do not count. */
export function sameHardState(a: GroupState, b: GroupState): boolean {
  return holdsGroupsOf(a, b) && holdsGroupsOf(b, a) && isSameOffsets(a.offsets, b.offsets);
}

/** Whether every group of `b` that records tell of is the same in `a`. */
function holdsGroupsOf(a: GroupState, b: GroupState): boolean {
  for (const [groupId, group] of b.groups) {
    const other = a.groups.get(groupId);
    if (group.kind === 'consumer') {
      if (other?.kind !== 'consumer' || !isSameConsumerGroup(group, other)) return false;
    } else if (group.written !== null) {
      if (other?.kind !== 'classic' || other.written === null) return false;
      if (!isSameWritten(group.written, other.written)) return false;
    }
  }
  return true;
}

function isSameWritten(a: GroupMetadataValue, b: GroupMetadataValue): boolean {
  if (a.protocolType !== b.protocolType || a.generation !== b.generation || a.protocol !== b.protocol) return false;
  if (a.leader !== b.leader || a.currentStateTimestamp !== b.currentStateTimestamp) return false;
  return a.members.length === b.members.length && a.members.every((one, i) => isSameMember(one, b.members[i]));
}

type WrittenMember = GroupMetadataValue['members'][number];

function isSameMember(a: WrittenMember, b: WrittenMember | undefined): boolean {
  if (b === undefined || a.memberId !== b.memberId || a.groupInstanceId !== b.groupInstanceId) return false;
  if (a.clientId !== b.clientId || a.clientHost !== b.clientHost) return false;
  if (a.rebalanceTimeout !== b.rebalanceTimeout || a.sessionTimeout !== b.sessionTimeout) return false;
  return isSameBytes(a.subscription, b.subscription) && isSameBytes(a.assignment, b.assignment);
}

function isSameOffsets(a: ReadonlyMap<string, GroupOffsets>, b: ReadonlyMap<string, GroupOffsets>): boolean {
  if (a.size !== b.size) return false;
  for (const [groupId, topics] of a) {
    const otherTopics = b.get(groupId);
    if (otherTopics === undefined || otherTopics.size !== topics.size) return false;
    for (const [topic, partitions] of topics) {
      const others = otherTopics.get(topic);
      if (others === undefined || others.size !== partitions.size) return false;
      for (const [partition, one] of partitions) if (!isSameOffset(one, others.get(partition))) return false;
    }
  }
  return true;
}

function isSameOffset(a: CommittedOffset, b: CommittedOffset | undefined): boolean {
  if (b === undefined || a.offset !== b.offset || a.leaderEpoch !== b.leaderEpoch) return false;
  if (a.metadata !== b.metadata || a.topicId !== b.topicId) return false;
  return a.commitTimestampMs === b.commitTimestampMs && a.expireTimestampMs === b.expireTimestampMs;
}
