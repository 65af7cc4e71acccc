/**
 * The offsets of a consumer: where partitions start, what is committed, and what the owner asks and moves. No state of
 * its own.
 */
import { type Gathered, gather, inOrder, type TopicPartitions } from '../assignors/client-shapes.ts';
import { backoffMs } from '../channel/backoff.ts';
import { nextTicket } from '../lib/ids.ts';
import type { Env } from '../lib/world.ts';
import { ErrorCode, errorInfo } from '../protocol/errors.ts';
import type { ConsumerEvent, PartitionOf } from './consumer-options.ts';
import { consumedMarks } from './consumer-rebalance.ts';
import type { Consumer } from './consumer-state.ts';
import { stopTrack } from './fetcher.ts';
import { disown, wantAnother } from './member.ts';
import { isOuster } from './member-classic-calls.ts';
import type { Membership } from './member-shapes.ts';
import { expectEpoch } from './metadata.ts';
import { askCommit, askCommitted, type OffsetMark, type OffsetsEvent } from './offsets.ts';
import { allTracks, EARLIEST, LATEST, lagOf, moveTo, moveToGoal, type Track, trackOf } from './tracks.ts';

/** The longest wait between two questions for the offsets to start from. */
const BACKOFF_MAX_MS = 1000;

/** Asks for the offsets of the partitions that wait for one, or resets them where there is no group to ask. */
export function startTracks(consumer: Consumer, env: Env): void {
  const { grouped, rebalance } = consumer;
  if (consumer.starting !== 0 || consumer.startAtMs > env.nowMs) return;
  // While the owner is being told what came, it may still seek.
  const isNew = rebalance?.kind === 'assigned' ? rebalance.partitions : [];
  const waiting: Gathered = new Map();
  for (const track of allTracks(consumer.fetcher.tracks)) {
    const { topic, partition, phase, isHeld } = track;
    if (phase !== 'waiting' || isHeld || isIn(isNew, topic, partition)) continue;
    if (grouped === null) startAt(consumer, track, null, consumer.owed);
    else gather(waiting, topic, partition);
  }
  if (grouped === null || waiting.size === 0) return;
  const untilMs = env.nowMs + (consumer.options.apiTimeoutMs ?? 60_000);
  const ticket = askCommitted(grouped.offsets, inOrder(waiting), untilMs);
  if (ticket >= 0) consumer.starting = ticket;
}

function isIn(partitions: readonly TopicPartitions[], topic: string, partition: number): boolean {
  return partitions.some((one) => one.topic === topic && one.partitions.includes(partition));
}

function startAt(consumer: Consumer, track: Track, mark: OffsetMark | null, events: ConsumerEvent[]): void {
  const { topic, partition } = track;
  const { reset = 'latest' } = consumer.options;
  if (mark !== null && mark.offset >= 0) {
    moveTo(track, mark.offset, mark.leaderEpoch);
    if (mark.leaderEpoch >= 0) expectEpoch(consumer.cluster.view, topic, partition, mark.leaderEpoch);
  } else if (reset === 'none') {
    track.phase = 'stopped';
    const error = ErrorCode.OFFSET_OUT_OF_RANGE;
    const message = 'no offset is committed, and none is to be chosen instead';
    events.push({ kind: 'error', error, message, isFatal: true, at: { topic, partition } });
  } else {
    moveToGoal(track, reset === 'earliest' ? EARLIEST : LATEST);
  }
}

/** Takes what became of commits and questions. */
export function takeOffsets(
  consumer: Consumer,
  env: Env,
  ended: readonly OffsetsEvent[],
  events: ConsumerEvent[],
): void {
  for (const event of ended) {
    const { kind, ticket, error, marks } = event;
    blame(consumer, error, event.membership);
    if (ticket === consumer.starting) {
      started(consumer, env, error, marks, events);
    } else if (kind === 'committed') {
      const isOwn = consumer.ownCommits.delete(ticket);
      events.push({ kind: 'committed', ticket: isOwn ? 0 : ticket, error, marks });
    } else {
      events.push({ kind: 'offsets', ticket, error, marks });
    }
  }
}

/** What a commit was told about the membership holds for the member too. */
function blame({ grouped }: Consumer, error: number, membership: Membership | null): void {
  if (grouped === null || membership === null) return;
  const isGone = isOuster(error) || error === ErrorCode.FENCED_MEMBER_EPOCH;
  if (isGone) disown(grouped.member, membership.generation, error);
  else if (error === ErrorCode.REBALANCE_IN_PROGRESS) wantAnother(grouped.member, 'a commit met a rebalance');
}

