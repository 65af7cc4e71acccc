/**
 * UnregisterController: v0. Forgets a controller that will not come back.
 */
import type { Env, Outbox } from '../../lib/world.ts';
import type { UnregisterControllerRequest } from '../../protocol/messages/94-unregister-controller.ts';
import { forward, TIMEOUT_MS } from '../control/forward.ts';
import type { Node, Request } from '../state.ts';

const KEY = 94;

/** Hands the request to the controller; answers when what it did is committed. */
export function handleUnregisterController(
  node: Node,
  env: Env,
  request: Request,
  body: UnregisterControllerRequest,
  out: Outbox,
): void {
  forward(node, env, request, KEY, body, TIMEOUT_MS, out);
}
