/**
 * Tracks: what a consumer knows of each partition that it reads, and the batches that wait there for its owner.
 *
 * `position` is the owner's: the next offset that it will be handed. `fetchPosition` runs ahead of it by what waits.
 * Invariants: batches wait in the order of their offsets and all lie between the two positions; a track is in one call
 * at most; `queuedBytes` counts what waits. A crash loses all of it; committed offsets bring a consumer back.
 */
import { assert } from '../lib/assert.ts';
import type { Nearby } from './nearby.ts';
import type { AbortedTransaction } from './reader-options.ts';

/** ListOffsets: the end and the start of the log. Any other goal is a time, ms since 1970. */
export const LATEST = -1;
/** The same of the start. */
export const EARLIEST = -2;

/**
 * waiting: its owner has yet to say where it starts. locate: `goal` is looked for. validate: where did the epoch of the
 * last batch end? fetch: it is read. stopped: nothing until the owner moves it.
 */
export type TrackPhase = 'waiting' | 'locate' | 'validate' | 'fetch' | 'stopped';

/** One whole v2 batch that waits, its checksum right; or a place that is passed over without records. */
export interface WaitingBatch {
  /** Null where nothing is for the application: a control batch, an empty one. */
  readonly bytes: Uint8Array | null;
  /** Records below it are not for the caller. */
  readonly fromOffset: number;
  readonly nextOffset: number;
  readonly leaderEpoch: number;
  readonly aborted: readonly AbortedTransaction[];
}

/** One partition, plain data. */
export interface Track {
  readonly topic: string;
  readonly partition: number;
  phase: TrackPhase;
  /** What 'locate' looks for. */
  goal: number;
  /** The next offset for the owner; -1 until it is known. */
  position: number;
  /** The leader epoch of the batch below `position`; -1 for none. */
  positionEpoch: number;
  /** The next offset to be fetched; -1 until it is known. */
  fetchPosition: number;
  /** The leader epoch of the batch below `fetchPosition`; -1 for none. */
  fetchEpoch: number;
  /** The leader epoch under which `fetchPosition` was last found to be good; -1 for none. */
  validatedEpoch: number;
  /** As last told by the leader; -1 until they are known. */
  highWatermark: number;
  lastStableOffset: number;
  logStartOffset: number;
  /** By the owner. */
  isPaused: boolean;
  /** It is being given up: nothing is fetched or handed out any more. */
  isHeld: boolean;
  readonly queue: WaitingBatch[];
  queuedBytes: number;
  /** The replica that the leader has sent us to; null for none. */
  nearby: Nearby | null;
  /** The call that it is in; 0 for none. */
  call: number;
  /** Grows with each move by the owner: what was asked before is of no use. */
  moves: number;
  retryAtMs: number;
  failures: number;
}

/** By topic, then partition, in the order of coming. */
export type Tracks = Map<string, Map<number, Track>>;

/** A partition that is not read yet. */
export function createTrack(topic: string, partition: number): Track {
  return {
    topic,
    partition,
    phase: 'waiting',
    goal: LATEST,
    position: -1,
    positionEpoch: -1,
    fetchPosition: -1,
    fetchEpoch: -1,
    validatedEpoch: -1,
    highWatermark: -1,
    lastStableOffset: -1,
    logStartOffset: -1,
    isPaused: false,
    isHeld: false,
    queue: [],
    queuedBytes: 0,
    nearby: null,
    call: 0,
    moves: 0,
    retryAtMs: 0,
    failures: 0,
  };
}

/** A track; null where the partition is not read. */
export function trackOf(tracks: Tracks, topic: string, partition: number): Track | null {
  return tracks.get(topic)?.get(partition) ?? null;
}

/** Every track, topics in the order of coming. */
export function* allTracks(tracks: Tracks): Generator<Track, void, undefined> {
  for (const byPartition of tracks.values()) yield* byPartition.values();
}

/** Drops what waits: it is not the owner's any more, or not what it wants. */
export function dropQueue(track: Track): void {
  track.queue.length = 0;
  track.queuedBytes = 0;
}

/** Starts from an offset; `leaderEpoch` of the record before it, -1 where it is not known. */
export function moveTo(track: Track, offset: number, leaderEpoch: number): void {
  begin(track, 'fetch');
  track.position = offset;
  track.positionEpoch = leaderEpoch;
  track.fetchPosition = offset;
  track.fetchEpoch = leaderEpoch;
}

/** Starts from wherever `goal` is found. */
export function moveToGoal(track: Track, goal: number): void {
  begin(track, 'locate');
  track.goal = goal;
  track.position = -1;
  track.positionEpoch = -1;
  track.fetchPosition = -1;
  track.fetchEpoch = -1;
}

function begin(track: Track, phase: TrackPhase): void {
  dropQueue(track);
  track.phase = phase;
  track.validatedEpoch = -1;
  track.moves += 1;
  track.failures = 0;
  track.retryAtMs = 0;
}

/** Puts a batch in line. */
export function enqueue(track: Track, batch: WaitingBatch): void {
  assert(batch.nextOffset > track.fetchPosition, 'a batch leads back');
  track.queue.push(batch);
  track.queuedBytes += batch.bytes?.length ?? 0;
  track.fetchPosition = batch.nextOffset;
  track.fetchEpoch = batch.leaderEpoch;
}

/** The next batch in line, the position moved behind it; null for none. */
export function dequeue(track: Track): WaitingBatch | null {
  const batch = track.queue.shift();
  if (batch === undefined) return null;
  track.queuedBytes -= batch.bytes?.length ?? 0;
  track.position = batch.nextOffset;
  track.positionEpoch = batch.leaderEpoch;
  return batch;
}

/** How many records lie before the end that may be read; -1 where it is not known. */
export function lagOf(track: Track, isCommittedOnly: boolean): number {
  const end = isCommittedOnly ? track.lastStableOffset : track.highWatermark;
  return end < 0 || track.position < 0 ? -1 : Math.max(0, end - track.position);
}

/** True between any two steps. */
export function checkTrack(track: Track): void {
  assert(track.phase !== 'fetch' || track.fetchPosition >= 0, 'a track is fetched from nowhere');
  assert(track.fetchPosition >= track.position, 'a track is fetched behind its owner');
  let bytes = 0;
  let from = track.position;
  for (const batch of track.queue) {
    assert(batch.nextOffset > from, 'batches wait out of order');
    from = batch.nextOffset;
    bytes += batch.bytes?.length ?? 0;
  }
  assert(track.queue.length === 0 || from === track.fetchPosition, 'a batch is missing from the line');
  assert(bytes === track.queuedBytes, 'bytes that wait are counted wrong');
}
