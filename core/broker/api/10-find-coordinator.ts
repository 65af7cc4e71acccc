/**
 * FindCoordinator: v0–6, answered by COORDINATOR_NOT_AVAILABLE for every key, because there are no coordinators yet.
 *
 * It is served all the same: librdkafka compresses with lz4 only for brokers that advertise it, and stores plain
 * batches without a word otherwise. An error that is final would reach the callers of librdkafka's partition readers,
 * which look for a coordinator without needing one; this one is tried again in silence, so the node's log says it.
 */
import type { Env, Outbox } from '../../lib/world.ts';
import { ErrorCode } from '../../protocol/errors.ts';
import type { FindCoordinatorRequest } from '../../protocol/messages/10-find-coordinator.ts';
import { answer } from '../answers.ts';
import { complain } from '../say.ts';
import type { Node, Request } from '../state.ts';

const KEY = 10;
const NOWHERE = {
  nodeId: -1,
  host: '',
  port: -1,
  errorCode: ErrorCode.COORDINATOR_NOT_AVAILABLE,
  errorMessage: 'this node serves no consumer groups, transactions or share groups yet',
};
/** From version 4 the answers are in the list, and these fields do not exist. */
const ABSENT = { nodeId: 0, host: '', port: 0, errorCode: ErrorCode.NONE, errorMessage: '' };

/** Answers at once. */
export function handleFindCoordinator(
  node: Node,
  env: Env,
  request: Request,
  body: FindCoordinatorRequest,
  out: Outbox,
): void {
  complain(node, env, 'a client looks for a coordinator: groups and transactions are not served yet', new Map(), out);
  const isBatched = request.version >= 4;
  answer(node, request, KEY, {
    throttleTimeMs: 0,
    ...(isBatched ? ABSENT : NOWHERE),
    coordinators: isBatched ? body.coordinatorKeys.map((key) => ({ key, ...NOWHERE })) : [],
  });
}
