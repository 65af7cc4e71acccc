/**
 * Time in consumer groups: members that are silent, or do not give back, join again or fetch in time, go.
 *
 * Each member has its deadlines; the group's place on the coordinator's heap is no later than the earliest. A heartbeat
 * moves a member's and leaves the group's alone: so it costs nothing, and a group wakes once in a session's length to
 * look at all of its members.
 */
import { setDeadline } from '../lib/heap.ts';
import { createDraft, timersOf, wakeBy } from './consumer-draft.ts';
import { fenceMembers } from './consumer-leave.ts';
import { sessionTimeoutMs } from './consumer-settings.ts';
import { type ConsumerGroup, type ConsumerMember, MemberState, type MemberTimers } from './consumer-state.ts';
import type { GroupWork } from './shapes.ts';
import type { GroupState } from './state.ts';

/** Bytes of a tombstone in a batch beside the ids in its key, at most. */
const FAREWELL_BYTES = 32;

/** All is loaded and this node leads: sessions and rebalance time-outs begin anew. */
export function activateConsumerGroup(state: GroupState, { nowMs, image }: GroupWork, group: ConsumerGroup): void {
  const sessionMs = sessionTimeoutMs(state.config, image, group.groupId);
  group.timers.clear();
  for (const member of group.members.values()) {
    const timers = timersOf(group, member.memberId);
    timers.sessionMs = nowMs + (member.classic?.sessionTimeoutMs ?? sessionMs);
    if (member.classic === null && member.state === MemberState.UNREVOKED_PARTITIONS) {
      timers.rebalanceMs = nowMs + member.rebalanceTimeoutMs;
    }
    wakeBy(state, group, earliest(timers));
  }
}

/**
 * The group's deadline has come, or might have: members that are silent or slow go, as many as one batch of the log
 * takes for certain; the others in the next tick. Sets the next deadline itself.
 */
export function tickConsumerGroup(state: GroupState, work: GroupWork, group: ConsumerGroup): void {
  const late: ConsumerMember[] = [];
  let leftBytes = state.config.recordSizeMax / 2;
  let nextMs = Number.POSITIVE_INFINITY;
  for (const [memberId, timers] of group.timers) {
    const deadlineMs = earliest(timers);
    const member = group.members.get(memberId);
    if (deadlineMs > work.nowMs) nextMs = Math.min(nextMs, deadlineMs);
    else if (member === undefined) group.timers.delete(memberId);
    else if (leftBytes <= 0) nextMs = work.nowMs + 1;
    else {
      leftBytes -= farewellBytes(group, member);
      late.push(member);
    }
  }
  setDeadline(state.deadlines, group, nextMs);
  fenceMembers(state, createDraft(state, work, group), late);
}

/** The bytes of the records that remove a member, at most; a character takes up to three. */
function farewellBytes({ groupId }: ConsumerGroup, { memberId }: ConsumerMember): number {
  return 3 * (FAREWELL_BYTES + 3 * (groupId.length + memberId.length));
}

function earliest({ sessionMs, rebalanceMs, joinMs, syncMs }: MemberTimers): number {
  return Math.min(sessionMs, rebalanceMs, joinMs, syncMs);
}
