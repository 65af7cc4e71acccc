/** DescribeGroups: v0–6. What classic groups are and who is in them. No state. */
import type { GroupAnswerBodies } from '../../group/shapes.ts';
import type { Env, Outbox } from '../../lib/world.ts';
import { ErrorCode } from '../../protocol/errors.ts';
import type { DescribeGroupsRequest } from '../../protocol/messages/15-describe-groups.ts';
import { answer } from '../answers.ts';
import { askGroups, clientOf } from '../groups/calls.ts';
import type { Node, Request } from '../state.ts';

const KEY = 15;
/** What a client may do with a group where nobody checks: read, delete, describe, and describe and alter configs. */
const GROUP_OPERATIONS = 0b1101_0100_1000;

/** Asks the coordinators of the groups, each group once: a short request could else be answered by gigabytes. */
export function handleDescribeGroups(
  node: Node,
  env: Env,
  request: Request,
  body: DescribeGroupsRequest,
  out: Outbox,
): void {
  const client = clientOf(request);
  const calls = [...new Set(body.groups)].map((groupId) => {
    return { groupId, call: { kind: 'describeGroup', body: { groupId }, ...client } as const };
  });
  askGroups(node, env, request, 'describeGroup', calls, out, body.includeAuthorizedOperations);
}

/** All groups are described. */
export function answerDescribeGroups(
  node: Node,
  request: Request,
  groups: readonly GroupAnswerBodies['describeGroup'][],
  wantsOperations: boolean,
): void {
  const described = wantsOperations ? groups.map(withOperations) : [...groups];
  answer(node, request, KEY, { throttleTimeMs: 0, groups: described });
}

/** A group with what may be done with it, if it could be described. */
export function withOperations<G extends { readonly errorCode: number }>(group: G): G {
  return group.errorCode === ErrorCode.NONE ? { ...group, authorizedOperations: GROUP_OPERATIONS } : group;
}
