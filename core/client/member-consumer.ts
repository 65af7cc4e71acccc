/**
 * A member of a group of the consumer protocol (KIP-848): the coordinator assigns, the member reconciles.
 *
 * All goes through one call, the heartbeat. With epoch 0 it joins; an answer brings its epoch, the interval, and a new
 * target when there is one. The member then gives up what the target lacks, takes what it adds, and says what it owns
 * with the next heartbeat, at once: only then will the coordinator give a partition to another. A request says no more
 * than what has changed since the last one that was answered; after a call that was lost it says everything again,
 * because the coordinator may have acted on it.
 *
 * A member that is fenced, or unknown, has lost everything and joins anew under the same member id. If its owner stays
 * away for `max.poll.interval.ms` it leaves, and joins again at the next poll. A static member keeps its place when it
 * leaves (epoch -2), unless it is removed.
 *
 * Invariants: partitions are only ever owned between an 'assign' and the 'revoke' or 'lost' that names them; `owned` is
 * never more than the coordinator gave under some epoch of this membership; one heartbeat is out at most. A crash loses
 * all of it; the coordinator notices by the session.
 */
import type { TopicPartitions } from '../assignors/client-shapes.ts';
import { backoffMs } from '../channel/backoff.ts';
import { assert } from '../lib/assert.ts';
import type { Env, Outbox } from '../lib/world.ts';
import { ErrorCode, errorInfo } from '../protocol/errors.ts';
import { addTopic, type Cluster, markStale } from './cluster.ts';
import { isCoordinatorUp } from './coordinator.ts';
import { callConsumerHeartbeat, JOINING_EPOCH, LEAVING_EPOCH, LEAVING_STATIC_EPOCH } from './member-consumer-calls.ts';
import { countOf, type Ground, type MemberEvent, type Membership, without } from './member-shapes.ts';
import { nameOfTopic } from './metadata.ts';

/** How a member behaves; all of it plain data, under Kafka's names. */
export interface ConsumerMemberOptions {
  /** Unique and fresh: a uuid in its printed form. */
  readonly memberId: string;
  /** `group.instance.id`; null for a dynamic member. */
  readonly instanceId: string | null;
  /** `client.rack`; null where it is not known. */
  readonly rack: string | null;
  /** `group.remote.assignor`; null for the coordinator's own choice. */
  readonly serverAssignor: string | null;
  /** `max.poll.interval.ms`: how long the owner may stay away, and how long it may take to give partitions up. */
  readonly maxPollIntervalMs: number;
  readonly retryBackoffMs: number;
}

/**
 * idle: wants nothing. joining: epoch 0. reconciling: has a target to work towards. stable: owns its target.
 * leaving, stalled, failed: as in the classic protocol.
 */
export type ConsumerPhase = 'idle' | 'joining' | 'reconciling' | 'stable' | 'leaving' | 'stalled' | 'failed';

/** What is wanted. */
export interface ConsumerWish {
  /** Sorted. */
  readonly topics: readonly string[];
  /** In RE2's syntax; null for none. */
  readonly pattern: string | null;
}

/** A target as the coordinator names it. */
export type Target = readonly { readonly topicId: string; readonly partitions: readonly number[] }[];

/** The state, plain data. */
export interface ConsumerMember {
  readonly options: ConsumerMemberOptions;
  phase: ConsumerPhase;
  /** Null for no membership. */
  wish: ConsumerWish | null;
  /** 0 outside of the group. */
  epoch: number;
  owned: readonly TopicPartitions[];
  /** What the owner is giving up: to the coordinator it is ours until that is done. */
  releasing: readonly TopicPartitions[];
  /** What the coordinator wants us to own; null for nothing new. */
  target: Target | null;
  /** The names of the target, as far as they are known, while it is being worked towards. */
  next: readonly TopicPartitions[];
  /** The ids of topics that are owned or to be owned, by name. */
  readonly ids: Map<string, string>;
  /** What the owner has been told and has not called done. */
  awaits: 'revoke' | 'lost' | 'assign' | null;
  /** The heartbeat that is out; 0 for none. */
  call: number;
  heartbeatAtMs: number;
  intervalMs: number;
  /** What the coordinator knows of us, by field; null: everything is to be said. */
  said: ReadonlyMap<string, string> | null;
  /** What the heartbeat that is out says. */
  saying: ReadonlyMap<string, string>;
  isOusted: boolean;
  /** What the owner is giving up is everything: to the coordinator it stays ours until we have left. */
  isParting: boolean;
  polledMs: number;
  failures: number;
  retryAtMs: number;
  leaveUntilMs: number;
  isRemoved: boolean;
  seenRefreshes: number;
}

