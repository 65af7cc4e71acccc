/** Heartbeat: v0–4. A member of a classic group lives. No state. */
import type { Env, Outbox } from '../../lib/world.ts';
import type { HeartbeatRequest } from '../../protocol/messages/12-heartbeat.ts';
import { askGroup, clientOf } from '../groups/calls.ts';
import type { Node, Request } from '../state.ts';

/** Asks the group's coordinator. */
export function handleHeartbeat(node: Node, env: Env, request: Request, body: HeartbeatRequest, out: Outbox): void {
  askGroup(node, env, request, body.groupId, { kind: 'heartbeat', body, ...clientOf(request) }, out);
}
