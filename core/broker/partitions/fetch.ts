/**
 * A Fetch at work: it visits the dirty partitions of its session, waits for files and for more bytes, and answers.
 *
 * Stages: collecting (within a step) → reading (some batches come from files) → parked (fewer than the client's
 * minimum of bytes) → ripe (enough has been committed, or the time is over) → collecting again → done. While it is
 * parked, each move of a high watermark adds to its bytes, so that nothing is looked at again before it is worth it.
 *
 * Whole batches only; the first is given even when it is larger than the client's limit, so that a reader always
 * moves. Readers see nothing at or above the high watermark; without transactions the last stable offset is the same.
 * Other replicas see all that is written, synced or not (`replication/serve.ts`); that the high watermark has moved
 * they hear with their next answer. A replica that follows serves clients too (KIP-392).
 */
import { assert } from '../../lib/assert.ts';
import { setDeadline } from '../../lib/heap.ts';
import type { Env, Outbox } from '../../lib/world.ts';
import { READ_BYTES_MAX } from '../../log/cold.ts';
import { readLog } from '../../log/log.ts';
import { writtenEnd } from '../../log/settle.ts';
import type { ReadOutcome } from '../../log/types.ts';
import { ErrorCode } from '../../protocol/errors.ts';
import type { FetchResponse } from '../../protocol/messages/01-fetch.ts';
import {
  type Asked,
  judgeClient,
  judgeReader,
  judgeReplica,
  noteReplica,
  type Verdict,
} from '../../replication/serve.ts';
import { answer, release } from '../answers.ts';
import type { Node, Partition } from '../state.ts';
import { mayBeReplaced } from './contact.ts';
import { readOn } from './fetch-ahead.ts';
import {
  bindSubscription,
  dropSession,
  type Fetch,
  type FetchSlot,
  markDirty,
  nextDirty,
  type Subscription,
} from './fetch-sessions.ts';
import { blank, fill, refuse } from './fetch-slots.ts';
import { endpointsOf, missingError, nearerReplica } from './leaders.ts';
import { toldOf } from './mending.ts';
import { highWatermarkOf } from './partition-role.ts';
import { touch } from './partitions.ts';
import { holdUp, noteRead, noteSent, portionFor } from './throttles.ts';

const KEY = 1;
/** The first version in which clients may be sent to a follower (KIP-392). */
const NEARBY_SINCE = 11;
const NO_ENDPOINTS: FetchResponse['nodeEndpoints'] = [];

/** Visits what is dirty; answers, parks, or waits for files. The stage that the fetch is in then. */
export function collect(node: Node, env: Env, fetch: Fetch, out: Outbox): Fetch['stage'] {
  const { session } = fetch;
  fetch.stage = 'collecting';
  fetch.slots = [];
  fetch.bytes = 0;
  fetch.hasErrors = false;
  const most = Math.min(budgetLeft(node), fetch.maxBytes);
  let left = most;
  while (left > 0 || fetch.bytes === 0 || fetch.isFull) {
    const subscription = nextDirty(session);
    if (subscription === undefined) break;
    const slot = visit(node, env, fetch, subscription, left, out);
    if (slot === null) continue;
    fetch.slots.push(slot);
    left = most - fetch.bytes;
  }
  // Behind those that were not visited, and only now: no answer names a partition twice.
  for (const { subscription } of fetch.slots) markDirty(subscription);
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
  if (isThrottled(fetch, partition)) noteRead(node, slot.readingBytes, outcome);
  charge(node, slot, -slot.readingBytes);
  fill(fetch, slot.answer, outcome.kind === 'error' ? toldOf(node, partition, outcome) : outcome);
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
    if (!subscription.session.isReplica) nourish(node, subscription.session.parked, sizeBytes);
  }
}

/**
 * The disk may have taken batches of a partition that other replicas follow: they may have something to fetch. A fetch
 * that waits for it is answered before the world's turn ends, and takes along what else has come by then.
 */
