/**
 * What goes into and comes out of the coordinator of groups: its types for `core/coordination`.
 *
 * One machine serves one partition of `__consumer_offsets`: all groups that hash to it. A request carries what the
 * machine may not make: the wall clock, fresh entropy, the metadata image of the moment. A call that must wait
 * (JoinGroup, SyncGroup) answers with an empty list, and the call or tick that completes it answers for all at once;
 * so "answered only once committed", which the host sees to, covers everybody.
 *
 * What the host promises:
 * - It asks whether there is room before it calls `handle`, never after: handling changes who waits and which timers
 *   run. Where a decision cannot be appended all the same, the machine is dropped and loaded again, as when an append
 *   fails.
 * - Whoever waits has a `waiter` of its own. When the machine is dropped, each that has no answer yet gets
 *   NOT_COORDINATOR from the host. An answer for a waiter that the host does not know any more is dropped.
 * - It sends a call `tick` at `groupDeadlineMs` (machine.ts), and `topicsDeleted` when topics went.
 */
import type { MetadataImage } from '../metadata/image.ts';
import type { GroupRecord, KeyedBytes } from '../protocol/group-records.ts';
import type { OffsetCommitRequest, OffsetCommitResponse } from '../protocol/messages/08-offset-commit.ts';
import type { OffsetFetchRequest, OffsetFetchResponse } from '../protocol/messages/09-offset-fetch.ts';
import type { JoinGroupRequest, JoinGroupResponse } from '../protocol/messages/11-join-group.ts';
import type { HeartbeatRequest, HeartbeatResponse } from '../protocol/messages/12-heartbeat.ts';
import type { LeaveGroupRequest, LeaveGroupResponse } from '../protocol/messages/13-leave-group.ts';
import type { SyncGroupRequest, SyncGroupResponse } from '../protocol/messages/14-sync-group.ts';
import type { DescribeGroupsResponse } from '../protocol/messages/15-describe-groups.ts';
import type { ListGroupsRequest, ListGroupsResponse } from '../protocol/messages/16-list-groups.ts';
import type { DeleteGroupsResponse } from '../protocol/messages/42-delete-groups.ts';
import type { OffsetDeleteRequest, OffsetDeleteResponse } from '../protocol/messages/47-offset-delete.ts';
import type {
  ConsumerGroupHeartbeatRequest,
  ConsumerGroupHeartbeatResponse,
} from '../protocol/messages/68-consumer-group-heartbeat.ts';
import type { ConsumerGroupDescribeResponse } from '../protocol/messages/69-consumer-group-describe.ts';
import type { ForeignRecord } from './records.ts';
import type { GroupState } from './state.ts';

/** What the operator decided about groups of the consumer protocol. Times in ms. */
export interface ConsumerConfig {
  /** group.consumer.session.timeout.ms and its bounds for a group's own setting. */
  readonly sessionTimeoutMs: number;
  readonly sessionTimeoutMinMs: number;
  readonly sessionTimeoutMaxMs: number;
  /** group.consumer.heartbeat.interval.ms and its bounds. */
  readonly heartbeatIntervalMs: number;
  readonly heartbeatIntervalMinMs: number;
  readonly heartbeatIntervalMaxMs: number;
  /** group.consumer.assignment.interval.ms and its bounds. */
  readonly assignmentIntervalMs: number;
  readonly assignmentIntervalMinMs: number;
  readonly assignmentIntervalMaxMs: number;
  /** group.consumer.max.size: members. */
  readonly sizeMax: number;
  /** group.consumer.assignors: names, the default first. */
  readonly assignors: readonly string[];
  /** group.consumer.migration.policy. */
  readonly migrationPolicy: 'disabled' | 'upgrade' | 'downgrade' | 'bidirectional';
  /** How old what a regular expression means may get before it is looked at again. */
  readonly regexRefreshIntervalMs: number;
}

/** What the operator decided. Times in ms. */
export interface GroupConfig {
  /** group.min.session.timeout.ms and group.max.session.timeout.ms. */
  readonly sessionTimeoutMinMs: number;
  readonly sessionTimeoutMaxMs: number;
  /** group.initial.rebalance.delay.ms. */
  readonly initialRebalanceDelayMs: number;
  /** group.max.size: members of a classic group. */
  readonly sizeMax: number;
  /** offset.metadata.max.bytes. */
  readonly offsetMetadataSizeMax: number;
  /** offsets.retention.minutes, in ms. */
  readonly offsetsRetentionMs: number;
  readonly offsetsRetentionCheckIntervalMs: number;
  /** The largest record that the log takes, key and value in bytes: the members of one generation lie in one. */
  readonly recordSizeMax: number;
  readonly consumer: ConsumerConfig;
}

/** Who called. */
export interface Client {
  readonly apiVersion: number;
  /** Empty where the client says none. */
  readonly clientId: string;
  /** As Kafka prints it: '/127.0.0.1'. */
  readonly clientHost: string;
}

/** Offsets of one group, as versions 8 and later ask for them; the host takes other versions apart. */
export type OffsetFetchGroup = OffsetFetchRequest['groups'][number] & { readonly requireStable: boolean };

