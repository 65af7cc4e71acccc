/**
 * A Fetch at work: it visits the dirty partitions of its session, waits for files and for more bytes, and answers.
 *
 * Stages: collecting (within a step) → reading (some batches come from files) → parked (fewer than the client's
 * minimum of bytes) → ripe (enough has been committed, or the time is over) → collecting again → done. While it is
 * parked, each move of a high watermark adds to its bytes, so that nothing is looked at again before it is worth it.
 *
 * Whole batches only; the first is given even when it is larger than the client's limit, so that a reader always
 * moves. Readers see nothing at or above the high watermark; without transactions the last stable offset is the same.
 */
import { assert } from '../lib/assert.ts';
import { setDeadline } from '../lib/heap.ts';
import type { Env, Outbox } from '../lib/world.ts';
import { READ_BYTES_MAX } from '../log/cold.ts';
import { endOffsetForEpoch, readLog } from '../log/log.ts';
import type { ReadOutcome } from '../log/types.ts';
import { ErrorCode } from '../protocol/errors.ts';
import type { FetchResponse } from '../protocol/messages/01-fetch.ts';
import { fence } from '../replication/leader.ts';
import { answer, release } from './answers.ts';
import { readOn } from './fetch-ahead.ts';
import {
  bindSubscription,
  dropSession,
  type Fetch,
  type FetchAnswer,
  type FetchSlot,
  markDirty,
  nextDirty,
  type Subscription,
} from './fetch-sessions.ts';
import { touch } from './partitions.ts';
import type { Node, Partition } from './state.ts';

const KEY = 1;
const READ_COMMITTED = 1;
/** The first version whose answers name the leader that a client should ask (KIP-951). */
const CURRENT_LEADER_SINCE = 16;
const NO_EPOCH = { epoch: -1, endOffset: -1 };
const NO_LEADER = { leaderId: -1, leaderEpoch: -1 };
const NO_SNAPSHOT = { endOffset: -1, epoch: -1 };
const NO_RECORDS = new Uint8Array(0);

/** Visits what is dirty; answers, parks, or waits for files. The stage that the fetch is in then. */
export function collect(node: Node, env: Env, fetch: Fetch, out: Outbox): Fetch['stage'] {
  const { session } = fetch;
  fetch.stage = 'collecting';
  fetch.slots = [];
  fetch.bytes = 0;
  fetch.hasErrors = false;
  const most = Math.min(budgetLeft(node), fetch.maxBytes);
  let left = most;
  // Partitions that go back to the end of the queue are not visited twice.
  for (let visits = session.dirty.size; visits > 0; visits--) {
    if (left <= 0 && fetch.bytes > 0 && !fetch.isFull) break;
    const subscription = nextDirty(session);
    if (subscription === undefined) break;
    const slot = visit(node, env, fetch, subscription, left, out);
    if (slot === null) continue;
    fetch.slots.push(slot);
    markDirty(subscription);
    left = most - fetch.bytes;
  }
  if (fetch.pendingReads > 0) fetch.stage = 'reading';
  else decide(node, env, fetch);
  return fetch.stage;
}

/** The read of a partition's log has ended: the slot that waited for it, if one did. */
export function takeRead(node: Node, partition: Partition, ticket: number, outcome: ReadOutcome): FetchSlot | null {
  const slot = partition.reads?.get(ticket);
  if (slot === undefined) return null;
  partition.reads?.delete(ticket);
  if (partition.reads?.size === 0) partition.reads = null;
  const { fetch } = slot;
  charge(node, slot, -slot.readingBytes);
  fill(fetch, slot.answer, outcome);
  fetch.pendingReads -= 1;
  // What was read is answered: reading it again for a larger minimum would cost more than another request.
  if (fetch.pendingReads === 0 && fetch.stage === 'reading') finishFetch(node, fetch);
  return slot;
}

/** A partition's high watermark has moved by batches of so many bytes: its readers may have something to fetch. */
export function markCommitted(node: Node, partition: Partition, sizeBytes: number): void {
  const { subscriptions } = partition;
  for (let i = 0; i < subscriptions.length; i++) {
    const subscription = subscriptions[i]!;
    markDirty(subscription);
    const fetch = subscription.session.parked;
    if (fetch === null || fetch.stage !== 'parked') continue;
    fetch.bytes += sizeBytes;
    if (fetch.bytes >= fetch.minBytes) ripen(node, fetch);
  }
}

/** The fetch is to be answered before the step ends, with what there is. */
export function ripen(node: Node, fetch: Fetch): void {
  if (fetch.stage !== 'parked') return;
  fetch.stage = 'ripe';
  unpark(node, fetch);
  node.ripe.push(fetch);
}

/** The last visit: whatever is there now is the answer, unless files have to be read. */
export function harvest(node: Node, env: Env, fetch: Fetch, out: Outbox): void {
  if (fetch.stage !== 'ripe') return;
  if (collect(node, env, fetch, out) === 'parked') {
    unpark(node, fetch);
    finishFetch(node, fetch);
  }
}

