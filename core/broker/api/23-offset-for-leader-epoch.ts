/**
 * OffsetForLeaderEpoch: v2–4. Where the records of a leader epoch end, so that whoever read from an earlier leader
 * can tell from where its copy differs (KIP-101, KIP-279, KIP-320).
 */
import type { Env } from '../../lib/world.ts';
import { endOffsetForEpoch } from '../../log/log.ts';
import { ErrorCode } from '../../protocol/errors.ts';
import type {
  OffsetForLeaderEpochRequest,
  OffsetForLeaderEpochResponse,
} from '../../protocol/messages/23-offset-for-leader-epoch.ts';
import { fence } from '../../replication/fencing.ts';
import { answer } from '../answers.ts';
import { missingError } from '../partitions/leaders.ts';
import type { Node, Request } from '../state.ts';

const KEY = 23;

type Asked = OffsetForLeaderEpochRequest['topics'][number]['partitions'][number];
type Answer = OffsetForLeaderEpochResponse['topics'][number]['partitions'][number];

/** Answers at once. */
export function handleOffsetForLeaderEpoch(
  node: Node,
  _env: Env,
  request: Request,
  body: OffsetForLeaderEpochRequest,
): void {
  const topics = body.topics.map(({ topic, partitions }) => ({
    topic,
    partitions: partitions.map((asked) => answerOne(node, topic, asked)),
  }));
  answer(node, request, KEY, { throttleTimeMs: 0, topics });
}

function answerOne(node: Node, name: string, asked: Asked): Answer {
  const partition = node.topics.byName.get(name)?.partitions[asked.partition] ?? null;
  const none = { partition: asked.partition, leaderEpoch: -1, endOffset: -1 };
  if (partition === null) return { ...none, errorCode: missingError(node, { name }, asked.partition) };
  const fenced = fence(partition.leader, asked.currentLeaderEpoch);
  if (fenced !== ErrorCode.NONE) return { ...none, errorCode: fenced };
  const { leaderEpoch, endOffset } = endOffsetForEpoch(partition.log, asked.leaderEpoch);
  return { partition: asked.partition, errorCode: ErrorCode.NONE, leaderEpoch, endOffset };
}
