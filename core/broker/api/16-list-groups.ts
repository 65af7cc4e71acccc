/**
 * ListGroups: v0–5. The groups that this broker coordinates, perhaps only those in some states or of some types. While
 * one of its coordinators loads there is no list: it would lack what is there. No state.
 */
import type { GroupAnswerBodies } from '../../group/shapes.ts';
import type { Env, Outbox } from '../../lib/world.ts';
import { ErrorCode } from '../../protocol/errors.ts';
import type { ListGroupsRequest } from '../../protocol/messages/16-list-groups.ts';
import { answer } from '../answers.ts';
import { askAllHosts, clientOf } from '../groups/calls.ts';
import type { Node, Request } from '../state.ts';

const KEY = 16;

/** Asks every coordinator here. */
export function handleListGroups(node: Node, env: Env, request: Request, body: ListGroupsRequest, out: Outbox): void {
  askAllHosts(node, env, request, { kind: 'listGroups', body, ...clientOf(request) }, out);
}

/** All coordinators have said what they have. */
export function answerListGroups(
  node: Node,
  request: Request,
  lists: readonly GroupAnswerBodies['listGroups'][],
): void {
  // What has just gone to another broker is listed there.
  const failed = lists.find(({ errorCode }) => errorCode !== ErrorCode.NONE && errorCode !== ErrorCode.NOT_COORDINATOR);
  const groups = failed === undefined ? lists.flatMap((list) => list.groups) : [];
  answer(node, request, KEY, { throttleTimeMs: 0, errorCode: failed?.errorCode ?? ErrorCode.NONE, groups });
}
