/**
 * What a fetcher makes of answers: where a partition starts, where an epoch ended, and batches. No state of its own.
 *
 * Of each answer only those parts count whose track is still there and was not moved since. Control batches and empty
 * ones move the position and are not for the owner. A position outside of the log goes where the options say, or is a
 * fatal error.
 */
import { type Answer, answerBody, type ChannelEvent } from '../channel/channel.ts';
import { ZERO_UUID } from '../lib/uuid.ts';
import type { Env } from '../lib/world.ts';
import { ErrorCode, errorInfo } from '../protocol/errors.ts';
import type { ResponseOf } from '../protocol/messages/index.ts';
import { type Cluster, markStale } from './cluster.ts';
import { type FetchAnswer, readBatches } from './fetch-call.ts';
import { dropSession, nameAnew, newSession, restartSession, sessionAnswered } from './fetch-sessions.ts';
import { type Fetcher, type FetcherCall, type FetcherEvent, type Part, retryTrack, stopTrack } from './fetcher.ts';
import { doubtLeader, learnLeader } from './metadata.ts';
import { nearbyOf } from './nearby.ts';
import { doubtsLeader } from './outcomes.ts';
import { FETCH, LIST_OFFSETS, OFFSET_FOR_LEADER_EPOCH } from './reader-calls.ts';
import { EARLIEST, enqueue, LATEST, moveToGoal, type Track, trackOf } from './tracks.ts';

const NO_BYTES = new Uint8Array(0);

/** What an answer is judged with. */
interface Judging {
  readonly fetcher: Fetcher;
  readonly cluster: Cluster;
  readonly env: Env;
  readonly events: FetcherEvent[];
}

/** Takes an answer, or the loss, of a call of the fetcher; false if it was not the fetcher's. */
export function takeFetcherAnswer(
  fetcher: Fetcher,
  cluster: Cluster,
  env: Env,
  event: Answer | Extract<ChannelEvent, { readonly kind: 'lost' }>,
  events: FetcherEvent[],
): boolean {
  const call = fetcher.calls.get(event.ticket);
  if (call === undefined) return false;
  fetcher.calls.delete(event.ticket);
  fetcher.reservedBytes -= call.reservedBytes;
  const parts = call.parts.filter(({ track }) => track.call === event.ticket);
  for (const { track } of parts) track.call = 0;
  const valid = parts.filter(({ track, moves }) => {
    return track.moves === moves && trackOf(fetcher.tracks, track.topic, track.partition) === track;
  });
  const judging = { fetcher, cluster, env, events };
  if (event.kind === 'lost') lost(judging, call, valid);
  else if (call.kind === 'fetch') fetched(judging, call, valid, event);
  else if (call.kind === 'locate') located(judging, valid, answerBody(event, LIST_OFFSETS));
  else validated(judging, valid, answerBody(event, OFFSET_FOR_LEADER_EPOCH));
  return true;
}

function lost({ fetcher, cluster, env }: Judging, call: FetcherCall, parts: readonly Part[]): void {
  if (call.kind === 'fetch') restartSession(fetcher.sessions.get(call.peer) ?? newSession());
  for (const { track, isNearby } of parts) {
    if (isNearby) track.nearby = null;
    retryTrack(track, cluster, env);
  }
}

function located(judging: Judging, parts: readonly Part[], body: ResponseOf<2>): void {
  for (const { track } of parts) {
    const found = body.topics
      .find(({ name }) => name === track.topic)
      ?.partitions.find(({ partitionIndex }) => partitionIndex === track.partition);
    const { errorCode, offset } = found ?? { errorCode: ErrorCode.UNKNOWN_SERVER_ERROR, offset: -1 };
    if (errorCode !== ErrorCode.NONE) {
      troubled(judging, track, errorCode);
    } else if (offset >= 0) {
      track.position = offset;
      track.fetchPosition = offset;
      track.failures = 0;
      track.phase = 'fetch';
    } else if (track.goal >= 0) {
      // Nothing is as late as that: what comes next will be.
      track.goal = LATEST;
    } else {
      troubled(judging, track, ErrorCode.OFFSET_NOT_AVAILABLE);
    }
  }
}

function validated(judging: Judging, parts: readonly Part[], body: ResponseOf<23>): void {
  for (const { track, leaderEpoch } of parts) {
    const found = body.topics
      .find(({ topic }) => topic === track.topic)
      ?.partitions.find(({ partition }) => partition === track.partition);
    const { errorCode, endOffset } = found ?? { errorCode: ErrorCode.UNKNOWN_SERVER_ERROR, endOffset: -1 };
    if (errorCode !== ErrorCode.NONE) {
      troubled(judging, track, errorCode);
    } else if (endOffset >= track.fetchPosition) {
      track.failures = 0;
      track.validatedEpoch = leaderEpoch;
      track.phase = 'fetch';
    } else {
      judging.env.reached('consumer.truncated');
      outOfRange(judging, track, 'records that were delivered are not in the log of the new leader');
    }
  }
}

