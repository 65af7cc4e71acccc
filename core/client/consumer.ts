/**
 * A consumer: a member of a group, or not, that hands out batches of the partitions it has, and keeps their offsets.
 *
 * It sits on a cluster, a fetcher (`fetcher.ts`) and, with a group, on a coordinator, a member (`member.ts`) and
 * offsets (`offsets.ts`). The owner polls: `pollConsumer` hands out what waits and moves the positions behind it. To
 * come again says that what was handed out before is done with; so a consumer that commits by itself commits, before
 * it hands out anything, the positions that it finds, and gives partitions up only between two polls
 * (`consumer-rebalance.ts`).
 *
 * Partitions that come start at the committed offset, or where `reset` says if there is none, unless the owner seeks
 * before it calls 'assigned' done. Offsets are asked for in one call for all that wait.
 *
 * Invariants: a batch is handed out only of a partition that is held by nobody's revocation; every commit has one
 * event; memory is bounded by `prefetchBytesMax`, by TASKS_MAX of offsets, and by the number of partitions. A crash
 * loses all of it; committed offsets bring the next consumer back to where this one was.
 */
import type { ChannelEvent } from '../channel/channel.ts';
import { stepChannel } from '../channel/channel.ts';
import { assert } from '../lib/assert.ts';
import type { Env, Outbox } from '../lib/world.ts';
import { ErrorCode } from '../protocol/errors.ts';
import { checkCluster, closeCluster, clusterDeadlineMs, driveCluster, stepCluster } from './cluster.ts';
import { startTracks, takeOffsets } from './consumer-offsets.ts';
import type { ConsumerEvent, ConsumerInput } from './consumer-options.ts';
import { advanceRebalance, commitOwn, takeMemberEvents } from './consumer-rebalance.ts';
import type { Consumer, Grouped } from './consumer-state.ts';
import { matchTopics } from './consumer-topics.ts';
import {
  checkCoordinator,
  closeCoordinator,
  coordinatorDeadlineMs,
  driveCoordinator,
  takeChannelEvent,
  takeFound,
} from './coordinator.ts';
import {
  checkFetcher,
  driveFetcher,
  type FetchedBatch,
  type FetcherEvent,
  fetcherDeadlineMs,
  hasBatches,
  takeBatches,
} from './fetcher.ts';
import { takeFetcherAnswer } from './fetcher-answers.ts';
import {
  checkMember,
  driveMember,
  giveUp,
  isActive,
  isOut,
  memberDeadlineMs,
  polled,
  takeMemberAnswer,
  wantOut,
  whoIs,
} from './member.ts';
import type { MemberEvent } from './member-shapes.ts';
import { checkOffsets, driveOffsets, type OffsetsEvent, offsetsDeadlineMs, takeOffsetsAnswer } from './offsets.ts';
import { allTracks } from './tracks.ts';

/** Handles one input. Inputs for connections of others are ignored. */
export function stepConsumer(
  consumer: Consumer,
  env: Env,
  input: ConsumerInput,
  out: Outbox,
  events: ConsumerEvent[],
): void {
  consumer.isDirty = false;
  if (consumer.life === 'closed') return;
  const told: ChannelEvent[] = [];
  stepCluster(consumer.cluster, env, input, out, told);
  const { grouped } = consumer;
  if (grouped !== null) {
    const ours: ChannelEvent[] = [];
    stepChannel(grouped.coordinator.channel, env, input, out, ours);
    for (const event of ours) takeChannelEvent(grouped.coordinator, env, event);
    told.push(...ours);
  }
  for (const event of told) takeEvent(consumer, env, event, out, events);
  driveConsumer(consumer, env, out, events);
}

function takeEvent(consumer: Consumer, env: Env, event: ChannelEvent, out: Outbox, events: ConsumerEvent[]): void {
  const { grouped, cluster, fetcher } = consumer;
  if (event.kind === 'down') {
    for (const track of allTracks(fetcher.tracks)) if (track.nearby?.peer === event.peer) track.nearby = null;
  }
  if (event.kind !== 'answered' && event.kind !== 'lost') return;
  const troubles: FetcherEvent[] = [];
  if (takeFetcherAnswer(fetcher, cluster, env, event, troubles)) {
    tellTroubles(troubles, events);
    return;
  }
  if (grouped === null || takeFound(grouped.coordinator, env, event, out)) return;
  const members: MemberEvent[] = [];
  if (takeMemberAnswer(grouped.member, groundOf(consumer, grouped), env, event, members)) {
    takeMemberEvents(consumer, env, members, events);
    return;
  }
  const offsets: OffsetsEvent[] = [];
  if (takeOffsetsAnswer(grouped.offsets, grouped.coordinator, env, event, offsets)) {
    takeOffsets(consumer, env, offsets, events);
  }
}

