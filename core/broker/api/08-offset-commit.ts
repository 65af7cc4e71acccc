/** OffsetCommit: v2–10. How far a group has read; answered once it is committed. No state. */
import type { Env, Outbox } from '../../lib/world.ts';
import { ErrorCode } from '../../protocol/errors.ts';
import type { OffsetCommitRequest, OffsetCommitResponse } from '../../protocol/messages/08-offset-commit.ts';
import { answer } from '../answers.ts';
import { asksTooMuch } from '../groups/asked.ts';
import { askGroup, clientOf } from '../groups/calls.ts';
import type { Node, Request } from '../state.ts';

const KEY = 8;

type RefusedTopic = OffsetCommitResponse['topics'][number];

/** Asks the group's coordinator. */
export function handleOffsetCommit(
  node: Node,
  env: Env,
  request: Request,
  body: OffsetCommitRequest,
  out: Outbox,
): void {
  if (asksTooMuch(body.topics.map(({ partitions }) => partitions.length))) {
    answer(node, request, KEY, { throttleTimeMs: 0, topics: body.topics.map(refusedTopic) });
    return;
  }
  askGroup(node, env, request, body.groupId, { kind: 'offsetCommit', body, ...clientOf(request) }, out);
}

/** Of a topic with too many partitions the first says so for all of them. */
function refusedTopic({ name, topicId, partitions }: OffsetCommitRequest['topics'][number]): RefusedTopic {
  const errorCode = ErrorCode.INVALID_REQUEST;
  return {
    name,
    topicId,
    partitions: partitions.slice(0, 1).map(({ partitionIndex }) => ({ partitionIndex, errorCode })),
  };
}
