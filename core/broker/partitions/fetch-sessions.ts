/**
 * Fetch sessions (KIP-227): what a client reads, remembered between its fetches.
 *
 * A session is a standing subscription. When a partition's high watermark moves, its subscriptions are marked dirty,
 * and those of replicas already when something is appended; a fetch visits dirty ones only, in rotation, and leaves
 * those dirty that may have more to say. A fetch without a session is served the same way, by a session that lives as
 * long as the fetch. At most max.incremental.fetch.session.cache.slots sessions are remembered; a newcomer may take the
 * place of one that was not used for STALE_MS, or of a smaller one that is older than that, but no client takes that of
 * a replica. A crash forgets all: clients start anew.
 */
import { assert } from '../../lib/assert.ts';
import type { Timed } from '../../lib/heap.ts';
import { createQueue, dequeue, enqueue, type Queue } from '../../lib/queue.ts';
import type { FetchRequest, FetchResponse } from '../../protocol/messages/01-fetch.ts';
import type { Partition, Request } from '../state.ts';

/** A session that was not used for so long may be replaced, ms: Kafka's min.incremental.fetch.session.eviction.ms. */
export const STALE_MS = 120_000;
/** Partitions in one session. */
export const SUBSCRIPTIONS_MAX = 100_000;

/** What a request says about one partition. */
export type FetchPartition = FetchRequest['topics'][number]['partitions'][number];
/** What is answered about one partition. */
export type FetchAnswer = FetchResponse['responses'][number]['partitions'][number];

/** One partition in one session. */
export interface Subscription {
  readonly session: FetchSession;
  /** As the client names the topic: the other is empty or zero. */
  readonly topic: string;
  readonly topicId: string;
  readonly index: number;
  /** Null while this node knows no such partition: the client is told so in each answer. */
  partition: Partition | null;
  /** Where it is in `partition.subscriptions`; -1 without a partition. */
  place: number;
  /** What the client asks for: its next offset, and so on. */
  asked: FetchPartition;
  /** Whether it is in `session.dirty`. */
  isDirty: boolean;
  /** False once the client has forgotten it. */
  isAlive: boolean;
  /** Of a replica: the leader has noted what it said by listing the partition. */
  isNoted: boolean;
  /** What the client was told last; -1 before it was told anything. */
  toldHighWatermark: number;
  toldLogStart: number;
}

/** What one client reads. */
export interface FetchSession {
  /** 0: not remembered. */
  readonly id: number;
  /** The epoch that the next request must have. */
  epoch: number;
  /** Whether the client names topics by id: it may not change its mind within a session. */
  readonly usesTopicIds: boolean;
  /** Another broker follows with it. */
  readonly isReplica: boolean;
  /** The registration of that broker, as its last fetch has it. */
  replicaEpoch: number;
  readonly subscriptions: Map<string, Subscription>;
  /** Those that may have something to say, the longest waiting first. Holds forgotten ones too. */
  readonly dirty: Queue<Subscription>;
  /** The fetch that waits for more bytes. */
  parked: Fetch | null;
  readonly createdMs: number;
  usedMs: number;
}

/** What a fetch has found of one partition. */
export interface FetchSlot {
  readonly fetch: Fetch;
  readonly subscription: Subscription;
  readonly answer: FetchAnswer;
  /** What its read of files may bring, charged to the budget of answers; 0 without a read under way. */
  readingBytes: number;
}

/** One Fetch request at work. */
export interface Fetch extends Timed {
  readonly kind: 'fetch';
  readonly request: Request;
  readonly session: FetchSession;
  /** Every partition is answered, not only those with news. */
  readonly isFull: boolean;
  readonly minBytes: number;
  readonly maxBytes: number;
  readonly untilMs: number;
  readonly isolationLevel: number;
  /** The broker that follows; -1 for a client. */
  readonly replicaId: number;
  /** Where the client stands; empty where it does not say. */
  readonly rackId: string;
  stage: 'collecting' | 'reading' | 'parked' | 'ripe' | 'done';
  slots: FetchSlot[];
  /** Reads from files that have not ended. */
  pendingReads: number;
  /** Bytes found, or while parked: found and committed since. */
  bytes: number;
  hasErrors: boolean;
}

/** All sessions of a node. */
export interface Sessions {
  readonly byId: Map<number, FetchSession>;
  /** Where session ids come from: they only need to differ from those of the node's earlier lives. */
  seed: number;
}

/** No sessions. */
export function createSessions(): Sessions {
  return { byId: new Map(), seed: 1 };
}

/** What kind of session is wanted. */
export interface SessionOptions {
  readonly isRemembered: boolean;
  readonly usesTopicIds: boolean;
  readonly isReplica: boolean;
  /** Of the broker that follows; -1 for a client. */
  readonly replicaEpoch: number;
  /** Partitions that it will have. */
  readonly size: number;
  readonly slotsMax: number;
  readonly nowMs: number;
}

/** A session without partitions; remembered under an id if there is room, and then its first epoch is 1. */
export function createSession(sessions: Sessions, options: SessionOptions): FetchSession {
  const isRemembered = options.isRemembered && makeRoom(sessions, options);
  const session: FetchSession = {
    id: isRemembered ? freshId(sessions) : 0,
    epoch: 1,
    usesTopicIds: options.usesTopicIds,
    isReplica: options.isReplica,
    replicaEpoch: options.replicaEpoch,
    subscriptions: new Map(),
    dirty: createQueue(),
    parked: null,
    createdMs: options.nowMs,
    usedMs: options.nowMs,
  };
  if (session.id !== 0) sessions.byId.set(session.id, session);
  return session;
}

