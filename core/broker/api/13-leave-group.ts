/** LeaveGroup: v0–5. Members of a classic group leave; since version 3 several at once. No state. */
import type { Env, Outbox } from '../../lib/world.ts';
import type { LeaveGroupRequest } from '../../protocol/messages/13-leave-group.ts';
import { askGroup, clientOf } from '../groups/calls.ts';
import type { Node, Request } from '../state.ts';

/** Asks the group's coordinator. */
export function handleLeaveGroup(node: Node, env: Env, request: Request, body: LeaveGroupRequest, out: Outbox): void {
  askGroup(node, env, request, body.groupId, { kind: 'leaveGroup', body, ...clientOf(request) }, out);
}
