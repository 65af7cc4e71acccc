/**
 * DeleteRecords: v0–2. Records below an offset go; -1 means all that readers can see. Answered when that is durable, on
 * all replicas in sync. What brokers keep in topics of their own is not for clients to delete.
 */
import type { Env, Outbox } from '../../lib/world.ts';
import { ErrorCode } from '../../protocol/errors.ts';
import type { DeleteRecordsRequest } from '../../protocol/messages/21-delete-records.ts';
import { awaitOthers, finishOne, type StartReply, type StartWait, wantStart } from '../partitions/delete-records.ts';
import { missingError } from '../partitions/leaders.ts';
import type { Node, Request } from '../state.ts';

const TO_HIGH_WATERMARK = -1;

/** Answers when the last new start is written down. */
export function handleDeleteRecords(
  node: Node,
  env: Env,
  request: Request,
  body: DeleteRecordsRequest,
  out: Outbox,
): void {
  const topics: { name: string; partitions: StartReply[] }[] = [];
  const untilMs = env.nowMs + Math.max(body.timeoutMs, 0);
  // Beside the partitions the request itself counts as one, so that nothing is answered before all have been asked.
  const wait: StartWait = { request, response: { throttleTimeMs: 0, topics }, remaining: 1, untilMs };
  for (const { name, partitions } of body.topics) {
    const replies = partitions.map(({ partitionIndex, offset }): StartReply => {
      const reply = { partitionIndex, lowWatermark: -1, errorCode: ErrorCode.NONE as number };
      deleteOne(node, env, name, offset, reply, wait, out);
      return reply;
    });
    topics.push({ name, partitions: replies });
  }
  finishOne(node, wait);
}

function deleteOne(
  node: Node,
  env: Env,
  topic: string,
  wanted: number,
  reply: StartReply,
  wait: StartWait,
  out: Outbox,
): void {
  const partition = node.topics.byName.get(topic)?.partitions[reply.partitionIndex] ?? null;
  if (partition === null) {
    reply.errorCode = missingError(node, { name: topic }, reply.partitionIndex);
    return;
  }
  const { leader, log } = partition;
  if (partition.topic.isInternal) {
    reply.errorCode = ErrorCode.INVALID_TOPIC_EXCEPTION;
    return;
  }
  const offset = wanted === TO_HIGH_WATERMARK ? leader.highWatermark : wanted;
  if (leader.epoch < 0) reply.errorCode = ErrorCode.NOT_LEADER_OR_FOLLOWER;
  else if (offset < 0 || offset > leader.highWatermark) reply.errorCode = ErrorCode.OFFSET_OUT_OF_RANGE;
  else if (offset <= log.start && leader.inSync === null) reply.lowWatermark = log.start;
  else if (offset <= log.start) {
    wait.remaining += 1;
    awaitOthers(node, { wait, partition, offset, reply });
  } else wantStart(node, env, { wait, partition, offset, reply }, out);
}