const BACKOFF_MAX_MS = 1000;
/** Before the coordinator has said how often it wants to hear. */
const INTERVAL_MS = 5000;

/** A member that wants nothing yet. */
export function createConsumerMember(options: ConsumerMemberOptions): ConsumerMember {
  return {
    options,
    phase: 'idle',
    wish: null,
    epoch: JOINING_EPOCH,
    owned: [],
    releasing: [],
    target: null,
    next: [],
    ids: new Map(),
    awaits: null,
    call: 0,
    heartbeatAtMs: 0,
    intervalMs: INTERVAL_MS,
    said: null,
    saying: new Map(),
    isOusted: false,
    isParting: false,
    polledMs: 0,
    failures: 0,
    retryAtMs: 0,
    leaveUntilMs: 0,
    isRemoved: false,
    seenRefreshes: -1,
  };
}

/** Says what is wanted; the next heartbeat, at once, carries it. */
export function wishFor(member: ConsumerMember, env: Env, wish: ConsumerWish): void {
  member.wish = wish;
  member.heartbeatAtMs = env.nowMs;
  if (member.phase !== 'idle' && member.phase !== 'failed') return;
  member.phase = 'joining';
  member.polledMs = Math.max(member.polledMs, env.nowMs);
  member.failures = 0;
  member.retryAtMs = 0;
}

/** Wants no membership any more: everything is given up, then the group is left; ends with 'left'. */
export function wishForNothing(member: ConsumerMember, env: Env, timeoutMs: number, isRemoved: boolean): void {
  if (member.wish === null) return;
  member.wish = null;
  member.isRemoved = isRemoved;
  member.leaveUntilMs = env.nowMs + timeoutMs;
}

/** The owner has come for records, or waits for some: then the time between polls does not run. */
export function notePollOf(member: ConsumerMember, env: Env, isWaiting: boolean): void {
  member.polledMs = isWaiting ? Number.POSITIVE_INFINITY : env.nowMs;
  if (member.phase === 'stalled') member.phase = 'joining';
}

/** Who it is to the coordinator; null while it is in no epoch. */
export function membershipOfConsumer(member: ConsumerMember): Membership | null {
  if (member.epoch <= 0) return null;
  const { memberId, instanceId } = member.options;
  return { memberId, generation: member.epoch, instanceId, protocol: 'consumer' };
}

/** The owner has done with what it was told last. */
export function consumerMemberDone(member: ConsumerMember, env: Env, events: MemberEvent[]): void {
  assert(member.awaits !== null, 'nothing was to be done');
  const { awaits } = member;
  member.awaits = null;
  member.releasing = [];
  if (member.isParting && member.wish !== null) {
    // It wants to stay after all, and owns nothing any more: it joins as one that does.
    env.reached('member.stayed');
    oustConsumer(member);
  }
  member.isParting = false;
  // Nothing more of what is lost may be handed out.
  if (member.isOusted) tellLost(member, events);
  if (member.phase !== 'reconciling' || member.wish === null) return;
  if (awaits === 'revoke') takeAdded(member, events);
  else if (awaits === 'assign') settle(member, env);
}

/** The membership is gone: what is owned is lost, and the member joins anew. */
export function oustConsumer(member: ConsumerMember): void {
  member.epoch = JOINING_EPOCH;
  member.said = null;
  member.target = null;
  member.next = [];
  member.call = 0;
  member.isOusted = true;
  member.isParting = false;
  if (member.phase !== 'stalled') member.phase = 'joining';
}

