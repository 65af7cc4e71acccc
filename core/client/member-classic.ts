/**
 * A member of a classic group: it joins, learns what it owns, stays alive by heartbeats, and joins again when the group
 * or its owner wants that.
 *
 * A generation is made in two calls. JoinGroup waits until all members have said what they want; one of them leads,
 * shares the partitions out (`member-classic-calls.ts`) and sends that with its SyncGroup; everybody's SyncGroup brings
 * what it owns. Eagerly, everything owned is given up before JoinGroup. Cooperatively, it stays owned; what the new
 * assignment lacks is given up after SyncGroup, and the member joins once more so that it can go to another. The others
 * hear of that by a heartbeat: so the first ones of a generation follow each other sooner than by the interval.
 *
 * The owner's part: `memberDone` after each 'revoke', 'lost' and 'assign'; `notePoll` when it comes for records. If it
 * stays away for `max.poll.interval.ms` the member leaves, what it owned is lost, and it joins again at the next poll.
 * A static member (`group.instance.id`) never says that it leaves, unless it is removed on purpose; its session ends
 * it.
 *
 * Invariants: between a 'revoke' or 'lost' and its end no JoinGroup is sent; partitions are only ever owned between an
 * 'assign' and the next 'revoke' or 'lost' that names them; what is owned belongs to a generation that this member has
 * seen to its end. A crash loses all of it; the coordinator notices by the session.
 */
import { backoffMs } from '../channel/backoff.ts';
import { assert } from '../lib/assert.ts';
import type { Env, Outbox } from '../lib/world.ts';
import { ErrorCode, errorInfo } from '../protocol/errors.ts';
import { isCoordinatorUp, loseCoordinator } from './coordinator.ts';
import {
  callHeartbeat,
  callJoin,
  callLeave,
  callSync,
  isCooperative,
  knowsTopics,
  lookAround,
} from './member-classic-calls.ts';
import type { ClassicMember } from './member-classic-state.ts';
import { countOf, type Ground, type MemberEvent, type Membership, within, without } from './member-shapes.ts';

/** The longest wait between two attempts. */
const BACKOFF_MAX_MS = 1000;

/** Says which topics are wanted, sorted; another generation follows if they are others than before. */
export function wantTopics(member: ClassicMember, env: Env, topics: readonly string[]): void {
  member.topics = topics;
  if (member.phase === 'idle' || member.phase === 'failed') {
    member.phase = 'preparing';
    member.polledMs = Math.max(member.polledMs, env.nowMs);
    member.failures = 0;
    member.retryAtMs = 0;
  }
}

/** Wants another generation although nothing has changed: `enforceRebalance`. */
export function wantRejoin(member: ClassicMember, reason: string): void {
  member.needsRejoin = true;
  member.reason = reason;
}

/** The owner has come for records, or waits for some: then the time between polls does not run. */
export function notePoll(member: ClassicMember, env: Env, isWaiting: boolean): void {
  member.polledMs = isWaiting ? Number.POSITIVE_INFINITY : env.nowMs;
  if (member.phase === 'stalled') member.phase = 'preparing';
}

/** Who it is to the coordinator; null while it is in no generation. */
export function membershipOf(member: ClassicMember): Membership | null {
  if (member.generation < 0 || member.memberId === '') return null;
  const { memberId, generation, options } = member;
  return { memberId, generation, instanceId: options.instanceId, protocol: 'classic' };
}

/** Whether it is in the middle of making a generation, so that commits may be refused for a while. */
export function isRebalancing({ phase }: ClassicMember): boolean {
  return !(phase === 'stable' || phase === 'idle' || phase === 'failed');
}

/** The owner has done with what it was told last. */
export function memberDone(member: ClassicMember, events: MemberEvent[]): void {
  assert(member.awaits !== null, 'nothing was to be done');
  const { awaits } = member;
  member.awaits = null;
  // Nothing more of what is lost may be handed out.
  if (member.isOusted) tellLost(member, events);
  else if (member.phase === 'completing') {
    if (awaits === 'revoke') takeOver(member, events);
    else if (awaits === 'assign') member.phase = 'stable';
  }
}

/**
 * Wants no membership any more: everything is given up, then the group is left, as far as it is joined and may be told;
 * ends with 'left'. `isRemoved`: a static member gives up its place too.
 */
export function wantNothing(member: ClassicMember, env: Env, timeoutMs: number, isRemoved: boolean): void {
  if (member.topics === null) return;
  member.topics = null;
  member.isRemoved = isRemoved;
  member.leaveUntilMs = env.nowMs + timeoutMs;
  member.needsRejoin = false;
  member.call = 0;
  if (member.phase !== 'leaving') member.phase = 'preparing';
}

/** Everything was given up: the group is told, if it may be. */
function startLeaving(member: ClassicMember, env: Env): void {
  const saysSo = member.memberId !== '' && (member.options.instanceId === null || member.isRemoved);
  if (!saysSo) member.leaveUntilMs = env.nowMs;
  member.phase = 'leaving';
  member.reason = 'the consumer is being closed';
  member.heartbeat = 0;
}

