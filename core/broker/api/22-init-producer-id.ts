/**
 * InitProducerId: v0–5. Gives an idempotent producer an id that nobody had before.
 *
 * Without a transactional id the producer id and epoch that newer clients send say nothing: a new id is the answer,
 * as with Kafka. Transactions are not there yet; a transactional id is refused as unsupported.
 */
import type { Env, Outbox } from '../../lib/world.ts';
import { ErrorCode } from '../../protocol/errors.ts';
import type { InitProducerIdRequest } from '../../protocol/messages/22-init-producer-id.ts';
import { refuseProducerId, takeProducerId } from '../control/producer-ids.ts';
import type { Node, Request } from '../state.ts';

/** Answers at once, or when the next block of ids is durable. */
export function handleInitProducerId(
  node: Node,
  env: Env,
  request: Request,
  body: InitProducerIdRequest,
  out: Outbox,
): void {
  const isHalf = body.producerId < 0 !== body.producerEpoch < 0;
  if (body.transactionalId === '' || isHalf) refuseProducerId(node, request, ErrorCode.INVALID_REQUEST);
  else if (body.transactionalId !== null) refuseProducerId(node, request, ErrorCode.UNSUPPORTED_VERSION);
  else takeProducerId(node, env, request, out);
}
