/**
 * Fetch: v4–18. Reads whole batches from many partitions, waiting for the client's minimum of bytes.
 *
 * Since version 7 a client may keep a session (KIP-227): epoch 0 asks for a new one and lists all partitions, a
 * later epoch lists what changed, epoch -1 ends it. Version 12 brings the epoch of the last record that the client
 * has, to find out that its log went another way (KIP-595), version 13 names topics by id. The work itself is in
 * `fetch.ts`, the sessions are in `fetch-sessions.ts`.
 */
import { ZERO_UUID } from '../../lib/uuid.ts';
import type { Env, Outbox } from '../../lib/world.ts';
import { ErrorCode } from '../../protocol/errors.ts';
import type { FetchRequest } from '../../protocol/messages/01-fetch.ts';
import { noteReplica } from '../../replication/serve.ts';
import { answer } from '../answers.ts';
import { answerSoon, collect, harvest, ripen } from '../partitions/fetch.ts';
import {
  createSession,
  dropSession,
  type Fetch,
  type FetchSession,
  forget,
  renewReplica,
  subscribe,
  subscriptionKey,
} from '../partitions/fetch-sessions.ts';
import { touch } from '../partitions/partitions.ts';
import type { Node, Partition, Request } from '../state.ts';

const KEY = 1;
const FIRST_EPOCH = 0;
const FINAL_EPOCH = -1;
const EPOCH_MAX = 0x7fffffff;
/** The longest that a fetch may wait, ms; clients ask for less than a second. */
const WAIT_MS_MAX = 0x7fffffff;

/** Answers at once when there is enough, else when there is or when the client's time is over. */
export function handleFetch(node: Node, env: Env, request: Request, body: FetchRequest, out: Outbox): void {
  const usesTopicIds = request.version >= 13;
  const isNew = body.sessionEpoch === FIRST_EPOCH || body.sessionEpoch === FINAL_EPOCH;
  const known = body.sessionId === 0 ? undefined : node.sessions.byId.get(body.sessionId);
  const error = isNew ? ErrorCode.NONE : checkSession(known, body, usesTopicIds);
  if (error !== ErrorCode.NONE) {
    answer(node, request, KEY, { throttleTimeMs: 0, errorCode: error, sessionId: 0, responses: [] });
    return;
  }
  // A fetch behind a parked one of its session completes that one at once, before it changes the session.
  const parked = known?.parked ?? null;
  if (parked !== null) {
    ripen(node, parked);
    harvest(node, env, parked, out);
  }
  const replicaId = request.version >= 15 ? body.replicaState.replicaId : body.replicaId;
  const isReplica = replicaId >= 0;
  let session = sessionFor(node, env, known, usesTopicIds, isReplica, body);
  // Any client may call itself a replica: what is no broker is not remembered.
  if (isReplica && node.image.cluster.brokers.has(replicaId)) node.contact.fetchedMs.set(replicaId, env.nowMs);
  if (!takeChanges(node, env, session, replicaId, body)) {
    answer(node, request, KEY, {
      throttleTimeMs: 0,
      errorCode: ErrorCode.INVALID_REQUEST,
      sessionId: 0,
      responses: [],
    });
    dropSession(node.sessions, session);
    return;
  }
  if (!isNew && session.subscriptions.size === 0) {
    // It reads nothing any more: the answer says that there is no session, and its place is free.
    dropSession(node.sessions, session);
    session = createSession(node.sessions, {
      isRemembered: false,
      usesTopicIds,
      isReplica,
      replicaEpoch: session.replicaEpoch,
      size: 0,
      slotsMax: 0,
      nowMs: env.nowMs,
    });
  }
  const fetch = begin(node, env, request, session, replicaId, isNew, body);
  request.fetch = fetch;
  if (isReplica && !isNew) answerSoon(node, env, fetch);
  else collect(node, env, fetch, out);
}

