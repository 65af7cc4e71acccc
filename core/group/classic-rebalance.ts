/**
 * How a classic group gets from one generation to the next, and what time does to it.
 *
 * A rebalance is prepared when somebody joins, leaves or goes silent; it ends when all members have joined again or
 * had their time, with a new generation whose leader makes the assignment. Members that were to join and did not are
 * removed; static ones stay until their session ends. An empty group gathers its first members for a while before its
 * first generation. Members of a generation that do not ask for their assignment in time are removed, too, so that none
 * can hold the others up.
 *
 * Invariant: every group that waits for anything has a deadline in the heap that is not later than it.
 */
import { setDeadline } from '../lib/heap.ts';
import { ErrorCode } from '../protocol/errors.ts';
import { answerJoin, answerSync, joinedAs, joinRefused, syncRefused } from './classic-answers.ts';
import {
  type ClassicGroup,
  type ClassicMember,
  type ClassicState,
  hasAllJoined,
  isGathering,
  NO_BYTES,
  rebalanceTimeoutMs,
  removeMember,
  selectProtocol,
} from './classic-group.ts';
import { generationRecord, subscribedTopicsOf } from './classic-written.ts';
import type { GroupWork } from './shapes.ts';
import type { GroupState } from './state.ts';

/** While nobody joins, this much time passes between two looks at least, ms: members may give themselves none. */
const JOIN_RETRY_MIN_MS = 500;

/** Sees to it that the group is looked at by then at the latest. */
export function wakeBy(state: GroupState, group: ClassicGroup, atMs: number): void {
  if (atMs < group.deadlineMs) setDeadline(state.deadlines, group, atMs);
}

/** The member was heard of: its session begins anew, or what else it has. */
export function touch(
  state: GroupState,
  work: GroupWork,
  group: ClassicGroup,
  member: ClassicMember,
  timeoutMs: number = member.sessionTimeoutMs,
): void {
  member.sessionDeadlineMs = work.nowMs + timeoutMs;
  wakeBy(state, group, member.sessionDeadlineMs);
}

function enter(work: GroupWork, group: ClassicGroup, to: ClassicState): void {
  group.state = to;
  group.stateTimestampMs = work.wallMs;
}

/** The leader's assignment holds. */
export function stabilize(work: GroupWork, group: ClassicGroup): void {
  enter(work, group, 'Stable');
}

/** Takes back what was assigned and answers those who wait for it with an error. */
export function failSync(state: GroupState, work: GroupWork, group: ClassicGroup, errorCode: number): void {
  for (const member of group.members.values()) {
    member.assignment = NO_BYTES;
    if (answerSync(work, member, syncRefused(errorCode))) touch(state, work, group, member);
  }
}

/** Something has changed: begins a rebalance, or ends one that waited for just that. */
export function rebalanceOrComplete(state: GroupState, work: GroupWork, group: ClassicGroup): void {
  if (group.state !== 'PreparingRebalance') prepareRebalance(state, work, group);
  else completeIfAllJoined(state, work, group);
}

/** Begins a rebalance. Not while one is being prepared. */
export function prepareRebalance(state: GroupState, work: GroupWork, group: ClassicGroup): void {
  if (group.state === 'CompletingRebalance') failSync(state, work, group, ErrorCode.REBALANCE_IN_PROGRESS);
  group.pendingSync.clear();
  group.syncDeadlineMs = Number.POSITIVE_INFINITY;
  const isInitial = group.state === 'Empty';
  enter(work, group, 'PreparingRebalance');
  if (isInitial) {
    const delayMs = state.config.initialRebalanceDelayMs;
    const remainingMs = Math.max(rebalanceTimeoutMs(group) - delayMs, 0);
    group.gathering = { delayMs, remainingMs, hasNewMember: false };
    joinBy(state, group, work.nowMs + delayMs);
  } else if (hasAllJoined(group)) {
    completeJoin(state, work, group);
  } else {
    joinBy(state, group, work.nowMs + rebalanceTimeoutMs(group));
  }
}

function joinBy(state: GroupState, group: ClassicGroup, atMs: number): void {
  group.joinDeadlineMs = atMs;
  wakeBy(state, group, atMs);
}

/** Ends a rebalance if nobody is left to wait for; not while an empty group gathers its first members. */
export function completeIfAllJoined(state: GroupState, work: GroupWork, group: ClassicGroup): void {
  if (group.state === 'PreparingRebalance' && !isGathering(group) && hasAllJoined(group)) {
    completeJoin(state, work, group);
  }
}

/** Ends a rebalance: those who joined are the next generation, with those static members who may come yet. */
function completeJoin(state: GroupState, work: GroupWork, group: ClassicGroup): void {
  for (const member of [...group.members.values()]) {
    if (member.joinWaiter < 0 && member.groupInstanceId === null) removeMember(group, member.memberId);
  }
  if (group.members.size > 0 && !electJoinedLeader(group)) {
    // Only static members are left, and none has come: their sessions end, or one comes.
    joinBy(state, group, work.nowMs + Math.max(rebalanceTimeoutMs(group), JOIN_RETRY_MIN_MS));
    return;
  }
  group.joinDeadlineMs = Number.POSITIVE_INFINITY;
  group.gathering = null;
  group.generation += 1;
  group.pendingSync.clear();
  group.protocolName = group.members.size > 0 ? selectProtocol(group) : null;
  group.subscribedTopics = subscribedTopicsOf(group);
  enter(work, group, group.members.size > 0 ? 'CompletingRebalance' : 'Empty');
  if (group.members.size === 0) {
    work.records.push(generationRecord(group, () => NO_BYTES));
    return;
  }
  for (const member of group.members.values()) {
    answerJoin(work, group, member, joinedAs(group, member.memberId));
    member.isNew = false;
    touch(state, work, group, member);
    group.pendingSync.add(member.memberId);
  }
  group.syncDeadlineMs = work.nowMs + rebalanceTimeoutMs(group);
  wakeBy(state, group, group.syncDeadlineMs);
}

