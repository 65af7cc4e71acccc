/**
 * Producer ids: handed out from blocks that the controller gives to this broker and to no one else, ever.
 *
 * A crash loses the rest of a block; its ids are never given.
 */
import type { Env, Outbox } from '../../lib/world.ts';
import { ErrorCode } from '../../protocol/errors.ts';
import type { ResponseInputOf } from '../../protocol/messages/index.ts';
import { answer } from '../answers.ts';
import type { Node, Request } from '../state.ts';
import { type CallOutcome, callController } from './controller-calls.ts';

/** Requests that may wait for a block; one more is asked to come again. */
export const WAITING_MAX = 10_000;

const KEY = 22;
const ALLOCATE_KEY = 67;

/** The state of the ids. Invariant: `next <= end`; the controller gave [next, end) to this broker. */
export interface ProducerIds {
  /** The next id to give, and where the block ends. */
  next: number;
  end: number;
  isAsking: boolean;
  readonly waiting: Request[];
}

/** No ids: the first request brings a block. */
export function createProducerIds(): ProducerIds {
  return { next: 0, end: 0, isAsking: false, waiting: [] };
}

/** Answers with a fresh id, now or when the next block has been given. */
export function takeProducerId(node: Node, env: Env, request: Request, out: Outbox): void {
  const { producerIds } = node;
  if (producerIds.next < producerIds.end) {
    const producerId = producerIds.next;
    producerIds.next += 1;
    answer(node, request, KEY, { throttleTimeMs: 0, errorCode: ErrorCode.NONE, producerId, producerEpoch: 0 });
    return;
  }
  if (producerIds.waiting.length >= WAITING_MAX) {
    refuseProducerId(node, request, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS);
    return;
  }
  producerIds.waiting.push(request);
  if (producerIds.isAsking) return;
  producerIds.isAsking = true;
  const body = { brokerId: node.nodeId, brokerEpoch: node.lifecycle.epoch };
  callController(node, env, ALLOCATE_KEY, 0, body, { kind: 'producerIds' }, out);
}

/** Answers with an error. */
export function refuseProducerId(node: Node, request: Request, error: ErrorCode): void {
  answer(node, request, KEY, { throttleTimeMs: 0, errorCode: error, producerId: -1, producerEpoch: -1 });
}

/** The controller has given a block, or has not. */
export function answerProducerIds(node: Node, env: Env, outcome: CallOutcome, out: Outbox): void {
  const { producerIds } = node;
  producerIds.isAsking = false;
  const waiting = producerIds.waiting.splice(0);
  const response = 'response' in outcome ? (outcome.response as ResponseInputOf<67>) : null;
  if (response === null || response.errorCode !== ErrorCode.NONE) {
    for (const request of waiting) refuseProducerId(node, request, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS);
    return;
  }
  producerIds.next = response.producerIdStart;
  producerIds.end = response.producerIdStart + response.producerIdLen;
  for (const request of waiting) takeProducerId(node, env, request, out);
}
