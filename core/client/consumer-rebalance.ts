/**
 * Between the member and the owner: what becomes of partitions that come and go. No state of its own.
 *
 * Giving up goes in steps. From the moment in which the member says 'revoke' nothing of those partitions is handed out
 * or fetched. If the owner holds records of its last poll, it is first waited for: its coming back says that it has
 * done with them. Then positions are committed, if the consumer commits by itself; then the owner is told; when it
 * calls that done, tracks are dropped and the member goes on. An owner that does not come back is dealt with by the
 * member (`max.poll.interval.ms`).
 */
import type { TopicPartitions } from '../assignors/client-shapes.ts';
import { assert } from '../lib/assert.ts';
import type { Env } from '../lib/world.ts';
import { ErrorCode } from '../protocol/errors.ts';
import { addTopic } from './cluster.ts';
import type { ConsumerEvent } from './consumer-options.ts';
import type { Consumer, Grouped, Rebalance } from './consumer-state.ts';
import { addTrack, dropTrack } from './fetcher.ts';
import { done, isOut, whoIs } from './member.ts';
import type { MemberEvent } from './member-shapes.ts';
import { askCommit, type OffsetMark, type OffsetsEvent, withdrawCommits } from './offsets.ts';
import { allTracks, dropQueue, type Track, trackOf } from './tracks.ts';

/** Takes what the member says, in order. */
export function takeMemberEvents(
  consumer: Consumer,
  env: Env,
  told: readonly MemberEvent[],
  events: ConsumerEvent[],
): void {
  for (const event of told) {
    switch (event.kind) {
      case 'revoke':
        begin(consumer, { kind: 'revoked', partitions: event.partitions, memberId: '', generation: -1 });
        break;
      case 'lost':
        begin(consumer, { kind: 'lost', partitions: event.partitions, memberId: '', generation: -1 });
        break;
      case 'assign': {
        const { partitions, memberId, generation } = event;
        begin(consumer, { kind: 'assigned', partitions, memberId, generation });
        break;
      }
      case 'left':
        if (consumer.life === 'open') events.push({ kind: 'left' });
        break;
      case 'failed':
        events.push({ kind: 'error', error: event.error, message: event.message, isFatal: true, at: null });
        break;
    }
  }
  advanceRebalance(consumer, env, events);
}

function begin(consumer: Consumer, what: Omit<Rebalance, 'rebalance' | 'stage'>): void {
  assert(consumer.rebalance === null, 'a member tells two things at once');
  consumer.rebalances += 1;
  consumer.rebalance = { ...what, rebalance: consumer.rebalances, stage: 'polling' };
  for (const track of tracksIn(consumer, what.partitions)) {
    track.isHeld = true;
    consumer.fetcher.ready.delete(track);
    // What waits will not be handed out; the position stays for the commit.
    dropQueue(track);
    track.fetchPosition = track.position;
    track.fetchEpoch = track.positionEpoch;
    track.moves += 1;
  }
}

function tracksIn(consumer: Consumer, partitions: readonly TopicPartitions[]): Track[] {
  const found: Track[] = [];
  for (const { topic, partitions: numbers } of partitions) {
    for (const partition of numbers) {
      const track = trackOf(consumer.fetcher.tracks, topic, partition);
      if (track !== null) found.push(track);
    }
  }
  return found;
}

