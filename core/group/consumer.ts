/**
 * Groups of the consumer protocol (KIP-848), as the rest of the coordinator sees them: the door to consumer-*.ts.
 *
 * Everything of a group that is in a record is changed by `replayConsumerRecord` alone; sessions, rebalance time-outs
 * and whoever waits are soft.
 */
import type { GroupRecord } from '../protocol/group-records.ts';
import { described, describedMissing } from './consumer-describe.ts';
import { groupTombstones } from './consumer-records.ts';
import type { ConsumerGroup } from './consumer-state.ts';
import type { GroupAnswerBodies, GroupWork } from './shapes.ts';
import type { GroupState } from './state.ts';

export { checkConsumerGroup } from './consumer-check.ts';
export {
  heartbeatConsumerGroup,
  joinConsumerGroup,
  leaveConsumerGroup,
  syncConsumerGroup,
} from './consumer-classic.ts';
export { consumerCommitError, consumerFetchError, consumerPartitionCommitError } from './consumer-commit.ts';
export { consumerState } from './consumer-describe.ts';
export { consumerGroupHeartbeat } from './consumer-heartbeat.ts';
export { replayConsumerRecord } from './consumer-replay.ts';
export { isSameConsumerGroup } from './consumer-same.ts';
export { activateConsumerGroup, tickConsumerGroup } from './consumer-sessions.ts';
export type { ConsumerGroup } from './consumer-state.ts';

/** Records about consumer groups. */
export type ConsumerRecord = Extract<GroupRecord, { readonly kind: `Consumer${string}` }>;

/** One group of ConsumerGroupDescribe; `group` is null where there is none of the kind. */
export function consumerGroupDescribe(
  state: GroupState,
  work: GroupWork,
  groupId: string,
  group: ConsumerGroup | null,
): GroupAnswerBodies['consumerGroupDescribe'] {
  return group === null ? describedMissing(groupId) : described(state.config, work.image, group);
}

/** Topics changed: groups that read any of them see that at their next heartbeat, by the image that comes with it. */
export function consumerImageChanged(_state: GroupState, _work: GroupWork, _group: ConsumerGroup): void {}

/** Whether any member reads the topic. */
export function consumerSubscribes(group: ConsumerGroup, topic: string): boolean {
  for (const { subscribedTopicNames, subscribedTopicRegex } of group.members.values()) {
    if (subscribedTopicNames.includes(topic)) return true;
    if (group.regexes.get(subscribedTopicRegex)?.topics.includes(topic) === true) return true;
  }
  return false;
}

/** What removes the group's records, without its offsets. */
export function consumerTombstones(group: ConsumerGroup): GroupRecord[] {
  return groupTombstones(group, group.members.keys());
}