/** The session that this fetch goes on with, or the one that it begins. */
function sessionFor(
  { sessions, config }: Node,
  { nowMs }: Env,
  known: FetchSession | undefined,
  usesTopicIds: boolean,
  isReplica: boolean,
  body: FetchRequest,
): FetchSession {
  const isNew = body.sessionEpoch === FIRST_EPOCH || body.sessionEpoch === FINAL_EPOCH;
  if (!isNew && known !== undefined) {
    known.epoch = known.epoch === EPOCH_MAX ? 1 : known.epoch + 1;
    known.usedMs = nowMs;
    return known;
  }
  if (known !== undefined) dropSession(sessions, known);
  return createSession(sessions, {
    isRemembered: body.sessionEpoch === FIRST_EPOCH,
    usesTopicIds,
    isReplica,
    replicaEpoch: body.replicaState.replicaEpoch,
    size: countPartitions(body),
    slotsMax: config['max.incremental.fetch.session.cache.slots'],
    nowMs,
  });
}

function checkSession(session: FetchSession | undefined, body: FetchRequest, usesTopicIds: boolean): ErrorCode {
  if (session === undefined) return ErrorCode.FETCH_SESSION_ID_NOT_FOUND;
  if (session.epoch !== body.sessionEpoch) return ErrorCode.INVALID_FETCH_SESSION_EPOCH;
  return session.usesTopicIds === usesTopicIds ? ErrorCode.NONE : ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR;
}

function begin(
  node: Node,
  env: Env,
  request: Request,
  session: FetchSession,
  replicaId: number,
  isFull: boolean,
  body: FetchRequest,
): Fetch {
  const maxBytes = Math.min(body.maxBytes, node.config['fetch.max.bytes']);
  const waitMs = Math.min(body.maxWaitMs, WAIT_MS_MAX);
  return {
    kind: 'fetch',
    deadlineMs: Number.POSITIVE_INFINITY,
    heapIndex: -1,
    request,
    session,
    isFull,
    // A minimum above the maximum could never be reached.
    minBytes: Math.min(body.minBytes, maxBytes),
    maxBytes,
    untilMs: env.nowMs + Math.max(waitMs, 0),
    isolationLevel: body.isolationLevel,
    replicaId,
    rackId: body.rackId,
    stage: 'collecting',
    slots: [],
    pendingReads: 0,
    bytes: 0,
    hasErrors: false,
  };
}

/**
 * Adds, changes and forgets partitions as the client says. A replica says by listing them how far it has synced them;
 * where this node does not lead yet, that is noted when it does, if the fetch is not answered before. False when it
 * lists too many.
 */
function takeChanges(
  node: Node,
  env: Env,
  session: FetchSession,
  replicaId: number,
  { topics, forgottenTopicsData, replicaState }: FetchRequest,
): boolean {
  renewReplica(session, replicaState.replicaEpoch);
  const replica = { id: replicaId, brokerEpoch: session.replicaEpoch };
  for (const { topic, topicId, partitions } of forgottenTopicsData) {
    const name = session.usesTopicIds ? topicId : topic;
    for (const index of partitions) forget(session, subscriptionKey(name, index));
  }
  for (const { topic, topicId, partitions } of topics) {
    const found = session.usesTopicIds ? node.topics.byId.get(topicId) : node.topics.byName.get(topic);
    for (const asked of partitions) {
      const partition: Partition | null = found?.partitions[asked.partition] ?? null;
      const name = session.usesTopicIds ? '' : topic;
      const subscription = subscribe(session, name, session.usesTopicIds ? topicId : ZERO_UUID, asked, partition);
      if (subscription === null) return false;
      if (!session.isReplica || partition === null) continue;
      subscription.isNoted = noteReplica(partition.leader, env, replica, asked);
      touch(node, partition);
    }
  }
  return true;
}

function countPartitions(body: FetchRequest): number {
  let count = 0;
  for (const { partitions } of body.topics) count += partitions.length;
  return count;
}
