/** OffsetCommit: v2–10. How far a group has read; answered once it is committed. No state. */
import type { Env, Outbox } from '../../lib/world.ts';
import type { OffsetCommitRequest } from '../../protocol/messages/08-offset-commit.ts';
import { askGroup, clientOf } from '../groups/calls.ts';
import type { Node, Request } from '../state.ts';

/** Asks the group's coordinator. */
export function handleOffsetCommit(
  node: Node,
  env: Env,
  request: Request,
  body: OffsetCommitRequest,
  out: Outbox,
): void {
  askGroup(node, env, request, body.groupId, { kind: 'offsetCommit', body, ...clientOf(request) }, out);
}
