/**
 * Reading many partitions at once: one fetch at a time to each broker, in a session, for all that is to be read there.
 *
 * Batches wait in their tracks until the owner takes them. Two limits bound what waits: a track with
 * `partitionBytesMax` waiting is not fetched, and all that waits or may come with what is out stays within
 * `prefetchBytesMax`, but that a single batch larger than what was asked for comes whole. Before the first fetch under
 * a new leader the fetcher asks where the epoch of its last batch ended (KIP-320). `fetcher-answers.ts` has the other
 * half.
 *
 * Invariants: a track is in one call at most; `reservedBytes` is the sum over the calls that are out; of a track that
 * was moved or dropped meanwhile, no answer counts. A crash loses all of it.
 */
import { backoffMs } from '../channel/backoff.ts';
import { callPeer, canCall, openPeer, versionFor } from '../channel/channel.ts';
import { assert } from '../lib/assert.ts';
import { ZERO_UUID } from '../lib/uuid.ts';
import type { Env, Outbox } from '../lib/world.ts';
import { ErrorCode, errorInfo } from '../protocol/errors.ts';
import { type Cluster, markStale } from './cluster.ts';
import { nameWishes, newSession, type PartitionWish, type PeerSession } from './fetch-sessions.ts';
import { type Leader, leaderOf } from './metadata.ts';
import { sourceOf } from './nearby.ts';
import { FETCH, LIST_OFFSETS, OFFSET_FOR_LEADER_EPOCH } from './reader-calls.ts';
import type { AbortedTransaction } from './reader-options.ts';
import { allTracks, checkTrack, createTrack, dequeue, type Track, type Tracks, trackOf } from './tracks.ts';

/** How a fetcher behaves; all of it plain data, under Kafka's names where there are any. */
export interface FetcherOptions {
  readonly isolation: 'readUncommitted' | 'readCommitted';
  readonly maxWaitMs: number;
  readonly minBytes: number;
  /** `fetch.max.bytes`: of one answer. */
  readonly fetchBytesMax: number;
  /** `max.partition.fetch.bytes`. */
  readonly partitionBytesMax: number;
  /** Of all that waits for the owner. */
  readonly prefetchBytesMax: number;
  /** `client.rack`; empty where it is not known. */
  readonly rack: string;
  readonly requestTimeoutMs: number;
  readonly retryBackoffMs: number;
  /** `auto.offset.reset`: where to go on when a position is outside of the log. */
  readonly reset: 'none' | 'earliest' | 'latest';
}

/** One partition in a call. */
export interface Part {
  readonly track: Track;
  readonly moves: number;
  readonly offset: number;
  readonly leaderEpoch: number;
  readonly wish: PartitionWish;
  readonly isNearby: boolean;
}

/** A call that is out. */
export interface FetcherCall {
  readonly kind: 'fetch' | 'locate' | 'validate';
  readonly peer: string;
  readonly parts: readonly Part[];
  readonly reservedBytes: number;
}

/** What a fetcher tells. After a fatal error its partition stands still until it is moved. */
export interface FetcherEvent {
  readonly topic: string;
  readonly partition: number;
  readonly error: number;
  readonly message: string;
  readonly isFatal: boolean;
}

/** A batch for the owner; records below `fromOffset` are not for it. */
export interface FetchedBatch {
  readonly topic: string;
  readonly partition: number;
  readonly bytes: Uint8Array;
  readonly fromOffset: number;
  readonly nextOffset: number;
  readonly highWatermark: number;
  readonly aborted: readonly AbortedTransaction[];
}

/** The state, plain data. */
export interface Fetcher {
  readonly options: FetcherOptions;
  readonly tracks: Tracks;
  /** By peer. */
  readonly sessions: Map<string, PeerSession>;
  /** By ticket. */
  readonly calls: Map<number, FetcherCall>;
  /** Tracks where something waits; whose turn it is comes first. */
  readonly ready: Set<Track>;
  reservedBytes: number;
}

/** The longest wait between two attempts. */
const RETRY_BACKOFF_MAX_MS = 1000;
/** The first version of Fetch whose topics go by id. */
const TOPIC_IDS_SINCE = 13;

