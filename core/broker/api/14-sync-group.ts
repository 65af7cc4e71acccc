/**
 * SyncGroup: v0–5. A member of a classic group asks for its share, and the leader says everybody's; answered when they
 * are known and committed. No state.
 */
import type { Env, Outbox } from '../../lib/world.ts';
import type { SyncGroupRequest } from '../../protocol/messages/14-sync-group.ts';
import { askGroup, clientOf } from '../groups/calls.ts';
import type { Node, Request } from '../state.ts';

/** Asks the group's coordinator. What it keeps of the request is not to keep the frame in memory. */
export function handleSyncGroup(node: Node, env: Env, request: Request, body: SyncGroupRequest, out: Outbox): void {
  const assignments = body.assignments.map(({ memberId, assignment }) => ({
    memberId,
    assignment: assignment.slice(),
  }));
  const call = { kind: 'syncGroup', body: { ...body, assignments }, ...clientOf(request) } as const;
  askGroup(node, env, request, body.groupId, call, out);
}