/** Gives up for good: what is owned is lost, and the owner must wish for something anew. */
export function failConsumer(
  member: ConsumerMember,
  error: number,
  message: string | null,
  events: MemberEvent[],
): void {
  oustConsumer(member);
  member.phase = 'failed';
  events.push({ kind: 'failed', error, message: message ?? errorInfo(error).message });
}

/** Tries again later. */
export function tryConsumerLater(member: ConsumerMember, ground: Ground, env: Env): void {
  member.failures += 1;
  const { retryBackoffMs } = member.options;
  const waitMs = backoffMs(ground.coordinator.channel, member.failures, retryBackoffMs, BACKOFF_MAX_MS);
  member.retryAtMs = env.nowMs + waitMs;
  member.heartbeatAtMs = member.retryAtMs;
}

/** Does all that can be done now. Called at the end of every step of the owner. */
export function driveConsumerMember(
  member: ConsumerMember,
  ground: Ground,
  env: Env,
  out: Outbox,
  events: MemberEvent[],
): void {
  if (member.phase === 'idle') return;
  if (member.isOusted && member.awaits === null) tellLost(member, events);
  if (member.wish === null) {
    giveUpAll(member, env, events);
  } else if (isOverdue(member, env)) {
    stall(member, ground, env, out);
    if (member.awaits === null) tellLost(member, events);
  } else if (member.awaits === null) {
    reconcile(member, ground.cluster, env, events);
  }
  beat(member, ground, env, out, events);
}

function isOverdue({ phase, polledMs, options }: ConsumerMember, env: Env): boolean {
  if (phase === 'stalled' || phase === 'failed' || phase === 'leaving') return false;
  return env.nowMs >= polledMs + options.maxPollIntervalMs;
}

function tellLost(member: ConsumerMember, events: MemberEvent[]): void {
  member.isOusted = false;
  const lost = member.owned;
  member.owned = [];
  if (countOf(lost) === 0) return;
  member.awaits = 'lost';
  events.push({ kind: 'lost', partitions: lost });
}

/** The owner has stayed away for too long: others may have its partitions. */
function stall(member: ConsumerMember, ground: Ground, env: Env, out: Outbox): void {
  env.reached('member.stalled');
  if (member.epoch > 0 && isCoordinatorUp(ground.coordinator)) {
    const epoch = member.options.instanceId === null ? LEAVING_EPOCH : LEAVING_STATIC_EPOCH;
    callConsumerHeartbeat(member, ground, env, epoch, out);
  }
  member.phase = 'stalled';
  oustConsumer(member);
}

/** Before it leaves, the owner is told once. */
function giveUpAll(member: ConsumerMember, env: Env, events: MemberEvent[]): void {
  if (member.awaits !== null || member.phase === 'leaving') return;
  const gone = member.owned;
  member.owned = [];
  if (countOf(gone) > 0) {
    member.releasing = gone;
    member.awaits = 'revoke';
    member.isParting = true;
    events.push({ kind: 'revoke', partitions: gone });
    return;
  }
  member.phase = 'leaving';
  member.target = null;
  member.call = 0;
  member.retryAtMs = 0;
  if (member.epoch <= 0) member.leaveUntilMs = env.nowMs;
}

/** Works towards the target, as far as its topics are known by name. */
function reconcile(member: ConsumerMember, cluster: Cluster, env: Env, events: MemberEvent[]): void {
  if (member.phase !== 'reconciling' || member.target === null) return;
  const { next, isWhole } = resolve(member, member.target, cluster);
  const isNew = cluster.refreshes !== member.seenRefreshes;
  member.seenRefreshes = cluster.refreshes;
  if (!isWhole) {
    if (isNew) for (const topic of member.wish?.topics ?? []) addTopic(cluster, topic);
    markStale(cluster);
  } else {
    member.target = null;
  }
  const gone = without(member.owned, next);
  const added = without(next, member.owned);
  // With a part of it unknown, and nothing else to do, the rest of it may come with the next metadata.
  if (gone.length === 0 && added.length === 0) {
    if (isWhole) settle(member, env);
    return;
  }
  member.next = next;
  if (gone.length === 0) {
    takeAdded(member, events);
    return;
  }
  member.owned = without(member.owned, gone);
  member.releasing = gone;
  member.awaits = 'revoke';
  events.push({ kind: 'revoke', partitions: gone });
}

