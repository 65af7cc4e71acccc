/** DescribeProducers: v0. The idempotent producers that a partition remembers (KIP-664). */
import type { Env } from '../../lib/world.ts';
import { ErrorCode } from '../../protocol/errors.ts';
import type {
  DescribeProducersRequest,
  DescribeProducersResponse,
} from '../../protocol/messages/61-describe-producers.ts';
import { answer } from '../answers.ts';
import { missingError } from '../partitions/leaders.ts';
import type { Node, Request } from '../state.ts';

const KEY = 61;

type PartitionAnswer = DescribeProducersResponse['topics'][number]['partitions'][number];

/** Answers at once. */
export function handleDescribeProducers(node: Node, _env: Env, request: Request, body: DescribeProducersRequest): void {
  const topics = body.topics.map(({ name, partitionIndexes }) => ({
    name,
    partitions: partitionIndexes.map((index) => describe(node, name, index)),
  }));
  answer(node, request, KEY, { throttleTimeMs: 0, topics });
}

function describe(node: Node, name: string, partitionIndex: number): PartitionAnswer {
  const partition = node.topics.byName.get(name)?.partitions[partitionIndex] ?? null;
  const none = { partitionIndex, errorMessage: null, activeProducers: [] };
  if (partition === null) return { ...none, errorCode: missingError(node, { name }, partitionIndex) };
  if (partition.leader.epoch < 0 && partition.followed === null)
    return { ...none, errorCode: ErrorCode.NOT_LEADER_OR_FOLLOWER };
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