/** The membership is gone, whoever has taken it: what is owned is lost, and the member joins anew. */
export function oust(member: ClassicMember, keepsId: boolean): void {
  if (!keepsId) member.memberId = '';
  member.generation = -1;
  member.protocol = '';
  member.isLeader = false;
  member.told = [];
  member.call = 0;
  member.heartbeat = 0;
  member.isOusted = true;
  member.needsRejoin = false;
  if (member.phase !== 'stalled') member.phase = 'preparing';
}

/** Tries again later, where it is. */
export function tryLater(member: ClassicMember, ground: Ground, env: Env): void {
  member.failures += 1;
  const { retryBackoffMs } = member.options;
  const waitMs = backoffMs(ground.coordinator.channel, member.failures, retryBackoffMs, BACKOFF_MAX_MS);
  member.retryAtMs = env.nowMs + waitMs;
}

/** Gives up for good: what is owned is lost, and the owner must want something anew. */
export function failMember(member: ClassicMember, error: number, message: string | null, events: MemberEvent[]): void {
  oust(member, false);
  member.phase = 'failed';
  events.push({ kind: 'failed', error, message: message ?? errorInfo(error).message });
}

/** Takes what a generation gives: first what is no longer owned is given up, then the rest is. */
export function complete(member: ClassicMember, events: MemberEvent[]): void {
  member.phase = 'completing';
  member.failures = 0;
  const gone = without(member.owned, member.next);
  if (gone.length === 0) {
    takeOver(member, events);
    return;
  }
  // Another may have it only in a generation that follows this.
  wantRejoin(member, 'partitions were given up');
  member.owned = without(member.owned, gone);
  member.awaits = 'revoke';
  events.push({ kind: 'revoke', partitions: gone });
}

function takeOver(member: ClassicMember, events: MemberEvent[]): void {
  const added = without(member.next, member.owned);
  const { memberId, generation } = member;
  member.owned = member.next;
  member.ownedGeneration = generation;
  member.previous = member.next;
  member.previousGeneration = generation;
  member.next = [];
  member.awaits = 'assign';
  events.push({ kind: 'assign', partitions: added, memberId, generation });
}

/** Does all that can be done now. Called at the end of every step of the owner. */
export function driveClassic(
  member: ClassicMember,
  ground: Ground,
  env: Env,
  out: Outbox,
  events: MemberEvent[],
): void {
  if (member.phase === 'leaving') driveLeaving(member, ground, env, out, events);
  const { phase } = member;
  if (phase === 'idle' || phase === 'leaving') return;
  if (member.isOusted && member.awaits === null) tellLost(member, events);
  if (member.topics === null) {
    giveUpAll(member, env, events);
    if (member.phase === 'leaving') driveLeaving(member, ground, env, out, events);
    else beat(member, ground, env, out);
    return;
  }
  if (phase === 'failed') return;
  if (phase !== 'stalled' && env.nowMs >= member.polledMs + member.options.maxPollIntervalMs) {
    stall(member, ground, env, out);
    if (member.awaits === null) tellLost(member, events);
  }
  if (member.awaits === null) advance(member, ground, env, out, events);
  beat(member, ground, env, out);
}

/** What was owned is lost: the owner is told before anything else happens. */
function tellLost(member: ClassicMember, events: MemberEvent[]): void {
  member.isOusted = false;
  const lost = member.owned;
  member.owned = [];
  member.ownedGeneration = -1;
  member.next = [];
  if (lost.length === 0) return;
  member.awaits = 'lost';
  events.push({ kind: 'lost', partitions: lost });
}

function advance(member: ClassicMember, ground: Ground, env: Env, out: Outbox, events: MemberEvent[]): void {
  if (member.phase === 'stable') {
    lookForReasons(member, ground);
    if (member.needsRejoin) member.phase = 'preparing';
  }
  if (member.phase === 'preparing') prepare(member, env, events);
  if (member.awaits !== null || member.call !== 0 || member.retryAtMs > env.nowMs) return;
  if (member.phase === 'joining') member.call = called(member, callJoin(member, ground, env, out), events);
  if (member.phase === 'assigning' && knowsTopics(member, ground.cluster)) member.phase = 'syncing';
  if (member.phase === 'syncing' && member.call === 0) {
    member.call = called(member, callSync(member, ground, env, out), events);
    if (member.call !== 0 && member.isLeader) member.seen = lookAround(member, ground.cluster);
  }
}

function called(member: ClassicMember, ticket: number, events: MemberEvent[]): number {
  if (ticket >= 0) return ticket;
  failMember(member, ErrorCode.UNSUPPORTED_VERSION, null, events);
  return 0;
}

/** Other topics than the generation was made for, or a leader that sees other partitions than it shared out. */
function lookForReasons(member: ClassicMember, { cluster }: Ground): void {
  if (member.needsRejoin) return;
  if (!areSame(member.topics ?? [], member.joinedTopics)) wantRejoin(member, 'the subscription has changed');
  if (!member.isLeader || member.seenRefreshes === cluster.refreshes) return;
  member.seenRefreshes = cluster.refreshes;
  const now = lookAround(member, cluster);
  for (const [topic, what] of now) {
    if (member.seen.get(topic) !== what) wantRejoin(member, 'partitions or racks have changed');
  }
}