/** A fetcher that reads nothing yet. */
export function createFetcher(options: FetcherOptions): Fetcher {
  assert(options.partitionBytesMax >= 1, 'a fetch needs room for a byte');
  return { options, tracks: new Map(), sessions: new Map(), calls: new Map(), ready: new Set(), reservedBytes: 0 };
}

/** Begins with a partition, which waits to be moved somewhere; the one that is there already stays as it is. */
export function addTrack(fetcher: Fetcher, topic: string, partition: number): Track {
  const known = trackOf(fetcher.tracks, topic, partition);
  if (known !== null) return known;
  const track = createTrack(topic, partition);
  const byPartition = fetcher.tracks.get(topic) ?? new Map<number, Track>();
  fetcher.tracks.set(topic, byPartition);
  byPartition.set(partition, track);
  return track;
}

/** Ends with a partition: what waits there is dropped, what is under way does not count. */
export function dropTrack(fetcher: Fetcher, topic: string, partition: number): void {
  const byPartition = fetcher.tracks.get(topic);
  const track = byPartition?.get(partition);
  if (byPartition === undefined || track === undefined) return;
  fetcher.ready.delete(track);
  byPartition.delete(partition);
  if (byPartition.size === 0) fetcher.tracks.delete(topic);
}

/** Bytes that wait for the owner. */
export function waitingBytes(fetcher: Fetcher): number {
  let bytes = 0;
  for (const track of fetcher.ready) bytes += track.queuedBytes;
  return bytes;
}

/** Whether something waits that is not held back. */
export function hasBatches(fetcher: Fetcher): boolean {
  for (const track of fetcher.ready) {
    if (!track.isPaused && !track.isHeld && track.queue.some(({ bytes }) => bytes !== null)) return true;
  }
  return false;
}

/** Batches for the owner, a partition at a time and each in its turn, until `bytesMax` is reached; one at least. */
export function takeBatches(fetcher: Fetcher, bytesMax: number): FetchedBatch[] {
  const taken: FetchedBatch[] = [];
  let bytes = 0;
  for (const track of [...fetcher.ready]) {
    if (track.isPaused || track.isHeld || bytes >= bytesMax) continue;
    fetcher.ready.delete(track);
    for (let batch = dequeue(track); batch !== null; batch = bytes < bytesMax ? dequeue(track) : null) {
      if (batch.bytes === null) continue;
      bytes += batch.bytes.length;
      const { topic, partition, highWatermark } = track;
      const { fromOffset, nextOffset, aborted } = batch;
      taken.push({ topic, partition, bytes: batch.bytes, fromOffset, nextOffset, highWatermark, aborted });
    }
    // Whoever has more goes to the end.
    if (track.queue.length > 0) fetcher.ready.add(track);
  }
  return taken;
}

/** Tries a track again later. */
export function retryTrack(track: Track, cluster: Cluster, env: Env): void {
  track.failures += 1;
  const { channel, options } = cluster;
  track.retryAtMs = env.nowMs + backoffMs(channel, track.failures, options.retryBackoffMs, RETRY_BACKOFF_MAX_MS);
}

/** Stops a track for good. */
export function stopTrack(track: Track, error: number, events: FetcherEvent[], message?: string): void {
  const { topic, partition } = track;
  track.phase = 'stopped';
  events.push({ topic, partition, error, message: message ?? errorInfo(error).message, isFatal: true });
}

/** Makes every call that can be made. */
export function driveFetcher(fetcher: Fetcher, cluster: Cluster, env: Env, out: Outbox, events: FetcherEvent[]): void {
  const byPeer = new Map<string, Map<FetcherCall['kind'], Part[]>>();
  for (const track of allTracks(fetcher.tracks)) {
    const source = sourceFor(fetcher, track, cluster, env, events);
    if (source === null) continue;
    openPeer(cluster.channel, env, source.leader.address, out);
    const kinds = byPeer.get(source.leader.peer) ?? new Map<FetcherCall['kind'], Part[]>();
    byPeer.set(source.leader.peer, kinds);
    const kind = track.phase === 'fetch' ? 'fetch' : track.phase === 'locate' ? 'locate' : 'validate';
    const parts = kinds.get(kind) ?? [];
    kinds.set(kind, parts);
    parts.push(partOf(fetcher, track, source.leader, source.isNearby));
  }
  for (const [peer, kinds] of byPeer) {
    // Questions first: an answer to a fetch may be long in coming.
    for (const kind of ['validate', 'locate', 'fetch'] as const) {
      const parts = kinds.get(kind);
      if (parts !== undefined) send(fetcher, cluster, env, { kind, peer, parts }, out, events);
    }
  }
}

