/** ConsumerGroupDescribe: v0–1. What consumer groups are, and what their members have and are to have. No state. */
import type { GroupAnswerBodies } from '../../group/shapes.ts';
import type { Env, Outbox } from '../../lib/world.ts';
import { ErrorCode } from '../../protocol/errors.ts';
import type { ConsumerGroupDescribeRequest } from '../../protocol/messages/69-consumer-group-describe.ts';
import { answer } from '../answers.ts';
import { askGroups, clientOf } from '../groups/calls.ts';
import { refusedConsumerDescription } from '../groups/refusals.ts';
import type { Node, Request } from '../state.ts';
import { withOperations } from './15-describe-groups.ts';
import { servesConsumerGroups } from './68-consumer-group-heartbeat.ts';

const KEY = 69;

/** Asks the coordinators of the groups, each group once: a short request could else be answered by gigabytes. */
export function handleConsumerGroupDescribe(
  node: Node,
  env: Env,
  request: Request,
  body: ConsumerGroupDescribeRequest,
  out: Outbox,
): void {
  const client = clientOf(request);
  if (!servesConsumerGroups(node)) {
    const groups = body.groupIds.map((id) => refusedConsumerDescription(id, ErrorCode.UNSUPPORTED_VERSION, null));
    answer(node, request, KEY, { throttleTimeMs: 0, groups });
    return;
  }
  const calls = [...new Set(body.groupIds)].map((groupId) => {
    return { groupId, call: { kind: 'consumerGroupDescribe', body: { groupId }, ...client } as const };
  });
  askGroups(node, env, request, 'consumerGroupDescribe', calls, out, body.includeAuthorizedOperations);
}

/** All groups are described. */
export function answerConsumerGroupDescribe(
  node: Node,
  request: Request,
  groups: readonly GroupAnswerBodies['consumerGroupDescribe'][],
  wantsOperations: boolean,
): void {
  const described = wantsOperations ? groups.map(withOperations) : [...groups];
  answer(node, request, KEY, { throttleTimeMs: 0, groups: described });
}
