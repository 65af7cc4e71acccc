/**
 * The three calls of a reader: where the log starts or ends, where an epoch ended, and what comes next. No state.
 */
import { callPeer, versionFor } from '../channel/channel.ts';
import { ZERO_UUID } from '../lib/uuid.ts';
import type { Env, Outbox } from '../lib/world.ts';
import { type FetchWish, fetchBody } from './fetch-call.ts';
import type { Leader } from './metadata.ts';
import type { Reader } from './reader.ts';

/** API keys. */
export const FETCH = 1;
/** The same of ListOffsets. */
export const LIST_OFFSETS = 2;
/** The same of OffsetForLeaderEpoch. */
export const OFFSET_FOR_LEADER_EPOCH = 23;
/** Default of `requestTimeoutMs`. */
export const REQUEST_TIMEOUT_MS = 30_000;
/** ListOffsets: the end and the start of the log. */
const LATEST = -1;
const EARLIEST = -2;
/** The first version of Fetch whose topics go by id. */
const TOPIC_IDS_SINCE = 13;

/** What the reader wants of a partition's leader now, or of a replica nearby. */
export function wishOf(reader: Reader, { leaderEpoch, topicId }: Leader, isNearby: boolean): FetchWish {
  const { topic, partition, maxWaitMs, minBytes, maxBytes, isolation, rack = '' } = reader.options;
  const isolationLevel = isolation === 'readCommitted' ? 1 : 0;
  return {
    topic,
    topicId,
    partition,
    leaderEpoch,
    offset: reader.position,
    maxWaitMs,
    minBytes,
    maxBytes,
    isolationLevel,
    rackId: rack,
    isNearby,
  };
}

/** Makes the call of the phase; its ticket, or -1 if the broker speaks no version of it that we do. */
export function call(reader: Reader, env: Env, peer: string, wish: FetchWish, out: Outbox): number {
  const { channel } = reader.cluster;
  const { topic, partition, leaderEpoch } = wish;
  if (reader.phase === 'locate') {
    const version = versionFor(channel, peer, LIST_OFFSETS);
    if (version < 0) return -1;
    const timestamp = reader.goal === 'earliest' ? EARLIEST : LATEST;
    const partitions = [{ partitionIndex: partition, currentLeaderEpoch: leaderEpoch, timestamp }];
    const isolationLevel = version < 2 ? 0 : wish.isolationLevel;
    const { requestTimeoutMs = REQUEST_TIMEOUT_MS } = reader.options;
    const body = { replicaId: -1, isolationLevel, topics: [{ name: topic, partitions }], timeoutMs: requestTimeoutMs };
    return callPeer(channel, env, peer, { apiKey: LIST_OFFSETS, version, body }, out);
  }
  if (reader.phase === 'validate') {
    const version = versionFor(channel, peer, OFFSET_FOR_LEADER_EPOCH);
    if (version < 0) return -1;
    const partitions = [{ partition, currentLeaderEpoch: leaderEpoch, leaderEpoch: reader.positionEpoch }];
    const body = { replicaId: -1, topics: [{ topic, partitions }] };
    return callPeer(channel, env, peer, { apiKey: OFFSET_FOR_LEADER_EPOCH, version, body }, out);
  }
  const hasId = wish.topicId !== ZERO_UUID;
  const version = versionFor(channel, peer, FETCH, hasId ? undefined : TOPIC_IDS_SINCE - 1);
  if (version < 0) return -1;
  const { requestTimeoutMs = REQUEST_TIMEOUT_MS, maxWaitMs } = reader.options;
  const body = fetchBody(reader.session, peer, wish);
  return callPeer(channel, env, peer, { apiKey: FETCH, version, body, timeoutMs: requestTimeoutMs + maxWaitMs }, out);
}