function started(
  consumer: Consumer,
  env: Env,
  error: number,
  marks: readonly OffsetMark[],
  events: ConsumerEvent[],
): void {
  consumer.starting = 0;
  let isMissing = false;
  for (const mark of marks) {
    const track = trackOf(consumer.fetcher.tracks, mark.topic, mark.partition);
    if (track?.phase !== 'waiting') continue;
    if (mark.error === ErrorCode.NONE) {
      startAt(consumer, track, mark, events);
    } else if (errorInfo(mark.error).retriable || isOfMembership(mark.error)) {
      isMissing = true;
    } else {
      const told: Parameters<typeof stopTrack>[2] = [];
      stopTrack(track, mark.error, told);
      for (const { topic, partition, message, isFatal } of told) {
        events.push({ kind: 'error', error: mark.error, message, isFatal, at: { topic, partition } });
      }
    }
  }
  if (!isMissing) {
    consumer.startFailures = 0;
    return;
  }
  if (error !== ErrorCode.NONE) consumer.startFailures += 1;
  const { channel, options } = consumer.cluster;
  const failures = Math.max(1, consumer.startFailures);
  consumer.startAtMs = env.nowMs + backoffMs(channel, failures, options.retryBackoffMs, BACKOFF_MAX_MS);
}

/** The member will join anew, and ask anew for what it then has. */
function isOfMembership(error: number): boolean {
  return isOuster(error) || error === ErrorCode.STALE_MEMBER_EPOCH || error === ErrorCode.FENCED_MEMBER_EPOCH;
}

/**
 * Commits offsets, the positions of all partitions if none are given; the ticket of the event 'committed'. A patient
 * commit (commitSync) is tried again while `default.api.timeout.ms` lasts, an impatient one (commitAsync) is not.
 */
export function commitOffsets(
  consumer: Consumer,
  env: Env,
  marks: readonly OffsetMark[] | null,
  isPatient: boolean,
): number {
  const { grouped, options } = consumer;
  consumer.isDirty = true;
  const what = marks ?? consumedMarks(consumer);
  const untilMs = env.nowMs + (options.apiTimeoutMs ?? 60_000);
  const attemptsMax = isPatient ? Number.POSITIVE_INFINITY : 1;
  const ticket = grouped === null || what.length === 0 ? -1 : askCommit(grouped.offsets, what, untilMs, attemptsMax);
  if (ticket >= 0) return ticket;
  const refused = nextTicket(options.ids);
  const error = grouped === null ? ErrorCode.INVALID_GROUP_ID : what.length === 0 ? 0 : ErrorCode.UNKNOWN_SERVER_ERROR;
  consumer.owed.push({ kind: 'committed', ticket: refused, error, marks: what });
  return refused;
}

/** Asks which offsets are committed; the ticket of the event 'offsets'. */
export function askCommittedOffsets(consumer: Consumer, env: Env, partitions: readonly TopicPartitions[]): number {
  const { grouped, options } = consumer;
  consumer.isDirty = true;
  const untilMs = env.nowMs + (options.apiTimeoutMs ?? 60_000);
  const ticket = grouped === null ? -1 : askCommitted(grouped.offsets, partitions, untilMs);
  if (ticket >= 0) return ticket;
  const refused = nextTicket(options.ids);
  const error = grouped === null ? ErrorCode.INVALID_GROUP_ID : ErrorCode.UNKNOWN_SERVER_ERROR;
  consumer.owed.push({ kind: 'offsets', ticket: refused, error, marks: [] });
  return refused;
}

/** The next offset that a poll will hand out; -1 where it is not known. */
export function positionOf(consumer: Consumer, { topic, partition }: PartitionOf): number {
  return trackOf(consumer.fetcher.tracks, topic, partition)?.position ?? -1;
}

/** Records between the position and the end that may be read; -1 where it is not known. */
export function consumerLag(consumer: Consumer, { topic, partition }: PartitionOf): number {
  const track = trackOf(consumer.fetcher.tracks, topic, partition);
  return track === null ? -1 : lagOf(track, consumer.options.isolation === 'readCommitted');
}

/** Moves a partition to an offset, or to an end of its log; false if it is not ours. */
export function seek(
  consumer: Consumer,
  { topic, partition }: PartitionOf,
  to: number | 'earliest' | 'latest',
): boolean {
  const track = trackOf(consumer.fetcher.tracks, topic, partition);
  if (track === null || track.isHeld) return false;
  consumer.fetcher.ready.delete(track);
  if (typeof to === 'number') moveTo(track, to, -1);
  else moveToGoal(track, to === 'earliest' ? EARLIEST : LATEST);
  consumer.isDirty = true;
  return true;
}

/** Holds a partition back, or lets it go on; false if it is not ours. What waits is kept. */
export function setPaused(consumer: Consumer, { topic, partition }: PartitionOf, isPaused: boolean): boolean {
  const track = trackOf(consumer.fetcher.tracks, topic, partition);
  if (track === null) return false;
  track.isPaused = isPaused;
  consumer.isDirty = true;
  return true;
}
