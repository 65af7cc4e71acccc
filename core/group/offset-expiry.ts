/**
 * Offsets that go without being asked: those of an age, those of topics that are gone; and groups with nothing left.
 *
 * How old an offset is depends on its group, as in Kafka: in a group that has become empty the time begins then, for
 * all offsets; in a stable group of consumers offsets of topics that nobody reads any more age since their commit, and
 * so do those of a group that only keeps offsets; while a group rebalances nothing ages. A round looks at a bounded
 * number of groups and offsets a tick, so that none of them takes long. A crash forgets the round.
 */
import { ZERO_UUID } from '../lib/uuid.ts';
import { topicById, topicByName } from '../metadata/image.ts';
import { CONSUMER_PROTOCOL_TYPE } from '../protocol/consumer-protocol.ts';
import type { GroupRecord } from '../protocol/group-records.ts';
import { consumerTombstones } from './consumer.ts';
import { readsOf } from './offset-fetch.ts';
import { tombstone } from './records.ts';
import type { DeletedTopics, GroupWork } from './shapes.ts';
import type { CommittedOffset, Group, GroupState } from './state.ts';

/** Offsets and groups that one tick looks at, about. */
const LOOKS_MAX = 2_000;
/** Topics that went whose ids are kept for the next round; of more the image tells. */
const DELETED_MAX = 10_000;

/** Topics are gone, and with them their offsets, in all groups: a round begins, at once or after the one under way. */
export function forgetTopics(state: GroupState, work: GroupWork, topics: DeletedTopics): void {
  const isFew = topics !== null && state.deletedTopics.length + topics.length <= DELETED_MAX;
  if (isFew) for (const topic of topics) state.deletedTopics.push(topic);
  state.isRoundDue = true;
  if (state.expiring.length === 0) expireOffsets(state, work);
}

/** The time of expiry has come: begins a round or goes on with it. */
export function expireOffsets(state: GroupState, work: GroupWork): void {
  work.isAtomic = false;
  if (state.expiring.length === 0) beginRound(state);
  let looks = 0;
  for (let groupId = state.expiring.pop(); groupId !== undefined; groupId = state.expiring.pop()) {
    const group = state.groups.get(groupId);
    if (group !== undefined) looks += expireGroup(state, work, group);
    if (looks >= LOOKS_MAX) break;
  }
  const isMoreDue = state.expiring.length > 0 || state.isRoundDue;
  const intervalMs = isMoreDue ? 0 : state.config.offsetsRetentionCheckIntervalMs;
  state.expiryDeadlineMs = work.nowMs + intervalMs;
}

function beginRound(state: GroupState): void {
  const { groups, expiring, deletedTopics, goneTopics } = state;
  state.isRoundDue = false;
  for (const groupId of groups.keys()) expiring.push(groupId);
  expiring.reverse();
  goneTopics.clear();
  for (const { name, id } of deletedTopics.splice(0)) {
    const ids = goneTopics.get(name);
    if (ids === undefined) goneTopics.set(name, new Set([id]));
    else ids.add(id);
  }
}

/** Expires offsets of a group, and the group if it has none left and no members. How much was looked at. */
function expireGroup(state: GroupState, work: GroupWork, group: Group): number {
  const { groupId } = group;
  let looks = 1;
  let isAnyLeft = false;
  const reads = readsOf(group);
  for (const [topic, partitions] of state.offsets.get(groupId) ?? []) {
    const isRead = reads(topic);
    for (const [partition, offset] of partitions) {
      looks += 1;
      if (isOfGone(state, work, topic, offset) || (!isRead && isExpired(state, work, group, offset))) {
        work.records.push(tombstone('OffsetCommit', { group: groupId, topic, partition }));
      } else {
        isAnyLeft = true;
      }
    }
  }
  if (!isAnyLeft && isDeletable(group)) work.records.push(...groupTombstones(group));
  return looks;
}

/**
 * Whether an offset is of a topic that is gone. The coordinator is told of those that go while it is here. Of others
 * the metadata tells: a coordinator knows of every topic for which one before it took a commit.
 */
function isOfGone({ goneTopics }: GroupState, { image }: GroupWork, topic: string, offset: CommittedOffset): boolean {
  const { topicId } = offset;
  if (topicId === ZERO_UUID) return goneTopics.has(topic) || topicByName(image, topic) === undefined;
  // A newer topic of the name may have offsets before we hear of the end of the older one.
  return topicById(image, topicId) === undefined || goneTopics.get(topic)?.has(topicId) === true;
}

/** Nobody is in the group, and nobody was given an id to come with. */
function isDeletable(group: Group): boolean {
  if (group.kind === 'consumer') return group.members.size === 0;
  return group.state === 'Empty' && group.pendingMembers.size === 0;
}

/** What removes the records of a group, without its offsets. */
export function groupTombstones(group: Group): GroupRecord[] {
  if (group.kind === 'consumer') return consumerTombstones(group);
  return [tombstone('GroupMetadata', { group: group.groupId })];
}

function isExpired(state: GroupState, work: GroupWork, group: Group, offset: CommittedOffset): boolean {
  const sinceMs = agesSinceMs(group, offset);
  if (sinceMs === null) return false;
  // Old clients said themselves how long their offsets are kept.
  if (offset.expireTimestampMs !== -1) return work.wallMs >= offset.expireTimestampMs;
  return work.wallMs - sinceMs >= state.config.offsetsRetentionMs;
}

/** Since when an offset of the group grows old, ms since 1970; null: it does not. */
function agesSinceMs(group: Group, offset: CommittedOffset): number | null {
  const { commitTimestampMs } = offset;
  if (group.kind === 'consumer' || group.protocolType === '') return commitTimestampMs;
  if (group.state === 'Empty') return group.stateTimestampMs === -1 ? commitTimestampMs : group.stateTimestampMs;
  const isAware = group.protocolType === CONSUMER_PROTOCOL_TYPE && group.subscribedTopics !== null;
  return isAware && group.state === 'Stable' ? commitTimestampMs : null;
}