export function markWritten(node: Node, env: Env, partition: Partition): void {
  const { subscriptions, appendedBytes, log } = partition;
  const end = writtenEnd(log);
  if (end <= partition.toldEnd) return;
  partition.toldEnd = end;
  partition.appendedBytes = 0;
  for (let i = 0; i < subscriptions.length; i++) {
    const subscription = subscriptions[i]!;
    if (!subscription.session.isReplica) continue;
    markDirty(subscription);
    const { parked } = subscription.session;
    if (parked === null) continue;
    parked.bytes += appendedBytes;
    if (parked.bytes >= parked.minBytes) setDeadline(node.deadlines, parked, env.nowMs);
  }
}

/** There are so many bytes more for a fetch that waits. */
function nourish(node: Node, fetch: Fetch | null, sizeBytes: number): void {
  if (fetch === null || fetch.stage !== 'parked') return;
  fetch.bytes += sizeBytes;
  if (fetch.bytes >= fetch.minBytes) ripen(node, fetch);
}

/** The partition has another leader, or the same under another epoch: whoever reads it hears of that at once. */
export function markMoved(node: Node, partition: Partition): void {
  for (const subscription of partition.subscriptions) {
    markDirty(subscription);
    const { parked } = subscription.session;
    if (parked !== null) ripen(node, parked);
  }
}

/** The fetch is to be answered before the step ends, with what there is. */
export function ripen(node: Node, fetch: Fetch): void {
  if (fetch.stage !== 'parked') return;
  fetch.stage = 'ripe';
  unpark(node, fetch);
  node.ripe.push(fetch);
}

/** A replica goes on with its session: it is answered before the world's turn ends, with what else has come by then. */
export function answerSoon(node: Node, env: Env, fetch: Fetch): void {
  park(node, fetch, env.nowMs);
}

/** The deadline of a fetch that waits has come, or might have: looked at again; at its limit, for the last time. */
export function wakeFetch(node: Node, env: Env, fetch: Fetch, out: Outbox): void {
  if (fetch.stage !== 'parked') return;
  if (fetch.untilMs <= env.nowMs) {
    ripen(node, fetch);
    return;
  }
  unpark(node, fetch);
  collect(node, env, fetch, out);
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
    const { topicId, topic, index } = subscription;
    const error = missingError(node, subscription.session.usesTopicIds ? { topicId } : { name: topic }, index);
    const slot = refuse(node, fetch, subscription, error);
    slot.answer.abortedTransactions = [];
    return slot;
  }
  const verdict = judge(fetch, partition, asked);
  if (verdict.kind === 'read' && fetch.replicaId >= 0 && !subscription.isNoted) {
    // It may have listed the partition before this node heard that it leads: at the end it lists it no more.
    const replica = { id: fetch.replicaId, brokerEpoch: fetch.session.replicaEpoch };
    subscription.isNoted = noteReplica(partition.leader, env, replica, asked);
    if (subscription.isNoted) env.reached('replication.fetch.early');
    touch(node, partition);
  }
  if (verdict.kind === 'error') return refuse(node, fetch, subscription, verdict.error);
  if (verdict.kind === 'diverging') {
    const slot = blank(fetch, subscription, partition);
    slot.answer.divergingEpoch = { epoch: verdict.epoch, endOffset: verdict.endOffset };
    fetch.hasErrors = true; // News that must not wait for bytes.
    return slot;
  }
  const nearer = fetch.rackId === '' ? -1 : nearerReplica(node, partition, fetch.rackId, asked.fetchOffset);
  if (nearer >= 0) {
    const slot = blank(fetch, subscription, partition);
    slot.answer.preferredReadReplica = nearer;
    fetch.hasErrors = true; // As above.
    return slot;
  }
  const isAtEnd = asked.fetchOffset >= verdict.upTo;
  if (isAtEnd && fetch.replicaId < 0 && mayBeReplaced(node, env.nowMs, partition.leader)) {
    return refuse(node, fetch, subscription, ErrorCode.NOT_LEADER_OR_FOLLOWER);
  }
  const hasNews =
    fetch.isFull ||
    highWatermarkOf(partition) !== subscription.toldHighWatermark ||
    partition.log.start !== subscription.toldLogStart;
  const isHeldUp =
    !isAtEnd && isThrottled(fetch, partition) && holdUp(node, env, partition, subscription, fetch.replicaId);
  if (isAtEnd || isHeldUp) return hasNews ? blank(fetch, subscription, partition) : null;
  return readSome(node, env, fetch, subscription, partition, verdict.upTo, left, out);
}

