/**
 * Produce from the client's side: batches into a request's body, and an answer back to the batches it is about.
 *
 * A request carries at most one batch of a partition, so that an answer's topic and partition name one. From version
 * 13 topics go by id, which the client must have learnt. No state.
 */
import type { RequestInputOf, ResponseOf } from '../protocol/messages/index.ts';
import type { Batch, Line } from './lines.ts';

/** A batch on its way. */
export interface Posted {
  readonly line: Line;
  readonly batch: Batch;
  /** As known when it was sent; all zeros if it was not. */
  readonly topicId: string;
}

/** What a broker says of one partition. */
export type ProduceAnswer = ResponseOf<0>['responses'][number]['partitionResponses'][number];

/** The first version whose topics go by id. */
export const TOPIC_IDS_SINCE = 13;

/** The body for any version. `timeoutMs` is for the broker: how long it may wait for other replicas. */
export function produceBody(acks: number, timeoutMs: number, posted: readonly Posted[]): RequestInputOf<0> {
  const topics = new Map<string, { name: string; topicId: string; partitionData: PartitionData[] }>();
  for (const { line, batch, topicId } of posted) {
    let topic = topics.get(line.topic);
    if (topic === undefined) {
      topic = { name: line.topic, topicId, partitionData: [] };
      topics.set(line.topic, topic);
    }
    topic.partitionData.push({ index: line.partition, records: batch.bytes });
  }
  return { acks, timeoutMs, topicData: [...topics.values()] };
}

interface PartitionData {
  readonly index: number;
  readonly records: Uint8Array | null;
}

/** Each batch with its part of the answer, in the order in which they were sent; null where there is none. */
export function pairAnswers(
  body: ResponseOf<0>,
  version: number,
  posted: readonly Posted[],
): (readonly [Posted, ProduceAnswer | null])[] {
  const byTopic = new Map<string, Map<number, ProduceAnswer>>();
  for (const topic of body.responses) {
    const byPartition = new Map<number, ProduceAnswer>();
    for (const answer of topic.partitionResponses) byPartition.set(answer.index, answer);
    byTopic.set(version >= TOPIC_IDS_SINCE ? topic.topicId : topic.name, byPartition);
  }
  return posted.map((item) => {
    const topic = byTopic.get(version >= TOPIC_IDS_SINCE ? item.topicId : item.line.topic);
    return [item, topic?.get(item.line.partition) ?? null];
  });
}
