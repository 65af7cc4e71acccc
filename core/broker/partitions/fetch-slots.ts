/**
 * What a Fetch says about one partition, in the form of the answer. No state.
 */
import { assert } from '../../lib/assert.ts';
import type { ReadOutcome } from '../../log/types.ts';
import { ErrorCode } from '../../protocol/errors.ts';
import type { Node, Partition } from '../state.ts';
import type { Fetch, FetchAnswer, FetchSlot, Subscription } from './fetch-sessions.ts';
import { currentLeader } from './leaders.ts';
import { highWatermarkOf } from './partition-role.ts';

const READ_COMMITTED = 1;
/** The first version whose answers name the leader that a client should ask (KIP-951). */
const CURRENT_LEADER_SINCE = 16;
const NO_EPOCH = { epoch: -1, endOffset: -1 };
const NO_LEADER = { leaderId: -1, leaderEpoch: -1 };
const NO_SNAPSHOT = { endOffset: -1, epoch: -1 };
const NO_RECORDS = new Uint8Array(0);

/** Takes what a read has brought into the answer. */
export function fill(fetch: Fetch, reply: FetchAnswer, outcome: ReadOutcome): void {
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

/** Where the partition stands, without records. */
export function blank(fetch: Fetch, subscription: Subscription, partition: Partition): FetchSlot {
  return slotOf(fetch, subscription, ErrorCode.NONE, highWatermarkOf(partition), partition.log.start);
}

/** With the error, where it helps: who leads as far as this node knows (KIP-951). */
export function refuse(node: Node, fetch: Fetch, subscription: Subscription, error: ErrorCode): FetchSlot {
  fetch.hasErrors = true;
  const slot = slotOf(fetch, subscription, error, -1, -1);
  const isMoved = error === ErrorCode.NOT_LEADER_OR_FOLLOWER || error === ErrorCode.FENCED_LEADER_EPOCH;
  if (!isMoved || fetch.request.version < CURRENT_LEADER_SINCE) return slot;
  const { session, topicId, topic, index } = subscription;
  slot.answer.currentLeader = currentLeader(node, session.usesTopicIds ? { topicId } : { name: topic }, index);
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