/** Goes on with what the member has told, as far as that is possible now. */
export function advanceRebalance(consumer: Consumer, env: Env, events: ConsumerEvent[]): void {
  const { rebalance, grouped } = consumer;
  if (rebalance === null || grouped === null) return;
  if (rebalance.stage === 'polling') {
    // Whoever is no member any more has lost what it was to give up.
    if (rebalance.kind === 'revoked' && whoIs(grouped.member) === null) rebalance.kind = 'lost';
    if (rebalance.kind === 'revoked' && consumer.isBusy && consumer.life === 'open') return;
    rebalance.stage = 'committing';
    if (rebalance.kind === 'revoked') commitForRebalance(consumer, env);
  }
  if (rebalance.stage !== 'committing') return;
  for (const why of consumer.ownCommits.values()) if (why === 'rebalance') return;
  rebalance.stage = 'told';
  const { rebalance: number, partitions } = rebalance;
  if (rebalance.kind === 'assigned') {
    for (const { topic, partitions: numbers } of partitions) {
      addTopic(consumer.cluster, topic);
      for (const partition of numbers) addTrack(consumer.fetcher, topic, partition);
    }
    const { memberId, generation } = rebalance;
    events.push({ kind: 'assigned', rebalance: number, partitions, memberId, generation });
  } else {
    events.push({ kind: rebalance.kind, rebalance: number, partitions });
  }
}

/** The owner has done with the event of that number. */
export function ackRebalance(consumer: Consumer, env: Env, rebalance: number): void {
  const { grouped } = consumer;
  if (grouped === null || consumer.rebalance?.rebalance !== rebalance || consumer.rebalance.stage !== 'told') return;
  const { kind, partitions } = consumer.rebalance;
  consumer.rebalance = null;
  consumer.isDirty = true;
  if (kind !== 'assigned') {
    withdraw(consumer, grouped, env, kind, partitions);
    for (const { topic, partition } of tracksIn(consumer, partitions)) dropTrack(consumer.fetcher, topic, partition);
  } else if (consumer.startFailures === 0) {
    consumer.startAtMs = env.nowMs;
  }
  const told: MemberEvent[] = [];
  done(grouped.member, env, told);
  takeMemberEvents(consumer, env, told, consumer.owed);
}

function withdraw(
  consumer: Consumer,
  { offsets }: Grouped,
  env: Env,
  kind: 'revoked' | 'lost',
  partitions: readonly TopicPartitions[],
): void {
  const error = kind === 'lost' ? ErrorCode.UNKNOWN_MEMBER_ID : ErrorCode.REBALANCE_IN_PROGRESS;
  const ended: OffsetsEvent[] = [];
  withdrawCommits(offsets, partitions, error, ended);
  if (ended.length > 0) env.reached('consumer.withdrawn');
  for (const { ticket, marks } of ended) {
    const isOwn = consumer.ownCommits.delete(ticket);
    consumer.owed.push({ kind: 'committed', ticket: isOwn ? 0 : ticket, error, marks });
  }
}

/** Kafka's clients give it as long as a member may take to join; half of that leaves time for the owner. */
function commitForRebalance(consumer: Consumer, env: Env): void {
  const { autoCommit = true, maxPollIntervalMs = 300_000, apiTimeoutMs = 60_000 } = consumer.options;
  if (!autoCommit) return;
  const untilMs = env.nowMs + Math.min(apiTimeoutMs, Math.floor(maxPollIntervalMs / 2));
  commitOwn(consumer, untilMs, 'rebalance');
}

/** Commits all positions by itself. */
export function commitOwn(consumer: Consumer, untilMs: number, why: 'interval' | 'rebalance'): void {
  const { grouped } = consumer;
  if (grouped === null || (isOut(grouped.member) && consumer.subscription.kind !== 'assigned')) return;
  const marks = consumedMarks(consumer);
  if (marks.length === 0) return;
  const attemptsMax = why === 'interval' ? 1 : Number.POSITIVE_INFINITY;
  const ticket = askCommit(grouped.offsets, marks, untilMs, attemptsMax);
  if (ticket >= 0) consumer.ownCommits.set(ticket, why);
}

/** The positions of all partitions that have one. */
export function consumedMarks(consumer: Consumer): OffsetMark[] {
  const marks: OffsetMark[] = [];
  for (const { topic, partition, position, positionEpoch } of allTracks(consumer.fetcher.tracks)) {
    if (position < 0) continue;
    marks.push({ topic, partition, offset: position, leaderEpoch: positionEpoch, metadata: '', error: 0 });
  }
  return marks;
}
