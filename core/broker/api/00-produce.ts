/**
 * Produce: v3–13. Appends one batch to each partition named.
 *
 * With acks=-1 the answer comes when every batch is below its partition's high watermark, with acks=1 when it is
 * durable on this node, with acks=0 there is none, and an error then ends the connection, which is all that such a
 * client can notice. Each partition succeeds or fails by itself; one that is not confirmed within `timeoutMs` is
 * answered by REQUEST_TIMED_OUT, though its batch may still be committed. Version 13 names topics by id.
 */
import type { Env, Outbox } from '../../lib/world.ts';
import { BATCH_HEADER_BYTES, codecId, dataViewOf, MAGIC, MAGIC_AT } from '../../protocol/batch.ts';
import { CODEC_ZSTD } from '../../protocol/compression.ts';
import { ErrorCode, errorName } from '../../protocol/errors.ts';
import type { ProduceRequest, ProduceResponse } from '../../protocol/messages/00-produce.ts';
import { appendToLeader, type Waiter } from '../../replication/leader.ts';
import { answer, endConnection, finish } from '../answers.ts';
import { mayBeReplaced } from '../partitions/contact.ts';
import { currentLeader, endpointsOf, missingError, type TopicKey } from '../partitions/leaders.ts';
import { touch } from '../partitions/partitions.ts';
import type { Node, Request, Topic } from '../state.ts';

const KEY = 0;
/** The first version that may carry zstd (KIP-110). */
const ZSTD_SINCE = 7;
/** The first version that names topics by id. */
const IDS_SINCE = 13;
/** The first version whose answers name the leader that a client should ask (KIP-951). */
const CURRENT_LEADER_SINCE = 10;
const NO_LEADER = { leaderId: -1, leaderEpoch: -1 };
const NO_RECORDS = new Uint8Array(0);

type PartitionAnswer = ProduceResponse['responses'][number]['partitionResponses'][number];
type PartitionData = ProduceRequest['topicData'][number]['partitionData'][number];

/** A Produce request while its partitions work on it. */
export interface ProduceWait extends Waiter {
  readonly request: Request;
  readonly acks: number;
  readonly response: ProduceResponse;
}

/** Appends at once; answers when the last partition is done. */
export function handleProduce(node: Node, env: Env, request: Request, body: ProduceRequest, out: Outbox): void {
  // Beside the partitions the request itself counts as one, so that nothing is answered before all have been asked.
  const wait: ProduceWait = {
    remaining: 1,
    request,
    acks: body.acks,
    response: { responses: [], throttleTimeMs: 0, nodeEndpoints: [] },
  };
  const untilMs = env.nowMs + Math.max(body.timeoutMs, 0);
  for (const { name, topicId, partitionData } of body.topicData) {
    const byId = request.version >= IDS_SINCE;
    const topic = byId ? node.topics.byId.get(topicId) : node.topics.byName.get(name);
    const partitionResponses: PartitionAnswer[] = [];
    const key = byId ? { topicId } : { name };
    for (const data of partitionData) {
      partitionResponses.push(appendOne(node, env, wait, untilMs, topic, key, data, out));
    }
    wait.response.responses.push({ name, topicId, partitionResponses });
  }
  wait.remaining -= 1;
  if (wait.remaining === 0) finishProduce(node, env, wait, out);
}

/** All partitions are done. */
export function finishProduce(node: Node, env: Env, wait: ProduceWait, out: Outbox): void {
  const { request, acks, response } = wait;
  if (acks !== 0) {
    if (request.version >= CURRENT_LEADER_SINCE) nameLeaders(node, request, response);
    answer(node, request, KEY, response);
    return;
  }
  finish(node, request);
  const failed = firstError(response);
  if (failed === null || request.connection === null) return;
  endConnection(node, env, request.connection, `a batch with acks=0 failed: ${errorName(failed)}`, out);
}

/** Who leads what this node does not, and where that is. */
function nameLeaders(node: Node, { connection, version }: Request, response: ProduceResponse): void {
  let leaders: Set<number> | null = null;
  for (const { name, topicId, partitionResponses } of response.responses) {
    for (const reply of partitionResponses) {
      if (reply.errorCode !== ErrorCode.NOT_LEADER_OR_FOLLOWER) continue;
      reply.currentLeader = currentLeader(node, version >= IDS_SINCE ? { topicId } : { name }, reply.index);
      const { leaderId } = reply.currentLeader;
      if (leaderId >= 0) leaders = (leaders ?? new Set<number>()).add(leaderId);
    }
  }
  if (leaders !== null) response.nodeEndpoints.push(...endpointsOf(node, connection, leaders));
}

function appendOne(
  node: Node,
  env: Env,
  wait: ProduceWait,
  untilMs: number,
  topic: Topic | undefined,
  key: TopicKey,
  data: PartitionData,
  out: Outbox,
): PartitionAnswer {
  const reply: PartitionAnswer = {
    index: data.index,
    errorCode: ErrorCode.NONE,
    baseOffset: -1,
    logAppendTimeMs: -1,
    logStartOffset: -1,
    recordErrors: [],
    errorMessage: null,
    currentLeader: NO_LEADER,
  };
  const { acks } = wait;
  if (acks !== -1 && acks !== 0 && acks !== 1) {
    reply.errorCode = ErrorCode.INVALID_REQUIRED_ACKS;
    return reply;
  }
  const partition = topic?.partitions[data.index] ?? null;
  if (partition === null) {
    reply.errorCode = missingError(node, key, data.index);
    return reply;
  }
  if (mayBeReplaced(node, env.nowMs, partition.leader)) {
    reply.errorCode = ErrorCode.NOT_LEADER_OR_FOLLOWER;
    return reply;
  }
  const records = data.records ?? NO_RECORDS;
  if (wait.request.version < ZSTD_SINCE && isZstd(records)) {
    reply.errorCode = ErrorCode.UNSUPPORTED_COMPRESSION_TYPE;
    reply.errorMessage = 'zstd may be produced since version 7 of Produce';
    return reply;
  }
  const { leader } = partition;
  appendToLeader(leader, env, { records, acks, untilMs, waiter: wait, answer: reply }, out);
  if (leader.inSync !== null) partition.appendedBytes += records.length;
  touch(node, partition);
  return reply;
}

/** Whether the batch says that its records are compressed by zstd; what is no batch is judged by the log. */
function isZstd(records: Uint8Array): boolean {
  if (records.length < BATCH_HEADER_BYTES || records[MAGIC_AT] !== MAGIC) return false;
  return codecId(dataViewOf(records), 0) === CODEC_ZSTD;
}

function firstError(response: ProduceResponse): number | null {
  for (const { partitionResponses } of response.responses) {
    for (const { errorCode } of partitionResponses) if (errorCode !== ErrorCode.NONE) return errorCode;
  }
  return null;
}
