/**
 * CreatePartitions: v0–3. More partitions for topics that there are.
 *
 * Answered when the new ones can be produced to.
 */
import type { Env, Outbox } from '../../lib/world.ts';
import type { CreatePartitionsRequest } from '../../protocol/messages/37-create-partitions.ts';
import { forward } from '../control/forward.ts';
import type { Node, Request } from '../state.ts';

const KEY = 37;

/** Hands the request to the controller; answers when what it did is committed. */
export function handleCreatePartitions(
  node: Node,
  env: Env,
  request: Request,
  body: CreatePartitionsRequest,
  out: Outbox,
): void {
  forward(node, env, request, KEY, body, body.timeoutMs, out);
}
