/**
 * Fetch from the client's side: the session with one broker, a request's body, and the batches of an answer.
 *
 * A session (KIP-227) lets a request name only what has changed. It belongs to one connection's peer: when the leader
 * moves, the connection ends or the broker forgets it, the next request is a full one that opens another and, as far
 * as the broker is concerned, closes the old one. No state beyond `FetchSession`; a crash loses it and the broker
 * drops its half in time.
 */
import type { Env } from '../lib/world.ts';
import * as batch from '../protocol/batch.ts';
import type { RequestInputOf, ResponseOf } from '../protocol/messages/index.ts';

/** The session that the next request belongs to. */
export interface FetchSession {
  /** 0 for none. */
  id: number;
  /** Of the next request; 0 asks for a new session. */
  epoch: number;
  /** The peer that keeps the other half. */
  peer: string;
  /** What the broker knows of the partition: when nothing differs, the request need not name it. */
  known: string;
}

const EPOCH_MAX = 0x7fffffff;

/** No session: the next request is a full one. */
export function noSession(): FetchSession {
  return { id: 0, epoch: 0, peer: '', known: '' };
}

/** Gives up the session but lets the broker know at the next full request. */
export function endSession(session: FetchSession): void {
  session.epoch = 0;
  session.known = '';
}

/** Takes over what a good answer says of the session; id 0 means that the broker keeps none. */
export function keepSession(session: FetchSession, peer: string, id: number): void {
  if (id === 0) {
    Object.assign(session, noSession());
    return;
  }
  session.epoch = id !== session.id || session.epoch === EPOCH_MAX ? 1 : session.epoch + 1;
  session.id = id;
  session.peer = peer;
}

/** What a reader asks for. */
export interface FetchWish {
  readonly topic: string;
  readonly topicId: string;
  readonly partition: number;
  readonly leaderEpoch: number;
  readonly offset: number;
  readonly maxWaitMs: number;
  readonly minBytes: number;
  readonly maxBytes: number;
  /** Kafka's number: 0 reads uncommitted records, 1 does not. */
  readonly isolationLevel: number;
  /** Where the reader stands; '' where it does not say. */
  readonly rackId: string;
  /** It is a replica near the reader that is asked, and not the leader. */
  readonly isNearby: boolean;
}

/** The body for any version; the partition is left out where the session knows all of it. */
export function fetchBody(session: FetchSession, peer: string, wish: FetchWish): RequestInputOf<1> {
  if (session.peer !== peer && session.id !== 0) Object.assign(session, noSession());
  const { topic, topicId, partition, leaderEpoch, offset, maxWaitMs, minBytes, maxBytes, isolationLevel } = wish;
  const known = `${topicId} ${leaderEpoch} ${offset} ${maxBytes}`;
  const isKnown = session.epoch > 0 && session.known === known;
  session.known = known;
  const asked = {
    partition,
    currentLeaderEpoch: leaderEpoch,
    fetchOffset: offset,
    partitionMaxBytes: maxBytes,
  };
  return {
    maxWaitMs,
    minBytes,
    maxBytes,
    isolationLevel,
    sessionId: session.id,
    sessionEpoch: session.epoch,
    topics: isKnown ? [] : [{ topic, topicId, partitions: [asked] }],
    forgottenTopicsData: [],
    rackId: wish.rackId,
  };
}

/** What a broker says of one partition. */
export type FetchAnswer = ResponseOf<1>['responses'][number]['partitions'][number];

/** The part of an answer that is about the partition; null where nothing has changed. */
export function answerFor(body: ResponseOf<1>, wish: FetchWish): FetchAnswer | null {
  for (const topic of body.responses) {
    if (topic.topic !== wish.topic && topic.topicId !== wish.topicId) continue;
    for (const answer of topic.partitions) if (answer.partitionIndex === wish.partition) return answer;
  }
  return null;
}

/** One batch of an answer that holds something at or above the position. */
export interface FoundBatch {
  readonly bytes: Uint8Array;
  readonly nextOffset: number;
  readonly leaderEpoch: number;
  /** It holds records for the application: it is neither a control batch nor empty. */
  readonly hasRecords: boolean;
}

/**
 * The batches of `records` that reach `position`, oldest first, each one's checksum right. 'corrupt' ends the list
 * where a batch is not sound or does not follow its predecessor; a last batch that is cut off ends it quietly, unless
 * it is the only one, because then there would be no way forward.
 */
export function readBatches(
  records: Uint8Array,
  position: number,
  env: Env,
): { readonly batches: readonly FoundBatch[]; readonly end: 'whole' | 'corrupt' } {
  const view = batch.dataViewOf(records);
  const batches: FoundBatch[] = [];
  let from = position;
  let at = 0;
  while (at < records.length) {
    const end = batch.batchEnd(view, at, records.length);
    if (end === batch.BATCH_TRUNCATED && at > 0) break;
    if (end < 0 || batch.magic(view, at) !== batch.MAGIC) return { batches, end: 'corrupt' };
    if (!batch.crcHolds(records, view, at, env.crc32c)) return { batches, end: 'corrupt' };
    const nextOffset = batch.nextOffset(view, at);
    if (nextOffset > from) {
      // A batch that begins below the one before it would hand out offsets twice.
      if (batches.length > 0 && batch.baseOffset(view, at) < from) return { batches, end: 'corrupt' };
      const hasRecords = !batch.isControl(view, at) && batch.recordsCount(view, at) > 0;
      const leaderEpoch = batch.leaderEpoch(view, at);
      batches.push({ bytes: records.subarray(at, end), nextOffset, leaderEpoch, hasRecords });
      from = nextOffset;
    }
    at = end;
  }
  return { batches, end: 'whole' };
}