function resolve(
  { ids }: ConsumerMember,
  target: Target,
  { view }: Cluster,
): { next: TopicPartitions[]; isWhole: boolean } {
  const next: TopicPartitions[] = [];
  let isWhole = true;
  for (const { topicId, partitions } of target) {
    const topic = nameOfTopic(view, topicId);
    if (topic === null) {
      isWhole = false;
      continue;
    }
    ids.set(topic, topicId);
    next.push({ topic, partitions: [...partitions].sort((a, b) => a - b) });
  }
  return { next, isWhole };
}

function takeAdded(member: ConsumerMember, events: MemberEvent[]): void {
  const partitions = without(member.next, member.owned);
  member.owned = member.next;
  member.awaits = 'assign';
  events.push({ kind: 'assign', partitions, memberId: member.options.memberId, generation: member.epoch });
}

/** What is owned is what was wanted: the coordinator hears of it at once. */
function settle(member: ConsumerMember, env: Env): void {
  member.heartbeatAtMs = env.nowMs;
  if (member.target === null) member.phase = 'stable';
}

function beat(member: ConsumerMember, ground: Ground, env: Env, out: Outbox, events: MemberEvent[]): void {
  const { phase } = member;
  if (phase === 'leaving' && env.nowMs >= member.leaveUntilMs) {
    consumerLeft(member, events);
    return;
  }
  if (phase === 'idle' || phase === 'failed' || phase === 'stalled' || member.call !== 0) return;
  // What was lost is given up by the owner before the member joins anew.
  if (phase === 'joining' && (member.awaits !== null || member.wish === null)) return;
  const dueMs = phase === 'joining' || phase === 'leaving' ? member.retryAtMs : member.heartbeatAtMs;
  if (env.nowMs < dueMs || !isCoordinatorUp(ground.coordinator)) return;
  const leaving = member.options.instanceId === null || member.isRemoved ? LEAVING_EPOCH : LEAVING_STATIC_EPOCH;
  const ticket = callConsumerHeartbeat(member, ground, env, phase === 'leaving' ? leaving : member.epoch, out);
  if (ticket < 0) {
    failConsumer(member, ErrorCode.UNSUPPORTED_VERSION, null, events);
    return;
  }
  member.call = ticket;
  member.heartbeatAtMs = env.nowMs + member.intervalMs;
}

/** It is out of the group. */
export function consumerLeft(member: ConsumerMember, events: MemberEvent[]): void {
  member.phase = member.wish === null ? 'idle' : 'joining';
  member.epoch = JOINING_EPOCH;
  member.said = null;
  member.call = 0;
  member.retryAtMs = 0;
  events.push({ kind: 'left' });
}

/** When the member next wants a 'wake', given that all that was possible at `drivenAtMs` has been done. */
export function consumerMemberDeadlineMs(member: ConsumerMember, drivenAtMs: number): number {
  const { phase, options, call, awaits } = member;
  if (phase === 'idle' || phase === 'failed' || phase === 'stalled') return Number.POSITIVE_INFINITY;
  if (phase === 'leaving') return member.leaveUntilMs;
  let deadlineMs = member.wish === null ? Number.POSITIVE_INFINITY : member.polledMs + options.maxPollIntervalMs;
  if (call !== 0 || (phase === 'joining' && awaits !== null)) return deadlineMs;
  for (const atMs of [member.heartbeatAtMs, member.retryAtMs]) {
    if (atMs > drivenAtMs) deadlineMs = Math.min(deadlineMs, atMs);
  }
  return deadlineMs;
}

/** True between any two steps. */
export function checkConsumerMember(member: ConsumerMember): void {
  const { phase, epoch, owned } = member;
  assert(phase !== 'stable' || epoch > 0, 'a member is stable in no epoch');
  assert(phase !== 'idle' || countOf(owned) === 0, 'a member owns partitions and wants none');
}