/** Whom to ask about a track now; null where nothing is to be asked. */
function sourceFor(
  fetcher: Fetcher,
  track: Track,
  cluster: Cluster,
  env: Env,
  events: FetcherEvent[],
): { leader: Leader; isNearby: boolean } | null {
  const { topic, partition, phase, isPaused, isHeld } = track;
  const isAtRest = isHeld || phase === 'waiting' || phase === 'stopped' || (isPaused && phase === 'fetch');
  if (isAtRest || track.call !== 0 || track.retryAtMs > env.nowMs) return null;
  if (track.phase === 'fetch' && track.queuedBytes >= fetcher.options.partitionBytesMax) return null;
  const topicError = cluster.view.topics.get(topic)?.error ?? ErrorCode.NONE;
  if (topicError !== ErrorCode.NONE && !errorInfo(topicError).retriable) {
    stopTrack(track, topicError, events);
    return null;
  }
  const leader = leaderOf(cluster.view, topic, partition);
  if (leader === null) {
    markStale(cluster);
    return null;
  }
  const isNewLeader = track.fetchEpoch >= 0 && leader.leaderEpoch > track.validatedEpoch;
  if (track.phase === 'fetch' && isNewLeader) track.phase = 'validate';
  const source = track.phase === 'fetch' ? sourceOf(leader, track.nearby, env.nowMs) : leader;
  return { leader: source, isNearby: source !== leader };
}

function partOf(fetcher: Fetcher, track: Track, leader: Leader, isNearby: boolean): Part {
  const { topic, partition, moves, fetchPosition } = track;
  const { topicId, leaderEpoch } = leader;
  const bytesMax = fetcher.options.partitionBytesMax;
  const wish = { topic, topicId, partition, leaderEpoch, offset: fetchPosition, bytesMax };
  return { track, moves, offset: fetchPosition, leaderEpoch, wish, isNearby };
}

type Sending = Pick<FetcherCall, 'kind' | 'peer' | 'parts'>;

function send(
  fetcher: Fetcher,
  cluster: Cluster,
  env: Env,
  sending: Sending,
  out: Outbox,
  events: FetcherEvent[],
): void {
  const { kind, peer, parts } = sending;
  if (!canCall(cluster.channel, peer)) return;
  let reservedBytes = 0;
  if (kind === 'fetch') {
    for (const call of fetcher.calls.values()) if (call.kind === 'fetch' && call.peer === peer) return;
    const { prefetchBytesMax, fetchBytesMax, partitionBytesMax } = fetcher.options;
    const room = prefetchBytesMax - waitingBytes(fetcher) - fetcher.reservedBytes;
    if (room <= 0) return;
    reservedBytes = Math.min(room, fetchBytesMax, parts.length * partitionBytesMax);
  }
  const ticket =
    kind === 'fetch'
      ? callFetch(fetcher, cluster, env, sending, reservedBytes, out)
      : kind === 'locate'
        ? callLocate(fetcher, cluster, env, sending, out)
        : callValidate(cluster, env, sending, out);
  if (ticket < 0) {
    for (const { track } of parts) stopTrack(track, ErrorCode.UNSUPPORTED_VERSION, events);
    return;
  }
  for (const { track } of parts) track.call = ticket;
  fetcher.reservedBytes += reservedBytes;
  fetcher.calls.set(ticket, { ...sending, reservedBytes });
}

