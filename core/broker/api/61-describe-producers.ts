/** DescribeProducers: v0. The idempotent producers that a partition remembers (KIP-664). */
import type { Env } from '../../lib/world.ts';
import { ErrorCode } from '../../protocol/errors.ts';
import type {
  DescribeProducersRequest,
  DescribeProducersResponse,
} from '../../protocol/messages/61-describe-producers.ts';
import { answer } from '../answers.ts';
import type { Node, Partition, Request } from '../state.ts';

const KEY = 61;

type PartitionAnswer = DescribeProducersResponse['topics'][number]['partitions'][number];

/** Answers at once. */
export function handleDescribeProducers(node: Node, _env: Env, request: Request, body: DescribeProducersRequest): void {
  const topics = body.topics.map(({ name, partitionIndexes }) => ({
    name,
    partitions: partitionIndexes.map((index) => describe(node.topics.byName.get(name)?.partitions[index], index)),
  }));
  answer(node, request, KEY, { throttleTimeMs: 0, topics });
}

function describe(partition: Partition | undefined, partitionIndex: number): PartitionAnswer {
  const none = { partitionIndex, errorMessage: null, activeProducers: [] };
  if (partition === undefined) return { ...none, errorCode: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION };
  if (partition.leader.epoch < 0) return { ...none, errorCode: ErrorCode.NOT_LEADER_OR_FOLLOWER };
  const activeProducers = [...(partition.log.producers ?? [])].map(([producerId, producer]) => {
    const last = producer.batches[producer.batches.length - 1];
    return {
      producerId,
      producerEpoch: producer.epoch,
      lastSequence: last?.lastSequence ?? -1,
      lastTimestamp: last?.timestampMs ?? -1,
      coordinatorEpoch: -1,
      currentTxnStartOffset: -1,
    };
  });
  return { ...none, errorCode: ErrorCode.NONE, activeProducers };
}
