/**
 * AlterPartitionReassignments: v0–1. Moves partitions to other replicas, or takes a move back.
 *
 * The answer says that moves have begun: they end when the new replicas are in sync, however long that takes.
 */
import type { Env, Outbox } from '../../lib/world.ts';
import type { AlterPartitionReassignmentsRequest } from '../../protocol/messages/45-alter-partition-reassignments.ts';
import { forward } from '../control/forward.ts';
import type { Node, Request } from '../state.ts';

const KEY = 45;

/** Hands the request to the controller; answers when what it did is committed. */
export function handleAlterPartitionReassignments(
  node: Node,
  env: Env,
  request: Request,
  body: AlterPartitionReassignmentsRequest,
  out: Outbox,
): void {
  forward(node, env, request, KEY, body, body.timeoutMs, out);
}