/** What the machine is asked: a client's call, or the host's own. */
export type GroupCall =
  | ({ readonly kind: 'joinGroup'; readonly body: JoinGroupRequest } & Client)
  | ({ readonly kind: 'syncGroup'; readonly body: SyncGroupRequest } & Client)
  | ({ readonly kind: 'heartbeat'; readonly body: HeartbeatRequest } & Client)
  | ({ readonly kind: 'leaveGroup'; readonly body: LeaveGroupRequest } & Client)
  | ({ readonly kind: 'offsetCommit'; readonly body: OffsetCommitRequest } & Client)
  /** One group of the request. */
  | ({ readonly kind: 'offsetFetch'; readonly body: OffsetFetchGroup } & Client)
  | ({ readonly kind: 'offsetDelete'; readonly body: OffsetDeleteRequest } & Client)
  /** One group of DescribeGroups. */
  | ({ readonly kind: 'describeGroup'; readonly body: { readonly groupId: string } } & Client)
  | ({ readonly kind: 'listGroups'; readonly body: ListGroupsRequest } & Client)
  /** One group of DeleteGroups. */
  | ({ readonly kind: 'deleteGroup'; readonly body: { readonly groupId: string } } & Client)
  | ({ readonly kind: 'consumerGroupHeartbeat'; readonly body: ConsumerGroupHeartbeatRequest } & Client)
  /** One group of ConsumerGroupDescribe. */
  | ({ readonly kind: 'consumerGroupDescribe'; readonly body: { readonly groupId: string } } & Client)
  /** Topics went: nobody waits. */
  | { readonly kind: 'topicsDeleted'; readonly topics: DeletedTopics }
  /** `groupDeadlineMs` has come, or might have: nobody waits. */
  | { readonly kind: 'tick' };

/** Topics that are gone; null: more than anybody has counted, so that the image must say which are. */
export type DeletedTopics = readonly { readonly name: string; readonly id: string }[] | null;

/** The kind of a call. */
export type GroupCallKind = GroupCall['kind'];
/** A call of one kind. */
export type GroupCallOf<K extends GroupCallKind> = Extract<GroupCall, { readonly kind: K }>;

/** A regular expression that was understood: whether it means the whole of a name. */
export type TopicPattern = (topic: string) => boolean;

/** A call with what the machine may not make itself. */
export interface GroupRequest {
  /** Whoever waits for the answer; -1: nobody. */
  readonly waiter: number;
  /** Ms since 1970, for what is written. */
  readonly wallMs: number;
  /** Fresh entropy in a uuid's printed form, for a member's id. */
  readonly uuid: string;
  readonly image: MetadataImage;
  /** Understands a regular expression in RE2's syntax; null if it is none. Linear in the length of a name. */
  readonly compilePattern: (pattern: string) => TopicPattern | null;
  readonly call: GroupCall;
}

/** The body that answers each call of a client. */
export interface GroupAnswerBodies {
  readonly joinGroup: JoinGroupResponse;
  readonly syncGroup: SyncGroupResponse;
  readonly heartbeat: HeartbeatResponse;
  readonly leaveGroup: LeaveGroupResponse;
  readonly offsetCommit: OffsetCommitResponse;
  readonly offsetFetch: OffsetFetchResponse['groups'][number];
  readonly offsetDelete: OffsetDeleteResponse;
  readonly describeGroup: DescribeGroupsResponse['groups'][number];
  readonly listGroups: ListGroupsResponse;
  readonly deleteGroup: DeleteGroupsResponse['results'][number];
  readonly consumerGroupHeartbeat: ConsumerGroupHeartbeatResponse;
  readonly consumerGroupDescribe: ConsumerGroupDescribeResponse['groups'][number];
}

/** The calls that somebody waits for. */
export type ClientCallKind = keyof GroupAnswerBodies;

/** The body for one that waited; its call says which. */
export interface GroupAnswer {
  readonly waiter: number;
  readonly body: GroupAnswerBodies[ClientCallKind];
}

/** What a handler has at hand, and where it puts what it decides. Belongs to one call. */
export interface GroupWork {
  /** Monotonic, ms. */
  readonly nowMs: number;
  readonly wallMs: number;
  readonly uuid: string;
  readonly image: MetadataImage;
  readonly compilePattern: (pattern: string) => TopicPattern | null;
  /** To be appended, and replayed, when the handler is done. */
  readonly records: GroupRecord[];
  readonly answers: GroupAnswer[];
  /** Whether the records must be in one batch; a handler whose records stand each for itself says no. */
  isAtomic: boolean;
}

/** What a coordinator that becomes active goes by. */
export interface GroupBeginning {
  readonly config: GroupConfig;
  /** Of the moment: groups may have settings of their own. */
  readonly image: MetadataImage;
}

/** The types of the machine. */
export interface GroupShapes {
  readonly config: GroupBeginning;
  readonly state: GroupState;
  /** The state without sessions and timers. */
  readonly loading: GroupState;
  readonly request: GroupRequest;
  readonly record: GroupRecord | ForeignRecord;
  readonly entry: KeyedBytes;
  readonly response: readonly GroupAnswer[];
  /** Nobody follows a partition of groups but its coordinator. */
  readonly change: null;
  /** Nothing is made of a view: a coordinator loads its partition from the start. */
  readonly view: 'groups';
}
