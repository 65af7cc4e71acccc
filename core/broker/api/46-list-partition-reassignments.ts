/**
 * ListPartitionReassignments: v0. Partitions whose replicas are being moved, as a directory of Apache Kafka's may have
 * them: nobody can ask us for a move yet.
 */
import type { Env } from '../../lib/world.ts';
import { listPartitionReassignments } from '../../metadata/describe-topics.ts';
import type { ListPartitionReassignmentsRequest } from '../../protocol/messages/46-list-partition-reassignments.ts';
import { answer } from '../answers.ts';
import type { Node, Request } from '../state.ts';

const KEY = 46;

/** Answers at once, from what is committed. */
export function handleListPartitionReassignments(
  node: Node,
  _env: Env,
  request: Request,
  body: ListPartitionReassignmentsRequest,
): void {
  answer(node, request, KEY, listPartitionReassignments(node.image, body));
}
