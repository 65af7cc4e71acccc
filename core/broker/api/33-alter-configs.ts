/**
 * AlterConfigs: v0–2. Sets all that is set for a topic or a broker anew.
 *
 * Takes effect before the answer leaves.
 */
import type { Env, Outbox } from '../../lib/world.ts';
import type { AlterConfigsRequest } from '../../protocol/messages/33-alter-configs.ts';
import { forward, TIMEOUT_MS } from '../control/forward.ts';
import type { Node, Request } from '../state.ts';

const KEY = 33;

/** Hands the request to the controller; answers when what it did is committed. */
export function handleAlterConfigs(
  node: Node,
  env: Env,
  request: Request,
  body: AlterConfigsRequest,
  out: Outbox,
): void {
  forward(node, env, request, KEY, body, TIMEOUT_MS, out);
}