/** Whether what is sent of the partition counts for a bounded rate. */
function isThrottled({ replicaId }: Fetch, { isSendThrottled }: Partition): boolean {
  return isSendThrottled && replicaId >= 0;
}

/** Clients of older versions read from leaders only: they do not know that there is another choice. */
function judge(fetch: Fetch, { leader, followed }: Partition, asked: Asked): Verdict {
  if (fetch.replicaId >= 0) return judgeReplica(leader, fetch.replicaId, asked);
  if (followed !== null && fetch.request.version >= NEARBY_SINCE) return judgeReader(followed, asked);
  return judgeClient(leader, asked);
}

function readSome(
  node: Node,
  env: Env,
  fetch: Fetch,
  subscription: Subscription,
  partition: Partition,
  upTo: number,
  left: number,
  out: Outbox,
): FetchSlot | null {
  const { asked } = subscription;
  const slot = blank(fetch, subscription, partition);
  const isFirst = fetch.bytes === 0;
  let most = Math.min(asked.partitionMaxBytes, left);
  if (isThrottled(fetch, partition)) most = portionFor(node, partition, fetch.replicaId, most);
  if (most <= 0 && (!isFirst || mustWait(node, fetch))) return slot;
  const outcome = readLog(
    partition.log,
    env,
    {
      offset: asked.fetchOffset,
      sizeBytesMax: Math.max(most, 0),
      upTo,
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
    if (isThrottled(fetch, partition)) noteSent(node, env, slot.readingBytes);
  } else {
    if (isThrottled(fetch, partition) && outcome.kind !== 'error') noteSent(node, env, outcome.sizeBytes);
    fill(fetch, slot.answer, outcome.kind === 'error' ? toldOf(node, partition, outcome) : outcome);
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
  park(node, fetch, fetch.untilMs);
}

function park(node: Node, fetch: Fetch, deadlineMs: number): void {
  assert(fetch.session.parked === null, 'a session has one parked fetch');
  fetch.stage = 'parked';
  fetch.slots = [];
  // What was asked is in the session; a long poll must not hold the budget for requests.
  release(node, fetch.request);
  fetch.session.parked = fetch;
  setDeadline(node.deadlines, fetch, deadlineMs);
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
  let leaders: Set<number> | null = null;
  let last: FetchResponse['responses'][number] | null = null;
  for (let i = 0; i < slots.length; i++) {
    const { subscription, answer: reply } = slots[i]!;
    const isSame = last !== null && last.topic === subscription.topic && last.topicId === subscription.topicId;
    if (last === null || !isSame) {
      last = { topic: subscription.topic, topicId: subscription.topicId, partitions: [] };
      responses.push(last);
    }
    last.partitions.push(reply);
    const { leaderId } = reply.currentLeader; // A replica has an image that says where its leader is.
    if (leaderId >= 0 && fetch.replicaId < 0) leaders = (leaders ?? new Set<number>()).add(leaderId);
    subscription.toldHighWatermark = reply.highWatermark;
    subscription.toldLogStart = reply.logStartOffset;
  }
  fetch.slots = [];
  const nodeEndpoints = leaders === null ? NO_ENDPOINTS : endpointsOf(node, request.connection, leaders);
  const errorCode = ErrorCode.NONE;
  answer(node, request, KEY, { throttleTimeMs: 0, errorCode, sessionId: session.id, responses, nodeEndpoints });
  if (session.id === 0) dropSession(node.sessions, session);
}
