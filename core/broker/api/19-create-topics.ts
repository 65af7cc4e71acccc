/**
 * CreateTopics: v2–7. Topics with a number of partitions or places for their replicas, and settings of their own.
 *
 * Answered when every partition can be produced to, or REQUEST_TIMED_OUT for a topic that is late.
 */
import type { Env, Outbox } from '../../lib/world.ts';
import type { CreateTopicsRequest } from '../../protocol/messages/19-create-topics.ts';
import { forward } from '../control/forward.ts';
import type { Node, Request } from '../state.ts';

const KEY = 19;

/** Hands the request to the controller; answers when what it did is committed. */
export function handleCreateTopics(
  node: Node,
  env: Env,
  request: Request,
  body: CreateTopicsRequest,
  out: Outbox,
): void {
  forward(node, env, request, KEY, body, body.timeoutMs, out);
}
