/**
 * UpdateFeatures: v0–2. Finalizes other levels of the cluster's features.
 *
 * The controller decides which levels all nodes support.
 */
import type { Env, Outbox } from '../../lib/world.ts';
import type { UpdateFeaturesRequest } from '../../protocol/messages/57-update-features.ts';
import { forward } from '../control/forward.ts';
import type { Node, Request } from '../state.ts';

const KEY = 57;

/** Hands the request to the controller; answers when what it did is committed. */
export function handleUpdateFeatures(
  node: Node,
  env: Env,
  request: Request,
  body: UpdateFeaturesRequest,
  out: Outbox,
): void {
  forward(node, env, request, KEY, body, body.timeoutMs, out);
}
