/**
 * FindCoordinator: v0–6, refused for every key, because there are no coordinators yet.
 *
 * It is served all the same: librdkafka compresses with lz4 only for brokers that advertise it, and stores plain
 * batches without a word otherwise. A client that asks for its group is told for good, instead of trying for ever.
 */
import type { Env, Outbox } from '../../lib/world.ts';
import { ErrorCode } from '../../protocol/errors.ts';
import type { FindCoordinatorRequest } from '../../protocol/messages/10-find-coordinator.ts';
import { answer } from '../answers.ts';
import type { Node, Request } from '../state.ts';

const KEY = 10;
const NOWHERE = {
  nodeId: -1,
  host: '',
  port: -1,
  errorCode: ErrorCode.UNSUPPORTED_VERSION,
  errorMessage: 'this node serves no consumer groups, transactions or share groups yet',
};
/** From version 4 the answers are in the list, and these fields do not exist. */
const ABSENT = { nodeId: 0, host: '', port: 0, errorCode: ErrorCode.NONE, errorMessage: '' };

/** Answers at once. */
export function handleFindCoordinator(
  node: Node,
  _env: Env,
  request: Request,
  body: FindCoordinatorRequest,
  _out: Outbox,
): void {
  const isBatched = request.version >= 4;
  answer(node, request, KEY, {
    throttleTimeMs: 0,
    ...(isBatched ? ABSENT : NOWHERE),
    coordinators: isBatched ? body.coordinatorKeys.map((key) => ({ key, ...NOWHERE })) : [],
  });
}
