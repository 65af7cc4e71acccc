/**
 * ListPartitionReassignments: v0. Partitions whose replicas are being moved.
 *
 * The controller is asked, not the image of this broker: whoever has just begun a move finds it at any broker.
 */
import type { Env, Outbox } from '../../lib/world.ts';
import type { ListPartitionReassignmentsRequest } from '../../protocol/messages/46-list-partition-reassignments.ts';
import { forward } from '../control/forward.ts';
import type { Node, Request } from '../state.ts';

const KEY = 46;

/** Hands the request to the controller; answers when what that has seen is committed. */
export function handleListPartitionReassignments(
  node: Node,
  env: Env,
  request: Request,
  body: ListPartitionReassignmentsRequest,
  out: Outbox,
): void {
  forward(node, env, request, KEY, body, body.timeoutMs, out);
}