/** A leader that has joined: the one there is, or else the first member that has. False if none has. */
function electJoinedLeader(group: ClassicGroup): boolean {
  const leader = group.members.get(group.leaderId ?? '');
  if (leader !== undefined && leader.joinWaiter >= 0) return true;
  for (const member of group.members.values()) {
    if (member.joinWaiter < 0) continue;
    group.leaderId = member.memberId;
    return true;
  }
  return false;
}

/** The member goes, and those who wait for it are told that it is not known. The group is not rebalanced yet. */
export function dropMember(work: GroupWork, group: ClassicGroup, member: ClassicMember): void {
  answerJoin(work, group, member, joinRefused(ErrorCode.UNKNOWN_MEMBER_ID, ''));
  answerSync(work, member, syncRefused(ErrorCode.UNKNOWN_MEMBER_ID));
  removeMember(group, member.memberId);
}

/** The group's deadline has come, or might have. Sets the next one. */
export function tickClassicGroup(state: GroupState, work: GroupWork, group: ClassicGroup): void {
  for (const [memberId, lapsesMs] of [...group.pendingMembers]) {
    if (lapsesMs > work.nowMs) continue;
    removeMember(group, memberId);
    completeAfterLoss(state, work, group);
  }
  for (const member of [...group.members.values()]) {
    if (member.sessionDeadlineMs <= work.nowMs) endSession(state, work, group, member);
  }
  if (group.state === 'PreparingRebalance' && group.joinDeadlineMs <= work.nowMs) endJoin(state, work, group);
  if (group.syncDeadlineMs <= work.nowMs) endSync(state, work, group);
  setDeadline(state.deadlines, group, nextDeadlineMs(group));
}

function nextDeadlineMs(group: ClassicGroup): number {
  let atMs = Math.min(group.joinDeadlineMs, group.syncDeadlineMs);
  for (const lapsesMs of group.pendingMembers.values()) atMs = Math.min(atMs, lapsesMs);
  for (const member of group.members.values()) atMs = Math.min(atMs, member.sessionDeadlineMs);
  return atMs;
}

/** A rebalance that waited only for what is gone ends, even one of a group that gathers. */
function completeAfterLoss(state: GroupState, work: GroupWork, group: ClassicGroup): void {
  if (group.state === 'PreparingRebalance' && hasAllJoined(group)) completeJoin(state, work, group);
}

function endSession(state: GroupState, work: GroupWork, group: ClassicGroup, member: ClassicMember): void {
  // It may have gone with a member before it.
  if (group.members.get(member.memberId) !== member || member.sessionDeadlineMs > work.nowMs) return;
  if (!member.isNew && (member.joinWaiter >= 0 || member.syncWaiter >= 0)) {
    // It waits for us. Its session begins anew with the answer.
    member.sessionDeadlineMs = Number.POSITIVE_INFINITY;
    return;
  }
  dropMember(work, group, member);
  if (group.state === 'PreparingRebalance') completeAfterLoss(state, work, group);
  else prepareRebalance(state, work, group);
}

function endJoin(state: GroupState, work: GroupWork, group: ClassicGroup): void {
  const { gathering } = group;
  if (gathering === null || !gathering.hasNewMember || gathering.remainingMs === 0) {
    completeJoin(state, work, group);
    return;
  }
  const delayMs = Math.min(state.config.initialRebalanceDelayMs, gathering.remainingMs);
  const remainingMs = Math.max(gathering.remainingMs - gathering.delayMs, 0);
  group.gathering = { delayMs, remainingMs, hasNewMember: false };
  joinBy(state, group, work.nowMs + delayMs);
}

function endSync(state: GroupState, work: GroupWork, group: ClassicGroup): void {
  group.syncDeadlineMs = Number.POSITIVE_INFINITY;
  const late = [...group.pendingSync];
  if (late.length === 0 || group.state === 'Empty' || group.state === 'PreparingRebalance') return;
  for (const memberId of late) {
    const member = group.members.get(memberId);
    if (member !== undefined) dropMember(work, group, member);
  }
  prepareRebalance(state, work, group);
}

/**
 * The coordinator has just loaded the group: sessions begin. One that is too large is rebalanced, and one that nobody
 * has led: it was of the consumer protocol until then, and its members have what they had there.
 */
export function activateClassicGroup(state: GroupState, work: GroupWork, group: ClassicGroup): void {
  for (const member of group.members.values()) touch(state, work, group, member);
  const isUnled = group.members.size > 0 && group.written?.leader === null;
  if (isUnled || group.members.size > state.config.sizeMax) prepareRebalance(state, work, group);
}
