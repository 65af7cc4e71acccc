/**
 * ElectLeaders: v0–2. Gives partitions to their preferred replicas, or to any that is left.
 */
import type { Env, Outbox } from '../../lib/world.ts';
import type { ElectLeadersRequest } from '../../protocol/messages/43-elect-leaders.ts';
import { forward } from '../control/forward.ts';
import type { Node, Request } from '../state.ts';

const KEY = 43;

/** Hands the request to the controller; answers when what it did is committed. */
export function handleElectLeaders(
  node: Node,
  env: Env,
  request: Request,
  body: ElectLeadersRequest,
  out: Outbox,
): void {
  forward(node, env, request, KEY, body, body.timeoutMs, out);
}
