/**
 * Fetch sessions (KIP-227) of a consumer of many partitions: one with each broker that it reads from.
 *
 * A session lets a request name only what has changed: partitions that are wanted in another way than the broker knows,
 * and those that are wanted no more. Whatever goes wrong, the next request is a full one; it names the old session, so
 * that the broker drops it. Invariant: `known` is what the broker has been told in the session, as far as we know. A
 * crash loses our half; the broker drops its own in time.
 */
import type { RequestInputOf } from '../protocol/messages/index.ts';

/** Our half of the session with one broker; plain data. */
export interface PeerSession {
  /** 0 for none. */
  id: number;
  /** Of the next request; 0 asks for a new session. */
  epoch: number;
  /** By `wishKey`: what the broker knows, and how the partition is named to it. */
  known: Map<string, { readonly told: string; readonly wish: PartitionWish }>;
}

/** One partition that is wanted. */
export interface PartitionWish {
  readonly topic: string;
  readonly topicId: string;
  readonly partition: number;
  readonly leaderEpoch: number;
  readonly offset: number;
  readonly bytesMax: number;
}

type FetchInput = RequestInputOf<1>;

const EPOCH_MAX = 0x7fffffff;

/** No session: the next request is a full one. */
export function newSession(): PeerSession {
  return { id: 0, epoch: 0, known: new Map() };
}

function wishKey({ topic, topicId, partition }: PartitionWish): string {
  return `${topicId} ${topic} ${partition}`;
}

function told({ leaderEpoch, offset, bytesMax }: PartitionWish): string {
  return `${leaderEpoch} ${offset} ${bytesMax}`;
}

/** What of the wishes a request must name, and what it must take back; the session knows it from then on. */
export function nameWishes(
  session: PeerSession,
  wishes: readonly PartitionWish[],
): Pick<FetchInput, 'topics' | 'forgottenTopicsData' | 'sessionId' | 'sessionEpoch'> {
  const isFull = session.epoch === 0;
  const before = isFull ? new Map<string, { told: string; wish: PartitionWish }>() : session.known;
  const known: PeerSession['known'] = new Map();
  const named: PartitionWish[] = [];
  for (const wish of wishes) {
    const key = wishKey(wish);
    known.set(key, { told: told(wish), wish });
    if (before.get(key)?.told !== told(wish)) named.push(wish);
  }
  const dropped: PartitionWish[] = [];
  for (const [key, { wish }] of before) if (!known.has(key)) dropped.push(wish);
  session.known = known;
  return {
    sessionId: session.id,
    sessionEpoch: session.epoch,
    topics: byTopic(named, ({ partition, leaderEpoch, offset, bytesMax }) => ({
      partition,
      currentLeaderEpoch: leaderEpoch,
      fetchOffset: offset,
      partitionMaxBytes: bytesMax,
    })),
    forgottenTopicsData: byTopic(dropped, ({ partition }) => partition),
  };
}

function byTopic<T>(
  wishes: readonly PartitionWish[],
  partOf: (wish: PartitionWish) => T,
): { topic: string; topicId: string; partitions: T[] }[] {
  const topics = new Map<string, { topic: string; topicId: string; partitions: T[] }>();
  for (const wish of wishes) {
    const key = `${wish.topicId} ${wish.topic}`;
    const entry = topics.get(key) ?? { topic: wish.topic, topicId: wish.topicId, partitions: [] };
    topics.set(key, entry);
    entry.partitions.push(partOf(wish));
  }
  return [...topics.values()];
}

/** Takes over what a good answer says of the session; id 0 means that the broker keeps none. */
export function sessionAnswered(session: PeerSession, id: number): void {
  if (id === 0) {
    dropSession(session);
    return;
  }
  session.epoch = id !== session.id || session.epoch === EPOCH_MAX ? 1 : session.epoch + 1;
  session.id = id;
}

/** The next request is a full one that lets the broker know which session ends. */
export function restartSession(session: PeerSession): void {
  session.epoch = 0;
}

/** The broker knows no such session. */
export function dropSession(session: PeerSession): void {
  session.id = 0;
  session.epoch = 0;
  session.known = new Map();
}

/** The broker may leave a partition that had an error out of its answers until it is named anew. */
export function nameAnew(session: PeerSession, wish: PartitionWish): void {
  const key = wishKey(wish);
  if (session.known.has(key)) session.known.set(key, { told: '', wish });
}