/** Forgets a session; a fetch of it that is under way is not touched. */
export function dropSession(sessions: Sessions, session: FetchSession): void {
  for (const subscription of session.subscriptions.values()) unsubscribe(subscription);
  session.subscriptions.clear();
  if (session.id !== 0) sessions.byId.delete(session.id);
}

/** The key of a partition in a session, by whichever name the client uses. */
export function subscriptionKey(topic: string, index: number): string {
  return `${topic}/${index}`;
}

/**
 * Adds a partition, or takes what the client now asks of it; either way it may have something to say. Null where the
 * session has no room for it.
 */
export function subscribe(
  session: FetchSession,
  topic: string,
  topicId: string,
  asked: FetchPartition,
  partition: Partition | null,
): Subscription | null {
  const key = subscriptionKey(session.usesTopicIds ? topicId : topic, asked.partition);
  let subscription = session.subscriptions.get(key);
  if (subscription === undefined) {
    if (session.subscriptions.size >= SUBSCRIPTIONS_MAX) return null;
    subscription = {
      session,
      topic,
      topicId,
      index: asked.partition,
      partition: null,
      place: -1,
      asked,
      isDirty: false,
      isAlive: true,
      isNoted: false,
      toldHighWatermark: -1,
      toldLogStart: -1,
    };
    session.subscriptions.set(key, subscription);
    if (partition !== null) bindSubscription(subscription, partition);
  }
  subscription.asked = asked;
  subscription.isNoted = false;
  markDirty(subscription);
  return subscription;
}

/** The partition is known from now on. */
export function bindSubscription(subscription: Subscription, partition: Partition): void {
  assert(subscription.partition === null, 'a subscription is bound once');
  subscription.partition = partition;
  subscription.place = partition.subscriptions.length;
  partition.subscriptions.push(subscription);
}

/** The client no longer reads the partition. */
export function forget(session: FetchSession, key: string): void {
  const subscription = session.subscriptions.get(key);
  if (subscription === undefined) return;
  unsubscribe(subscription);
  session.subscriptions.delete(key);
}

/** The partition may have something to say to this session. */
export function markDirty(subscription: Subscription): void {
  if (subscription.isDirty) return;
  subscription.isDirty = true;
  enqueue(subscription.session.dirty, subscription);
}

/**
 * The broker that follows has registered anew and goes on with its session: what it has listed it has as that one, and
 * only as that one it may be in sync (KIP-903). It lists nothing again that stands still.
 */
export function renewReplica(session: FetchSession, replicaEpoch: number): void {
  if (session.replicaEpoch === replicaEpoch) return;
  session.replicaEpoch = replicaEpoch;
  for (const subscription of session.subscriptions.values()) {
    subscription.isNoted = false;
    markDirty(subscription);
  }
}

/** The next partition to visit; undefined when no more is dirty. */
export function nextDirty(session: FetchSession): Subscription | undefined {
  for (let next = dequeue(session.dirty); next !== undefined; next = dequeue(session.dirty)) {
    next.isDirty = false;
    if (next.isAlive) return next;
  }
  return undefined;
}

/** Throws AssertionError if a subscription and its partition disagree. */
export function checkSession(session: FetchSession): void {
  for (const subscription of session.subscriptions.values()) {
    assert(subscription.isAlive, 'a forgotten subscription is still listed');
    if (subscription.partition === null) continue;
    assert(
      subscription.partition.subscriptions[subscription.place] === subscription,
      'a subscription does not know its place',
    );
  }
}

function unsubscribe(subscription: Subscription): void {
  subscription.isAlive = false;
  const { partition, place } = subscription;
  if (partition === null) return;
  const last = partition.subscriptions.pop();
  assert(last !== undefined, 'a partition has lost a subscription');
  if (last !== subscription) {
    partition.subscriptions[place] = last;
    last.place = place;
  }
  subscription.partition = null;
  subscription.place = -1;
}

/** Whether such a session may be remembered; may forget another for it. */
function makeRoom(sessions: Sessions, { size, slotsMax, nowMs, isReplica }: SessionOptions): boolean {
  if (sessions.byId.size < slotsMax) return true;
  let oldest: FetchSession | null = null;
  let smallest: FetchSession | null = null;
  for (const session of sessions.byId.values()) {
    if (session.parked !== null || (session.isReplica && !isReplica)) continue;
    if (oldest === null || session.usedMs < oldest.usedMs) oldest = session;
    if (nowMs - session.createdMs < STALE_MS) continue;
    if (smallest === null || session.subscriptions.size < smallest.subscriptions.size) smallest = session;
  }
  const victim =
    oldest !== null && nowMs - oldest.usedMs >= STALE_MS
      ? oldest
      : smallest !== null && smallest.subscriptions.size < size
        ? smallest
        : null;
  if (victim !== null) dropSession(sessions, victim);
  return victim !== null;
}

/** A positive 31-bit id that no session has: a step of a xorshift generator (Marsaglia, 2003). */
function freshId(sessions: Sessions): number {
  for (;;) {
    let next = sessions.seed | 0;
    next ^= next << 13;
    next ^= next >>> 17;
    next ^= next << 5;
    sessions.seed = next;
    const id = next & 0x7fffffff;
    if (id !== 0 && !sessions.byId.has(id)) return id;
  }
}
