/**
 * DeleteTopics: v1–6. By name, or since version 6 by id.
 *
 * Answered when the topic is gone: nobody can write to it or read from it any more.
 */
import type { Env, Outbox } from '../../lib/world.ts';
import type { DeleteTopicsRequest } from '../../protocol/messages/20-delete-topics.ts';
import { forward } from '../control/forward.ts';
import type { Node, Request } from '../state.ts';

const KEY = 20;

/** Hands the request to the controller; answers when what it did is committed. */
export function handleDeleteTopics(
  node: Node,
  env: Env,
  request: Request,
  body: DeleteTopicsRequest,
  out: Outbox,
): void {
  forward(node, env, request, KEY, body, body.timeoutMs, out);
}
