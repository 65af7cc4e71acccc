/**
 * UnregisterBroker: v0. Forgets a broker that will not come back.
 */
import type { Env, Outbox } from '../../lib/world.ts';
import type { UnregisterBrokerRequest } from '../../protocol/messages/64-unregister-broker.ts';
import { forward, TIMEOUT_MS } from '../control/forward.ts';
import type { Node, Request } from '../state.ts';

const KEY = 64;

/** Hands the request to the controller; answers when what it did is committed. */
export function handleUnregisterBroker(
  node: Node,
  env: Env,
  request: Request,
  body: UnregisterBrokerRequest,
  out: Outbox,
): void {
  forward(node, env, request, KEY, body, TIMEOUT_MS, out);
}