function groundOf(
  { cluster }: Consumer,
  { coordinator }: Grouped,
): { cluster: typeof cluster; coordinator: typeof coordinator } {
  return { cluster, coordinator };
}

function tellTroubles(troubles: readonly FetcherEvent[], events: ConsumerEvent[]): void {
  for (const { topic, partition, error, message, isFatal } of troubles) {
    events.push({ kind: 'error', error, message, isFatal, at: { topic, partition } });
  }
}

/** Does all that can be done now. */
function driveConsumer(consumer: Consumer, env: Env, out: Outbox, events: ConsumerEvent[]): void {
  consumer.drivenAtMs = env.nowMs;
  events.push(...consumer.owed.splice(0));
  const { grouped, cluster, fetcher } = consumer;
  matchTopics(consumer, env);
  startTracks(consumer, env);
  if (grouped !== null) driveGroup(consumer, grouped, env, out, events);
  if (isThrough(consumer, env)) {
    finish(consumer, out, events);
    return;
  }
  const troubles: FetcherEvent[] = [];
  driveFetcher(fetcher, cluster, env, out, troubles);
  tellTroubles(troubles, events);
  driveCluster(cluster, env, out);
  events.push(...consumer.owed.splice(0));
}

function driveGroup(consumer: Consumer, grouped: Grouped, env: Env, out: Outbox, events: ConsumerEvent[]): void {
  const { coordinator, member, offsets } = grouped;
  const ground = groundOf(consumer, grouped);
  if (isActive(member) || offsets.tasks.length > 0) driveCoordinator(coordinator, consumer.cluster, env, out);
  const told: MemberEvent[] = [];
  if (coordinator.refusal !== ErrorCode.NONE && isActive(member)) giveUp(member, coordinator.refusal, told);
  driveMember(member, ground, env, out, told);
  takeMemberEvents(consumer, env, told, events);
  const ended: OffsetsEvent[] = [];
  const isMember = consumer.subscription.kind !== 'assigned' && !isOut(member);
  driveOffsets(offsets, coordinator, env, whoIs(member), isMember, out, ended);
  takeOffsets(consumer, env, ended, events);
  // The member may have been told that it is none, or others wait behind what has ended.
  if (ended.length > 0) consumer.isDirty = true;
  advanceRebalance(consumer, env, events);
  // Whoever asks again may have been allowed to meanwhile.
  coordinator.refusal = ErrorCode.NONE;
}

/** A closing consumer is through when it has left its group and stored its offsets, or its time is over. */
function isThrough(consumer: Consumer, env: Env): boolean {
  if (consumer.life !== 'closing') return false;
  const { grouped } = consumer;
  if (grouped === null || env.nowMs >= consumer.closeUntilMs) return true;
  return isOut(grouped.member) && grouped.offsets.tasks.length === 0;
}

function finish(consumer: Consumer, out: Outbox, events: ConsumerEvent[]): void {
  consumer.life = 'closed';
  closeCluster(consumer.cluster, out, []);
  if (consumer.grouped !== null) {
    closeCoordinator(consumer.grouped.coordinator, out, []);
    for (const { ticket, what } of consumer.grouped.offsets.tasks.splice(0)) {
      const error = ErrorCode.NETWORK_EXCEPTION;
      const marks = what.kind === 'commit' ? what.marks.map((mark) => ({ ...mark, error })) : [];
      const kind = what.kind === 'commit' ? 'committed' : 'offsets';
      const known = consumer.ownCommits.has(ticket) ? 0 : ticket;
      if (ticket !== consumer.starting) events.push({ kind, ticket: known, error, marks });
    }
    consumer.grouped.offsets.call = 0;
  }
  events.push({ kind: 'closed' });
}

