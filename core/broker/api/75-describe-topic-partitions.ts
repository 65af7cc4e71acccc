/**
 * DescribeTopicPartitions: v0. Topics with their partitions, page by page (KIP-966).
 */
import type { Env, Outbox } from '../../lib/world.ts';
import { describeTopicPartitions } from '../../metadata/describe-topics.ts';
import { ErrorCode } from '../../protocol/errors.ts';
import type { DescribeTopicPartitionsRequest } from '../../protocol/messages/75-describe-topic-partitions.ts';
import { listenerName } from '../addresses.ts';
import { answer, endConnection, finish } from '../answers.ts';
import type { Node, Request } from '../state.ts';
import { NO_OPERATIONS, TOPIC_OPERATIONS } from './03-metadata.ts';

const KEY = 75;

/** Answers at once, from what is committed. */
export function handleDescribeTopicPartitions(
  node: Node,
  env: Env,
  request: Request,
  body: DescribeTopicPartitionsRequest,
  out: Outbox,
): void {
  const described = describeTopicPartitions(node.image, listenerName(node, request.connection), body);
  if (typeof described === 'string') {
    // The response has no room for an error of the whole: Kafka ends the connection too.
    if (request.connection !== null) endConnection(node, env, request.connection, described, out);
    finish(node, request);
    return;
  }
  const topics = described.topics.map((topic) => ({
    ...topic,
    topicAuthorizedOperations: topic.errorCode === ErrorCode.NONE ? TOPIC_OPERATIONS : NO_OPERATIONS,
  }));
  answer(node, request, KEY, { ...described, topics });
}
