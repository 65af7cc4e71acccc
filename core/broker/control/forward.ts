/**
 * Administration is the controller's: a request that changes the cluster is handed to it as it came, and its answer is
 * the client's. Whatever makes partitions is answered when they can be used, or when the client's time is over.
 */
import type { ControllerKey } from '../../controller/handle.ts';
import type { Env, Outbox } from '../../lib/world.ts';
import { ErrorCode } from '../../protocol/errors.ts';
import type { RequestOf, ResponseInputOf } from '../../protocol/messages/index.ts';
import { answer } from '../answers.ts';
import { waitForTopics } from '../partitions/topic-waits.ts';
import { scheduleTopics } from '../partitions/topics.ts';
import type { Node, Request, Topic } from '../state.ts';
import { type Caller, type CallFailure, type CallOutcome, callController } from './controller-calls.ts';
import { refusalOf } from './refusals.ts';

/** The APIs that are forwarded. */
export type ForwardedKey = 19 | 20 | 33 | 37 | 43 | 44 | 45 | 46 | 57 | 64 | 94;

const FORWARDED: ReadonlySet<number> = new Set<ForwardedKey>([19, 20, 33, 37, 43, 44, 45, 46, 57, 64, 94]);

/** Whether an API is a client's for the controller. */
export function isForwardedKey(apiKey: number): apiKey is ForwardedKey {
  return FORWARDED.has(apiKey);
}

/** The time that a client has that names none, ms: Kafka's request.timeout.ms. */
export const TIMEOUT_MS = 30_000;

/** Hands a client's request to the controller. */
export function forward<K extends ForwardedKey>(
  node: Node,
  env: Env,
  request: Request,
  apiKey: K,
  body: RequestOf<K>,
  timeoutMs: number,
  out: Outbox,
): void {
  const untilMs = env.nowMs + Math.max(timeoutMs, 0);
  const caller: Caller = { kind: 'client', request, apiKey, body: body as RequestOf<ControllerKey>, untilMs };
  callController(node, env, apiKey, request.version, body, caller, out);
}

/** The controller has answered, or cannot. */
export function answerForwarded(node: Node, caller: Extract<Caller, { kind: 'client' }>, outcome: CallOutcome): void {
  const { request, apiKey, body } = caller;
  if ('failure' in outcome) {
    answer(node, request, apiKey, refusalOf(apiKey, request.version, body, errorOf(outcome.failure)));
    return;
  }
  const { response } = outcome;
  const end = { kind: 'client', request, apiKey, response } as const;
  waitForTopics(node, madeTopics(node, apiKey, response), caller.untilMs, end);
  scheduleTopics(node);
}

/** The topics that got partitions. */
function madeTopics(node: Node, apiKey: ControllerKey, response: ResponseInputOf<ControllerKey>): Topic[] {
  const names =
    apiKey === 19
      ? (response as ResponseInputOf<19>).topics.filter(isDone).map(({ name }) => name)
      : apiKey === 37
        ? (response as ResponseInputOf<37>).results.filter(isDone).map(({ name }) => name)
        : [];
  return names.flatMap((name) => node.topics.byName.get(name) ?? []);
}

function isDone({ errorCode }: { readonly errorCode: number }): boolean {
  return errorCode === ErrorCode.NONE;
}

/** What a client is told when the controller did not answer. */
export function errorOf(failure: CallFailure): ErrorCode {
  switch (failure) {
    case 'tooLarge':
      return ErrorCode.POLICY_VIOLATION;
    case 'busy':
    case 'timedOut':
      return ErrorCode.REQUEST_TIMED_OUT;
    default:
      return ErrorCode.NOT_CONTROLLER; // Clients ask again.
  }
}
