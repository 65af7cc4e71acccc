/**
 * ConsumerGroupHeartbeat: v0–1. A member of a consumer group lives, says what it wants and what it has, and hears what
 * it is to have. Served where `group.version` is finalized and the operator has not left the protocol out. No state.
 */
import type { Env, Outbox } from '../../lib/world.ts';
import { GROUP_VERSION } from '../../metadata/features.ts';
import { ErrorCode } from '../../protocol/errors.ts';
import type { ConsumerGroupHeartbeatRequest } from '../../protocol/messages/68-consumer-group-heartbeat.ts';
import { answer } from '../answers.ts';
import { askGroup, clientOf } from '../groups/calls.ts';
import { refusedHeartbeat } from '../groups/refusals.ts';
import type { Node, Request } from '../state.ts';

const KEY = 68;

/** Whether the consumer protocol is served. */
export function servesConsumerGroups({ image, config }: Node): boolean {
  const isFinalized = (image.features.get(GROUP_VERSION) ?? 0) > 0;
  return isFinalized && config['group.coordinator.rebalance.protocols'].includes('consumer');
}

/** Asks the group's coordinator. */
export function handleConsumerGroupHeartbeat(
  node: Node,
  env: Env,
  request: Request,
  body: ConsumerGroupHeartbeatRequest,
  out: Outbox,
): void {
  if (!servesConsumerGroups(node)) {
    answer(node, request, KEY, refusedHeartbeat(ErrorCode.UNSUPPORTED_VERSION, null));
    return;
  }
  askGroup(node, env, request, body.groupId, { kind: 'consumerGroupHeartbeat', body, ...clientOf(request) }, out);
}
