/** DeleteGroups: v0–3. Groups without members, and their offsets, are forgotten. No state. */
import type { GroupAnswerBodies } from '../../group/shapes.ts';
import type { Env, Outbox } from '../../lib/world.ts';
import type { DeleteGroupsRequest } from '../../protocol/messages/42-delete-groups.ts';
import { answer } from '../answers.ts';
import { askGroups, clientOf } from '../groups/calls.ts';
import type { Node, Request } from '../state.ts';

const KEY = 42;

/** Asks the coordinators of the groups, each group once. */
export function handleDeleteGroups(
  node: Node,
  env: Env,
  request: Request,
  body: DeleteGroupsRequest,
  out: Outbox,
): void {
  const client = clientOf(request);
  const calls = [...new Set(body.groupsNames)].map((groupId) => {
    return { groupId, call: { kind: 'deleteGroup', body: { groupId }, ...client } as const };
  });
  askGroups(node, env, request, 'deleteGroup', calls, out);
}

/** All groups are deleted, or not. */
export function answerDeleteGroups(
  node: Node,
  request: Request,
  results: readonly GroupAnswerBodies['deleteGroup'][],
): void {
  answer(node, request, KEY, { throttleTimeMs: 0, results: [...results] });
}