/**
 * Hands out what waits, about `bytesMax` bytes of it, and moves the positions behind it; it says that what was handed
 * out before is done with. With `isWaiting` a caller that gets nothing waits for events and comes again: the time
 * between polls (`max.poll.interval.ms`) does not run meanwhile. Events that come of it are given with the next step.
 */
export function pollConsumer(consumer: Consumer, env: Env, bytesMax: number, isWaiting = false): FetchedBatch[] {
  if (consumer.life !== 'open') return [];
  const { grouped } = consumer;
  consumer.isBusy = false;
  if (grouped !== null) {
    autoCommit(consumer, env);
    advanceRebalance(consumer, env, consumer.owed);
  }
  const batches = takeBatches(consumer.fetcher, bytesMax);
  consumer.isBusy = batches.length > 0;
  if (grouped !== null) polled(grouped.member, env, isWaiting && batches.length === 0);
  consumer.isDirty = true;
  return batches;
}

function autoCommit(consumer: Consumer, env: Env): void {
  const { autoCommit: isAuto = true, autoCommitIntervalMs = 5000, apiTimeoutMs = 60_000 } = consumer.options;
  if (!isAuto || env.nowMs < consumer.autoCommitAtMs) return;
  consumer.autoCommitAtMs = env.nowMs + autoCommitIntervalMs;
  // One at a time is enough: the next one says more.
  for (const why of consumer.ownCommits.values()) if (why === 'interval') return;
  commitOwn(consumer, env.nowMs + apiTimeoutMs, 'interval');
}

/** Whether a poll would hand out something. */
export function hasRecords(consumer: Consumer): boolean {
  return hasBatches(consumer.fetcher);
}

/**
 * Ends: offsets are committed if the consumer does that by itself, partitions are given up (a 'revoked' that is still
 * to be called off), the group is left, and 'closed' is said, after `timeoutMs` at the latest. `isRemoved`: a static
 * member gives up its place too.
 */
export function closeConsumer(consumer: Consumer, env: Env, timeoutMs: number, isRemoved = false): void {
  if (consumer.life !== 'open') return;
  consumer.life = 'closing';
  consumer.closeUntilMs = env.nowMs + timeoutMs;
  consumer.isDirty = true;
  const { grouped, subscription, options } = consumer;
  if (grouped === null) return;
  if (subscription.kind === 'assigned' && options.autoCommit !== false) {
    commitOwn(consumer, consumer.closeUntilMs, 'rebalance');
  }
  wantOut(grouped.member, env, timeoutMs, isRemoved);
}

/** When the consumer next wants a 'wake', on the monotonic clock; Infinity for never. */
export function consumerDeadlineMs(consumer: Consumer): number {
  if (consumer.life === 'closed') return Number.POSITIVE_INFINITY;
  const { drivenAtMs, grouped } = consumer;
  if (consumer.isDirty) return drivenAtMs;
  let deadlineMs = Math.min(clusterDeadlineMs(consumer.cluster), fetcherDeadlineMs(consumer.fetcher, drivenAtMs));
  if (consumer.life === 'closing') deadlineMs = Math.min(deadlineMs, consumer.closeUntilMs);
  if (grouped === null) return deadlineMs;
  const { coordinator, member, offsets } = grouped;
  if (isActive(member) || offsets.tasks.length > 0) {
    deadlineMs = Math.min(deadlineMs, coordinatorDeadlineMs(coordinator));
  }
  if (consumer.startAtMs > drivenAtMs) deadlineMs = Math.min(deadlineMs, consumer.startAtMs);
  return Math.min(deadlineMs, memberDeadlineMs(member, drivenAtMs), offsetsDeadlineMs(offsets, drivenAtMs));
}

/** True between any two steps. */
export function checkConsumer(consumer: Consumer): void {
  checkCluster(consumer.cluster);
  checkFetcher(consumer.fetcher);
  const { grouped, rebalance } = consumer;
  if (grouped === null) return;
  checkCoordinator(grouped.coordinator);
  checkMember(grouped.member);
  checkOffsets(grouped.offsets);
  assert(rebalance === null || rebalance.rebalance === consumer.rebalances, 'an older rebalance is still awaited');
}