function callFetch(
  fetcher: Fetcher,
  cluster: Cluster,
  env: Env,
  { peer, parts }: Sending,
  maxBytes: number,
  out: Outbox,
): number {
  const hasIds = parts.every(({ wish }) => wish.topicId !== ZERO_UUID);
  const version = versionFor(cluster.channel, peer, FETCH, hasIds ? undefined : TOPIC_IDS_SINCE - 1);
  if (version < 0) return -1;
  const session = fetcher.sessions.get(peer) ?? newSession();
  fetcher.sessions.set(peer, session);
  const { isolation, maxWaitMs, minBytes, rack, requestTimeoutMs } = fetcher.options;
  const named = nameWishes(
    session,
    parts.map(({ wish }) => wish),
  );
  const body = {
    maxWaitMs,
    minBytes,
    maxBytes,
    isolationLevel: isolation === 'readCommitted' ? 1 : 0,
    ...named,
    rackId: rack,
  };
  const timeoutMs = requestTimeoutMs + maxWaitMs;
  return callPeer(cluster.channel, env, peer, { apiKey: FETCH, version, body, timeoutMs }, out);
}

function callLocate(fetcher: Fetcher, cluster: Cluster, env: Env, { peer, parts }: Sending, out: Outbox): number {
  const version = versionFor(cluster.channel, peer, LIST_OFFSETS);
  if (version < 0) return -1;
  const topics = [...grouped(parts)].map(([name, ofTopic]) => ({
    name,
    partitions: ofTopic.map(({ track, leaderEpoch }) => ({
      partitionIndex: track.partition,
      currentLeaderEpoch: leaderEpoch,
      timestamp: track.goal,
    })),
  }));
  const { isolation, requestTimeoutMs } = fetcher.options;
  const isolationLevel = version >= 2 && isolation === 'readCommitted' ? 1 : 0;
  const body = { replicaId: -1, isolationLevel, topics, timeoutMs: requestTimeoutMs };
  return callPeer(cluster.channel, env, peer, { apiKey: LIST_OFFSETS, version, body }, out);
}

function callValidate(cluster: Cluster, env: Env, { peer, parts }: Sending, out: Outbox): number {
  const version = versionFor(cluster.channel, peer, OFFSET_FOR_LEADER_EPOCH);
  if (version < 0) return -1;
  const topics = [...grouped(parts)].map(([topic, ofTopic]) => ({
    topic,
    partitions: ofTopic.map(({ track, leaderEpoch }) => ({
      partition: track.partition,
      currentLeaderEpoch: leaderEpoch,
      leaderEpoch: track.fetchEpoch,
    })),
  }));
  const call = { apiKey: OFFSET_FOR_LEADER_EPOCH, version, body: { replicaId: -1, topics } } as const;
  return callPeer(cluster.channel, env, peer, call, out);
}

function grouped(parts: readonly Part[]): Map<string, Part[]> {
  const topics = new Map<string, Part[]>();
  for (const part of parts) {
    const ofTopic = topics.get(part.track.topic);
    if (ofTopic === undefined) topics.set(part.track.topic, [part]);
    else ofTopic.push(part);
  }
  return topics;
}

/** When the fetcher next wants a 'wake', given that all that was possible at `drivenAtMs` has been done. */
export function fetcherDeadlineMs(fetcher: Fetcher, drivenAtMs: number): number {
  let deadlineMs = Number.POSITIVE_INFINITY;
  for (const { retryAtMs, phase } of allTracks(fetcher.tracks)) {
    const isAtRest = phase === 'waiting' || phase === 'stopped';
    if (!isAtRest && retryAtMs > drivenAtMs) deadlineMs = Math.min(deadlineMs, retryAtMs);
  }
  return deadlineMs;
}

/** True between any two steps. */
export function checkFetcher(fetcher: Fetcher): void {
  let reservedBytes = 0;
  for (const call of fetcher.calls.values()) reservedBytes += call.reservedBytes;
  assert(reservedBytes === fetcher.reservedBytes, 'room for answers is counted wrong');
  for (const track of allTracks(fetcher.tracks)) {
    checkTrack(track);
    assert(track.call === 0 || fetcher.calls.has(track.call), 'a track awaits a call that is not out');
    assert(track.queue.length > 0 === fetcher.ready.has(track), 'what waits is not in turn');
  }
}
