/**
 * JoinGroup: v0–9. A member of a classic group joins, or joins again; answered when the members of the next generation
 * are known. No state.
 */
import type { GroupAnswerBodies } from '../../group/shapes.ts';
import type { Env, Outbox } from '../../lib/world.ts';
import type { JoinGroupRequest } from '../../protocol/messages/11-join-group.ts';
import { answer } from '../answers.ts';
import { askGroup, clientOf } from '../groups/calls.ts';
import type { Node, Request } from '../state.ts';

const KEY = 11;
/** The first version in which the protocol may have no name. */
const NO_PROTOCOL_SINCE = 7;

/** Asks the group's coordinator. What it keeps of the request is not to keep the frame in memory. */
export function handleJoinGroup(node: Node, env: Env, request: Request, body: JoinGroupRequest, out: Outbox): void {
  const protocols = body.protocols.map(({ name, metadata }) => ({ name, metadata: metadata.slice() }));
  const call = { kind: 'joinGroup', body: { ...body, protocols }, ...clientOf(request) } as const;
  askGroup(node, env, request, body.groupId, call, out);
}

/** The coordinator has answered. */
export function answerJoinGroup(node: Node, request: Request, body: GroupAnswerBodies['joinGroup']): void {
  const isOld = request.version < NO_PROTOCOL_SINCE;
  answer(node, request, KEY, isOld ? { ...body, protocolName: body.protocolName ?? '' } : body);
}