/** The connection is gone: the fetch ends without an answer, its session stays. */
export function cancelFetch(node: Node, fetch: Fetch): void {
  unpark(node, fetch);
  if (fetch.stage !== 'reading') finishFetch(node, fetch);
}

/** What the node's budget of answers leaves, bytes: unsent answers and reads, ahead ones too, are spent of it. */
export function budgetLeft(node: Node): number {
  return node.config['tidemark.responses.max.bytes'] - node.responseBytes - node.readingBytes - node.aheadBytes;
}

/** Charges what a read may bring before it comes, or gives it back; a cancelled fetch gives back when its read ends. */
function charge(node: Node, slot: FetchSlot, sizeBytes: number): void {
  const { connection } = slot.fetch.request;
  slot.readingBytes += sizeBytes;
  node.readingBytes += sizeBytes;
  if (connection !== null) connection.readingBytes += sizeBytes;
}

/** With the budget spent, a connection that already has something to come has to wait for it. */
function mustWait(node: Node, { request: { connection } }: Fetch): boolean {
  if (budgetLeft(node) > 0) return false;
  return connection === null || connection.unsentBytes + connection.readingBytes > 0;
}

/** What there is to say about a partition; null when there is no news. */
function visit(
  node: Node,
  env: Env,
  fetch: Fetch,
  subscription: Subscription,
  left: number,
  out: Outbox,
): FetchSlot | null {
  const { asked } = subscription;
  const partition = subscription.partition ?? findPartition(node, subscription);
  if (partition === null) {
    const isTopicId = subscription.session.usesTopicIds && node.topics.byId.get(subscription.topicId) === undefined;
    const error = isTopicId ? ErrorCode.UNKNOWN_TOPIC_ID : ErrorCode.UNKNOWN_TOPIC_OR_PARTITION;
    const slot = refuse(fetch, subscription, error);
    slot.answer.abortedTransactions = [];
    return slot;
  }
  const { log, leader } = partition;
  // Only brokers in the replica set may fetch as replicas, and this node is the whole set.
  if (fetch.replicaId >= 0) {
    return refuse(fetch, subscription, ErrorCode.NOT_LEADER_OR_FOLLOWER, node.nodeId, leader.epoch);
  }
  // To a fetch every epoch below 0 says nothing, as with Kafka.
  const fenced = fence(leader, Math.max(asked.currentLeaderEpoch, -1));
  if (fenced === ErrorCode.FENCED_LEADER_EPOCH) {
    return refuse(fetch, subscription, fenced, node.nodeId, leader.epoch);
  }
  // The client is ahead of this leader: it has nothing to learn from it.
  if (fenced !== ErrorCode.NONE) return refuse(fetch, subscription, fenced);
  if (asked.lastFetchedEpoch >= 0) {
    const known = endOffsetForEpoch(log, asked.lastFetchedEpoch);
    if (known.endOffset < 0) return refuse(fetch, subscription, ErrorCode.OFFSET_OUT_OF_RANGE);
    if (known.leaderEpoch < asked.lastFetchedEpoch || known.endOffset < asked.fetchOffset) {
      const slot = blank(fetch, subscription, partition);
      slot.answer.divergingEpoch = { epoch: known.leaderEpoch, endOffset: known.endOffset };
      fetch.hasErrors = true; // News that must not wait for bytes.
      return slot;
    }
  }
  if (asked.fetchOffset < log.start || asked.fetchOffset > log.end) {
    return refuse(fetch, subscription, ErrorCode.OFFSET_OUT_OF_RANGE);
  }
  const hasNews =
    fetch.isFull || leader.highWatermark !== subscription.toldHighWatermark || log.start !== subscription.toldLogStart;
  if (asked.fetchOffset >= leader.highWatermark) return hasNews ? blank(fetch, subscription, partition) : null;
  return readSome(node, env, fetch, subscription, partition, left, out);
}

function readSome(
  node: Node,
  env: Env,
  fetch: Fetch,
  subscription: Subscription,
  partition: Partition,
  left: number,
  out: Outbox,
): FetchSlot | null {
  const { asked } = subscription;
  const slot = blank(fetch, subscription, partition);
  const isFirst = fetch.bytes === 0;
  const most = Math.min(asked.partitionMaxBytes, left);
  if (most <= 0 && (!isFirst || mustWait(node, fetch))) return slot;
  const outcome = readLog(
    partition.log,
    env,
    {
      offset: asked.fetchOffset,
      sizeBytesMax: Math.max(most, 0),
      upTo: partition.leader.highWatermark,
      minOne: isFirst,
    },
    out,
  );
  touch(node, partition);
  if (outcome.kind === 'pending') {
    partition.reads ??= new Map();
    partition.reads.set(outcome.ticket, slot);
    fetch.pendingReads += 1;
    fetch.bytes += most > 0 ? most : 1; // Reserved: how much it will be is not known yet.
    const oneBatch = isFirst ? partition.log.config.messageBytesMax : 0;
    charge(node, slot, Math.max(Math.min(most, READ_BYTES_MAX), oneBatch));
  } else {
    fill(fetch, slot.answer, outcome);
    readOn(node, partition, slot, outcome);
  }
  return slot;
}

