/**
 * Groups of the consumer protocol (KIP-848), as the rest of the coordinator sees them: the door to consumer-*.ts.
 *
 * Everything of a group that is in a record is changed by `replayConsumerRecord` alone; sessions, rebalance time-outs
 * and whoever waits are soft.
 */
import type { Timed } from '../lib/heap.ts';
import { ErrorCode } from '../protocol/errors.ts';
import type { GroupRecord } from '../protocol/group-records.ts';
import type { ClassicGroup } from './classic-group.ts';
import type { GroupAnswerBodies, GroupCallOf, GroupWork } from './shapes.ts';
import type { GroupState } from './state.ts';

/** A group of the consumer protocol. */
export interface ConsumerGroup extends Timed {
  readonly kind: 'consumer';
  readonly groupId: string;
}

/** Records about consumer groups. */
export type ConsumerRecord = Extract<GroupRecord, { readonly kind: `Consumer${string}` }>;

/**
 * A record of the log, or one just appended: creates the group in `state.groups`, or takes the place of a classic
 * group that only keeps offsets. False if it does not fit what is there: the record is passed over.
 */
export function replayConsumerRecord(_state: GroupState, _record: ConsumerRecord): boolean {
  return false;
}

/** All is loaded and this node leads: sessions and rebalance time-outs begin anew. */
export function activateConsumerGroup(_state: GroupState, _group: ConsumerGroup, _nowMs: number): void {}

/** Whether two groups hold the same by their records. */
export function isSameConsumerGroup(_a: ConsumerGroup, _b: ConsumerGroup): boolean {
  return true;
}

/** ConsumerGroupHeartbeat, whatever the group is at the moment: absent, classic (upgrade) or consumer. */
export function consumerGroupHeartbeat(
  _state: GroupState,
  _work: GroupWork,
  _waiter: number,
  _call: GroupCallOf<'consumerGroupHeartbeat'>,
): void {}

/** One group of ConsumerGroupDescribe; `group` is null where there is none of the kind. */
export function consumerGroupDescribe(
  _work: GroupWork,
  groupId: string,
  _group: ConsumerGroup | null,
): GroupAnswerBodies['consumerGroupDescribe'] {
  return {
    errorCode: ErrorCode.GROUP_ID_NOT_FOUND,
    errorMessage: `Group ${groupId} not found.`,
    groupId,
    groupState: '',
    groupEpoch: 0,
    assignmentEpoch: 0,
    assignorName: '',
    members: [],
    authorizedOperations: -2147483648,
  };
}

/** The group's deadline has come, or might have: members that are silent or slow go. Sets the next one itself. */
export function tickConsumerGroup(_state: GroupState, _work: GroupWork, _group: ConsumerGroup): void {}

/** Topics changed: groups that read any of them look at them at their next heartbeat. */
export function consumerImageChanged(_state: GroupState, _work: GroupWork, _group: ConsumerGroup): void {}

/** The state, as it is described: 'Empty', 'Assigning', 'Reconciling' or 'Stable'. */
export function consumerState(_group: ConsumerGroup): string {
  return 'Empty';
}

/** Whether any member reads the topic. */
export function consumerSubscribes(_group: ConsumerGroup, _topic: string): boolean {
  return false;
}

/** What removes the group's records, without its offsets. */
export function consumerTombstones(_group: ConsumerGroup): GroupRecord[] {
  return [];
}

/**
 * Whether a member may commit offsets: NONE, or the error for every partition. `apiVersion` decides how a stale epoch
 * is called; classic members of the group commit with their generation.
 */
export function consumerCommitError(
  _group: ConsumerGroup,
  _work: GroupWork,
  _call: GroupCallOf<'offsetCommit'>,
): ErrorCode {
  return ErrorCode.NONE;
}

/** Whether a member may fetch offsets; -1 and no id: no member asks. */
export function consumerFetchError(_group: ConsumerGroup, _memberId: string | null, _memberEpoch: number): ErrorCode {
  return ErrorCode.NONE;
}

/** JoinGroup of a classic client in a consumer group. Answers by `work.answers`. */
export function joinConsumerGroup(
  _state: GroupState,
  _work: GroupWork,
  _waiter: number,
  _group: ConsumerGroup,
  _call: GroupCallOf<'joinGroup'>,
): void {}

/** SyncGroup of a classic client in a consumer group. */
export function syncConsumerGroup(
  _state: GroupState,
  _work: GroupWork,
  _waiter: number,
  _group: ConsumerGroup,
  _call: GroupCallOf<'syncGroup'>,
): void {}

/** Heartbeat of a classic client in a consumer group. */
export function heartbeatConsumerGroup(
  _state: GroupState,
  _work: GroupWork,
  _waiter: number,
  _group: ConsumerGroup,
  _call: GroupCallOf<'heartbeat'>,
): void {}

/** LeaveGroup of classic clients, or of static members by an operator, in a consumer group. */
export function leaveConsumerGroup(
  _state: GroupState,
  _work: GroupWork,
  _waiter: number,
  _group: ConsumerGroup,
  _call: GroupCallOf<'leaveGroup'>,
): void {}

/** A classic group that was made of a consumer group by a downgrade in the same call: see `GroupState.downgraded`. */
export type DowngradedGroup = ClassicGroup;
