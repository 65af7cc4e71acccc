/**
 * IncrementalAlterConfigs: v0–1. Sets, removes, appends to and subtracts from single settings.
 *
 * Takes effect before the answer leaves.
 */
import type { Env, Outbox } from '../../lib/world.ts';
import type { IncrementalAlterConfigsRequest } from '../../protocol/messages/44-incremental-alter-configs.ts';
import { forward, TIMEOUT_MS } from '../control/forward.ts';
import type { Node, Request } from '../state.ts';

const KEY = 44;

/** Hands the request to the controller; answers when what it did is committed. */
export function handleIncrementalAlterConfigs(
  node: Node,
  env: Env,
  request: Request,
  body: IncrementalAlterConfigsRequest,
  out: Outbox,
): void {
  forward(node, env, request, KEY, body, TIMEOUT_MS, out);
}