/** A topic may have been created since the client first asked. */
function findPartition(node: Node, subscription: Subscription): Partition | null {
  const { session, topic, topicId, index } = subscription;
  const found = session.usesTopicIds ? node.topics.byId.get(topicId) : node.topics.byName.get(topic);
  const partition = found?.partitions[index] ?? null;
  if (partition !== null) bindSubscription(subscription, partition);
  return partition;
}

function fill(fetch: Fetch, reply: FetchAnswer, outcome: ReadOutcome): void {
  assert(outcome.kind !== 'pending', 'a read that ended is not pending');
  if (outcome.kind === 'error') {
    reply.errorCode = outcome.error as ErrorCode;
    reply.highWatermark = -1;
    reply.lastStableOffset = -1;
    fetch.hasErrors = true;
    return;
  }
  // The schema's type is that of what is read; the writer takes parts and cuts the frame around them.
  (reply as { records: unknown }).records = outcome.parts;
  fetch.bytes += outcome.sizeBytes;
}

function blank(fetch: Fetch, subscription: Subscription, partition: Partition): FetchSlot {
  const { highWatermark } = partition.leader;
  return slotOf(fetch, subscription, ErrorCode.NONE, highWatermark, partition.log.start);
}

function refuse(
  fetch: Fetch,
  subscription: Subscription,
  error: ErrorCode,
  leaderId = -1,
  leaderEpoch = -1,
): FetchSlot {
  fetch.hasErrors = true;
  const slot = slotOf(fetch, subscription, error, -1, -1);
  const canSay = fetch.request.version >= CURRENT_LEADER_SINCE;
  if (leaderId >= 0 && canSay) slot.answer.currentLeader = { leaderId, leaderEpoch };
  return slot;
}

function slotOf(
  fetch: Fetch,
  subscription: Subscription,
  error: ErrorCode,
  highWatermark: number,
  logStartOffset: number,
): FetchSlot {
  const reply: FetchAnswer = {
    partitionIndex: subscription.index,
    errorCode: error,
    highWatermark,
    lastStableOffset: highWatermark,
    logStartOffset,
    divergingEpoch: NO_EPOCH,
    currentLeader: NO_LEADER,
    snapshotId: NO_SNAPSHOT,
    abortedTransactions: fetch.isolationLevel === READ_COMMITTED && error === ErrorCode.NONE ? [] : null,
    preferredReadReplica: -1,
    records: NO_RECORDS,
  };
  return { fetch, subscription, answer: reply, readingBytes: 0 };
}

/** Enough, or not: answers or parks. */
function decide(node: Node, env: Env, fetch: Fetch): void {
  const isEnough =
    fetch.hasErrors ||
    fetch.bytes >= fetch.minBytes ||
    fetch.untilMs <= env.nowMs ||
    fetch.session.subscriptions.size === 0 ||
    node.stage !== 'serving';
  if (isEnough) {
    finishFetch(node, fetch);
    return;
  }
  assert(fetch.session.parked === null, 'a session has one parked fetch');
  fetch.stage = 'parked';
  fetch.slots = [];
  // What was asked is in the session; a long poll must not hold the budget for requests.
  release(node, fetch.request);
  fetch.session.parked = fetch;
  setDeadline(node.deadlines, fetch, fetch.untilMs);
}

function unpark(node: Node, fetch: Fetch): void {
  setDeadline(node.deadlines, fetch, Number.POSITIVE_INFINITY);
  if (fetch.session.parked === fetch) fetch.session.parked = null;
}

function finishFetch(node: Node, fetch: Fetch): void {
  assert(fetch.pendingReads === 0, 'a fetch is answered before its files were read');
  fetch.stage = 'done';
  const { session, request, slots } = fetch;
  const responses: FetchResponse['responses'] = [];
  let last: FetchResponse['responses'][number] | null = null;
  for (let i = 0; i < slots.length; i++) {
    const { subscription, answer: reply } = slots[i]!;
    const isSame = last !== null && last.topic === subscription.topic && last.topicId === subscription.topicId;
    if (last === null || !isSame) {
      last = { topic: subscription.topic, topicId: subscription.topicId, partitions: [] };
      responses.push(last);
    }
    last.partitions.push(reply);
    subscription.toldHighWatermark = reply.highWatermark;
    subscription.toldLogStart = reply.logStartOffset;
  }
  fetch.slots = [];
  answer(node, request, KEY, { throttleTimeMs: 0, errorCode: ErrorCode.NONE, sessionId: session.id, responses });
  if (session.id === 0) dropSession(node.sessions, session);
}
