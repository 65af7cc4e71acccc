/**
 * Groups of the consumer protocol (KIP-848), as the rest of the coordinator sees them: the door to consumer-*.ts.
 *
 * Everything of a group that is in a record is changed by `replayConsumerRecord` alone; sessions, rebalance time-outs
 * and whoever waits are soft.
 */
import type { GroupRecord } from '../protocol/group-records.ts';
import { described, describedMissing } from './consumer-describe.ts';
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
export { consumerTombstones } from './consumer-records.ts';
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

/** The topics that members read. */
export function consumerTopics(group: ConsumerGroup): ReadonlySet<string> {
  const topics = new Set<string>();
  const regexes = new Set<string>();
  for (const { subscribedTopicNames, subscribedTopicRegex } of group.members.values()) {
    for (const name of subscribedTopicNames) topics.add(name);
    regexes.add(subscribedTopicRegex);
  }
  for (const regex of regexes) for (const name of group.regexes.get(regex)?.topics ?? []) topics.add(name);
  return topics;
}