function areSame(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((topic, index) => topic === b[index]);
}

/** Before it leaves, the owner is told once. */
function giveUpAll(member: ClassicMember, env: Env, events: MemberEvent[]): void {
  if (member.awaits !== null) return;
  const gone = member.owned;
  member.owned = [];
  if (countOf(gone) === 0) {
    startLeaving(member, env);
    return;
  }
  member.awaits = 'revoke';
  events.push({ kind: 'revoke', partitions: gone });
}

/** Gives up what has to be given up before JoinGroup. */
function prepare(member: ClassicMember, env: Env, events: MemberEvent[]): void {
  const kept = isCooperative(member) ? within(member.owned, member.topics ?? []) : [];
  const gone = without(member.owned, kept);
  if (gone.length === 0) {
    startJoining(member, env);
    return;
  }
  member.owned = kept;
  member.awaits = 'revoke';
  events.push({ kind: 'revoke', partitions: gone });
}

function startJoining(member: ClassicMember, env: Env): void {
  member.needsRejoin = false;
  member.phase = 'joining';
  if (member.heardMs === 0) member.heardMs = env.nowMs;
}

/** The owner has stayed away for too long: others may have its partitions. */
function stall(member: ClassicMember, ground: Ground, env: Env, out: Outbox): void {
  env.reached('member.stalled');
  if (member.options.instanceId === null && member.memberId !== '') {
    callLeave(member, ground, env, 'the owner has not polled in time', out);
  }
  member.phase = 'stalled';
  oust(member, false);
}

function mayBeat({ phase, generation }: ClassicMember): boolean {
  const isFree = phase === 'stable' || phase === 'completing' || phase === 'preparing' || phase === 'assigning';
  return isFree && generation >= 0;
}

/** Heartbeats, while a generation lasts and no call stands in their way. */
function beat(member: ClassicMember, ground: Ground, env: Env, out: Outbox): void {
  const { generation, options } = member;
  if (!mayBeat(member) || member.heartbeat !== 0) return;
  if (env.nowMs >= member.heardMs + options.sessionTimeoutMs) {
    member.heardMs = env.nowMs;
    loseCoordinator(ground.coordinator, env);
  }
  if (env.nowMs < member.heartbeatAtMs) return;
  const ticket = callHeartbeat(member, ground, env, out);
  if (ticket <= 0) return;
  member.heartbeat = ticket;
  member.heartbeatGeneration = generation;
  member.paceMs = Math.min(2 * member.paceMs, options.heartbeatIntervalMs);
  member.heartbeatAtMs = env.nowMs + member.paceMs;
}

function driveLeaving(member: ClassicMember, ground: Ground, env: Env, out: Outbox, events: MemberEvent[]): void {
  if (env.nowMs >= member.leaveUntilMs) left(member, events);
  else if (member.call === 0 && isCoordinatorUp(ground.coordinator) && member.retryAtMs <= env.nowMs) {
    member.call = callLeave(member, ground, env, member.reason, out);
    if (member.call < 0) left(member, events);
  }
}

/** It is out of the group. */
export function left(member: ClassicMember, events: MemberEvent[]): void {
  member.phase = member.topics === null ? 'idle' : 'preparing';
  member.call = 0;
  member.retryAtMs = 0;
  member.generation = -1;
  member.memberId = '';
  member.protocol = '';
  member.isOusted = false;
  events.push({ kind: 'left' });
}

/** When the member next wants a 'wake', given that all that was possible at `drivenAtMs` has been done. */
export function classicDeadlineMs(member: ClassicMember, drivenAtMs: number): number {
  const { phase, options } = member;
  if (phase === 'idle' || phase === 'failed') return Number.POSITIVE_INFINITY;
  if (phase === 'leaving') return member.leaveUntilMs;
  let deadlineMs = phase === 'stalled' ? Number.POSITIVE_INFINITY : member.polledMs + options.maxPollIntervalMs;
  if (member.retryAtMs > drivenAtMs) deadlineMs = Math.min(deadlineMs, member.retryAtMs);
  if (mayBeat(member) && member.heartbeat === 0) {
    if (member.heartbeatAtMs > drivenAtMs) deadlineMs = Math.min(deadlineMs, member.heartbeatAtMs);
    deadlineMs = Math.min(deadlineMs, Math.max(drivenAtMs + 1, member.heardMs + options.sessionTimeoutMs));
  }
  return deadlineMs;
}

/** True between any two steps. */
export function checkClassic(member: ClassicMember): void {
  const { phase, call, generation, owned, awaits } = member;
  const isCalling = phase === 'joining' || phase === 'syncing' || phase === 'leaving';
  assert(call === 0 || isCalling, 'a member awaits an answer that it has no use for');
  assert(awaits !== 'revoke' || phase !== 'joining', 'a member joins before it has given up what it must');
  assert(phase !== 'stable' || generation >= 0, 'a member is stable in no generation');
  assert(phase !== 'idle' || countOf(owned) === 0, 'a member owns partitions and wants none');
}
