/** OffsetDelete: v0. Offsets of topics that nobody in the group reads are forgotten. No state. */
import type { Env, Outbox } from '../../lib/world.ts';
import type { OffsetDeleteRequest } from '../../protocol/messages/47-offset-delete.ts';
import { askGroup, clientOf } from '../groups/calls.ts';
import type { Node, Request } from '../state.ts';

/** Asks the group's coordinator. */
export function handleOffsetDelete(
  node: Node,
  env: Env,
  request: Request,
  body: OffsetDeleteRequest,
  out: Outbox,
): void {
  askGroup(node, env, request, body.groupId, { kind: 'offsetDelete', body, ...clientOf(request) }, out);
}
