/**
 * A group of the consumer protocol: its members, what each has and is to have, and in which epoch.
 *
 * Three epochs. The group's grows whenever a member comes, goes or reads something else, and whenever topics that
 * anybody reads change. The target's says for which epoch of the group partitions were dealt out last. A member's says
 * which target it has come to; until it has given back what others are to have, it stays behind.
 *
 * Hard, the replay of records: all but `timers`, `seen`, `regexesDueMs` and `hashed`. `owners`, `staticMembers` and
 * the counts follow from the members.
 *
 * Invariants: a partition has one owner: the member that has it assigned, or has yet to give it back. It is given to
 * another only once that member has said that it let go of it, or is gone. A member's assigned and revoked partitions
 * have none in common.
 */
import type { PartitionsByTopic } from '../assignors/server-shapes.ts';
import type { Timed } from '../lib/heap.ts';
import type { BrokerImage, TopicImage, TopicsImage } from '../metadata/image.ts';
import type { ConsumerGroupMemberMetadataValue } from '../protocol/groups/consumer.ts';

/** Kafka's numbers for where a member stands with its target. */
export const MemberState = {
  /** It has all that it is to have. */
  STABLE: 0,
  /** It has yet to give back what others are to have. */
  UNREVOKED_PARTITIONS: 1,
  /** It waits for partitions that others have not given back. */
  UNRELEASED_PARTITIONS: 2,
} as const;

/** The epoch of a member that leaves, or left. */
export const LEAVING_EPOCH = -1;
/** The epoch of a static member that is away and will be back. */
export const AWAY_EPOCH = -2;

/** Partitions by topic id, each with the epoch of the member in which it was given. No map in it is empty. */
export type OwnedPartitions = ReadonlyMap<string, ReadonlyMap<number, number>>;

/** No partitions. */
export const OWNS_NOTHING: OwnedPartitions = new Map();

/** What is kept of a member that speaks the classic protocol. */
export type ClassicPart = NonNullable<ConsumerGroupMemberMetadataValue['classicMemberMetadata']>;

/** A member. Never changed: another takes its place. */
export interface ConsumerMember {
  readonly memberId: string;
  readonly instanceId: string | null;
  readonly rackId: string | null;
  readonly clientId: string;
  readonly clientHost: string;
  /** Sorted, each once. */
  readonly subscribedTopicNames: readonly string[];
  /** Empty: none. */
  readonly subscribedTopicRegex: string;
  /** How long it may take to give partitions back; -1: not said. */
  readonly rebalanceTimeoutMs: number;
  readonly serverAssignor: string | null;
  /** Null: it speaks the consumer protocol. */
  readonly classic: ClassicPart | null;

  readonly memberEpoch: number;
  /** It may still say this one, if the answer with the last was lost. */
  readonly previousMemberEpoch: number;
  /** One of `MemberState`, or a number that a later Kafka wrote. */
  readonly state: number;
  readonly assigned: OwnedPartitions;
  /** What it has yet to give back. */
  readonly revoking: OwnedPartitions;
}

/** The topics that a regular expression means. */
export interface ResolvedRegex {
  /** Sorted. */
  readonly topics: readonly string[];
  /** The offset of the metadata that it was looked up in. */
  readonly version: number;
  /** Ms since 1970. */
  readonly timestampMs: number;
}

/** When the coordinator loses patience with a member, each in `nowMs`; Infinity: never. */
export interface MemberTimers {
  /** Nothing was heard of it. */
  sessionMs: number;
  /** It did not give back what it must. */
  rebalanceMs: number;
  /** Of the classic protocol: it was told to join again and did not. */
  joinMs: number;
  /** Of the classic protocol: it joined and did not fetch its assignment. */
  syncMs: number;
}

/** What of the metadata bears on groups. */
export interface SeenMetadata {
  readonly topics: TopicsImage;
  readonly brokers: ReadonlyMap<number, BrokerImage>;
}

/** What went into a hash of topics, by name: each with its own hash, in which are the racks of these brokers. */
export interface HashedTopics {
  readonly brokers: ReadonlyMap<number, BrokerImage> | null;
  readonly byName: ReadonlyMap<string, { readonly topic: TopicImage; readonly hash: number }>;
}

/** The group. */
export interface ConsumerGroup extends Timed {
  readonly kind: 'consumer';
  readonly groupId: string;
  epoch: number;
  /** Of the topics that members read, as they were when the epoch last grew. */
  metadataHash: number;
  readonly members: Map<string, ConsumerMember>;
  /** What each member is to have. */
  readonly targets: Map<string, PartitionsByTopic>;
  targetEpoch: number;
  /** When it was made, ms since 1970; 0: it may be made anew at once. */
  targetTimestampMs: number;
  readonly regexes: Map<string, ResolvedRegex>;
  /** A record of an older Kafka that the next new epoch removes. */
  hasPartitionMetadata: boolean;

  /** The id of each static member, by its instance id. */
  readonly staticMembers: Map<string, string>;
  /** The member that has each partition, by topic id and partition. */
  readonly owners: Map<string, Map<number, string>>;
  /** Members that speak the classic protocol. */
  classicCount: number;

  /** By member id. */
  readonly timers: Map<string, MemberTimers>;
  /** The metadata against which hash and expressions were last looked at; null: not since the group was loaded. */
  seen: SeenMetadata | null;
  /** When what expressions mean is looked up anew whatever changed, `nowMs`; Infinity: they were not looked up yet. */
  regexesDueMs: number;
  hashed: HashedTopics;
}

/** Of a group without members. A member's is never 0 for long, which would mean that it joins. */
const FIRST_EPOCH = 1;

/** A group that no record tells of yet. */
export function createConsumerGroup(groupId: string): ConsumerGroup {
  return {
    kind: 'consumer',
    groupId,
    deadlineMs: Number.POSITIVE_INFINITY,
    heapIndex: -1,
    epoch: FIRST_EPOCH,
    metadataHash: 0,
    members: new Map(),
    targets: new Map(),
    targetEpoch: 0,
    targetTimestampMs: 0,
    regexes: new Map(),
    hasPartitionMetadata: false,
    staticMembers: new Map(),
    owners: new Map(),
    classicCount: 0,
    timers: new Map(),
    seen: null,
    regexesDueMs: Number.POSITIVE_INFINITY,
    hashed: { brokers: null, byName: new Map() },
  };
}

/** A member of whom nothing is known but its id. */
export function createConsumerMember(memberId: string): ConsumerMember {
  return {
    memberId,
    instanceId: null,
    rackId: null,
    clientId: '',
    clientHost: '',
    subscribedTopicNames: [],
    subscribedTopicRegex: '',
    rebalanceTimeoutMs: -1,
    serverAssignor: null,
    classic: null,
    memberEpoch: 0,
    previousMemberEpoch: -1,
    state: MemberState.STABLE,
    assigned: OWNS_NOTHING,
    revoking: OWNS_NOTHING,
  };
}

/** The member of an instance id, or undefined. */
export function staticMember(group: ConsumerGroup, instanceId: string): ConsumerMember | undefined {
  const memberId = group.staticMembers.get(instanceId);
  return memberId === undefined ? undefined : group.members.get(memberId);
}

/** The member that has a partition, or undefined. */
export function ownerOf(group: ConsumerGroup, topicId: string, partition: number): string | undefined {
  return group.owners.get(topicId)?.get(partition);
}

/** Whether a member has all that it is to have by a target of `targetEpoch`. */
export function isReconciled(member: ConsumerMember, targetEpoch: number): boolean {
  return member.state === MemberState.STABLE && member.memberEpoch === targetEpoch;
}
