/**
 * DescribeLogDirs: v1–5. The log directory and how much of it each partition takes. How large the device is and how
 * much is free is not known to a node.
 */
import type { Env } from '../../lib/world.ts';
import { ErrorCode } from '../../protocol/errors.ts';
import type { DescribeLogDirsRequest, DescribeLogDirsResponse } from '../../protocol/messages/35-describe-log-dirs.ts';
import { answer } from '../answers.ts';
import type { Node, Partition, Request } from '../state.ts';

const KEY = 35;
const UNKNOWN = -1;

type TopicAnswer = DescribeLogDirsResponse['results'][number]['topics'][number];

/** Answers at once. */
export function handleDescribeLogDirs(node: Node, _env: Env, request: Request, body: DescribeLogDirsRequest): void {
  const topics: TopicAnswer[] = [];
  if (body.topics === null) {
    for (const { name, partitions } of node.topics.byName.values()) {
      topics.push({ name, partitions: partitions.flatMap((partition) => partition ?? []).map(sizeOf) });
    }
  }
  for (const { topic, partitions } of body.topics ?? []) {
    const known = node.topics.byName.get(topic)?.partitions ?? [];
    const found = partitions.flatMap((index) => known[index] ?? []);
    if (found.length > 0) topics.push({ name: topic, partitions: found.map(sizeOf) });
  }
  const sizes = { totalBytes: UNKNOWN, usableBytes: UNKNOWN, isCordoned: false };
  const results = [{ errorCode: ErrorCode.NONE, logDir: node.folder, topics, ...sizes }];
  answer(node, request, KEY, { throttleTimeMs: 0, errorCode: ErrorCode.NONE, results });
}

function sizeOf({ index, log }: Partition): TopicAnswer['partitions'][number] {
  return { partitionIndex: index, partitionSize: log.sizeBytes, offsetLag: 0, isFutureKey: false };
}