/** The position is not in the log: the owner is told, and the options say where to go on. */
function outOfRange({ fetcher, events }: Judging, track: Track, message: string): void {
  const { reset } = fetcher.options;
  const { topic, partition } = track;
  if (reset === 'none') {
    stopTrack(track, ErrorCode.OFFSET_OUT_OF_RANGE, events, message);
    return;
  }
  events.push({ topic, partition, error: ErrorCode.OFFSET_OUT_OF_RANGE, message, isFatal: false });
  fetcher.ready.delete(track);
  moveToGoal(track, reset === 'earliest' ? EARLIEST : LATEST);
}

/** An error of a call: a new leader is looked for, or the call repeated, or the owner told that it is over. */
function troubled({ cluster, env, events }: Judging, track: Track, error: number): void {
  if (doubtsLeader(error)) {
    doubtLeader(cluster.view, track.topic, track.partition);
    markStale(cluster);
  }
  if (errorInfo(error).retriable) retryTrack(track, cluster, env);
  else stopTrack(track, error, events);
}

function fetched(judging: Judging, call: FetcherCall, parts: readonly Part[], event: Answer): void {
  const { fetcher, cluster, env } = judging;
  const body = answerBody(event, FETCH);
  const session = fetcher.sessions.get(call.peer) ?? newSession();
  if (body.errorCode !== ErrorCode.NONE) {
    env.reached('consumer.sessionLost');
    dropSession(session);
    for (const { track } of parts) {
      // Losing a session is no trouble, losing it again and again is.
      if (errorInfo(body.errorCode).retriable && track.failures === 0) track.failures = 1;
      else troubled(judging, track, body.errorCode);
    }
    return;
  }
  sessionAnswered(session, body.sessionId);
  for (const part of parts) {
    const { track } = part;
    const answer = answerOf(body, part);
    if (answer === null) {
      track.failures = 0;
      continue;
    }
    if (answer.errorCode === ErrorCode.NONE) {
      taken(judging, part, answer);
      if (answer.preferredReadReplica >= 0 && !part.isNearby) turnTo(judging, part, answer.preferredReadReplica);
      continue;
    }
    nameAnew(session, part.wish);
    if (part.isNearby) {
      // Whatever it is, the leader knows better.
      track.nearby = null;
      retryTrack(track, cluster, env);
    } else {
      refused(judging, part, answer, body);
    }
  }
}

function answerOf(body: ResponseOf<1>, { wish }: Part): FetchAnswer | null {
  for (const topic of body.responses) {
    // Versions that go by name tell no ids, and versions that go by id no names.
    const isIt = topic.topicId === ZERO_UUID ? topic.topic === wish.topic : topic.topicId === wish.topicId;
    if (!isIt) continue;
    for (const answer of topic.partitions) if (answer.partitionIndex === wish.partition) return answer;
  }
  return null;
}

function refused(judging: Judging, { track }: Part, answer: FetchAnswer, body: ResponseOf<1>): void {
  const { cluster, events } = judging;
  if (answer.errorCode === ErrorCode.OFFSET_OUT_OF_RANGE) {
    outOfRange(judging, track, errorInfo(answer.errorCode).message);
    return;
  }
  const at = { topic: track.topic, partition: track.partition };
  if (learnLeader(cluster.view, at, answer.currentLeader, body.nodeEndpoints)) return;
  if (answer.errorCode === ErrorCode.CORRUPT_MESSAGE) complain(track, events);
  troubled(judging, track, answer.errorCode);
}

/** The leader names a replica that is nearer. */
function turnTo({ cluster, env }: Judging, { track }: Part, nodeId: number): void {
  track.nearby = nearbyOf(cluster.view, nodeId, env.nowMs);
  if (track.nearby !== null) return;
  markStale(cluster);
  retryTrack(track, cluster, env);
}

function complain(track: Track, events: FetcherEvent[]): void {
  const { topic, partition } = track;
  const message = `the batch at offset ${track.fetchPosition} is not sound`;
  events.push({ topic, partition, error: ErrorCode.CORRUPT_MESSAGE, message, isFatal: false });
}

/** Puts the batches of a good answer in line. */
function taken({ fetcher, cluster, env, events }: Judging, part: Part, answer: FetchAnswer): void {
  const { track, leaderEpoch } = part;
  track.highWatermark = answer.highWatermark;
  track.lastStableOffset = answer.lastStableOffset;
  track.logStartOffset = answer.logStartOffset;
  const { batches, end } = readBatches(answer.records ?? NO_BYTES, track.fetchPosition, env);
  // Meeting the same bad batch again and again is trouble that grows.
  if (end === 'whole' || batches.length > 0) track.failures = 0;
  for (const found of batches) {
    const { nextOffset, hasRecords, bytes } = found;
    enqueue(track, {
      bytes: hasRecords ? bytes : null,
      fromOffset: track.fetchPosition,
      nextOffset,
      leaderEpoch: found.leaderEpoch,
      aborted: answer.abortedTransactions ?? [],
    });
    track.validatedEpoch = Math.max(track.validatedEpoch, leaderEpoch);
  }
  if (track.queue.length > 0) fetcher.ready.add(track);
  if (end === 'whole') return;
  env.reached('consumer.corrupt');
  complain(track, events);
  retryTrack(track, cluster, env);
}
