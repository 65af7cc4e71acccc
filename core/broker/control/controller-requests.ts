/**
 * Requests that come through the listener of this controller: those of its API, which it takes if it is the active one
 * and refuses otherwise, and those of other members of the quorum. No state.
 */
import type { ControllerKey } from '../../controller/handle.ts';
import type { Env, Outbox } from '../../lib/world.ts';
import type { RequestOf } from '../../protocol/messages/index.ts';
import type { PeerKey } from '../../raft/raft.ts';
import { answer } from '../answers.ts';
import type { Node, Request } from '../state.ts';
import type { Caller, CallOutcome } from './controller-calls.ts';
import { isActiveHere, submitHere } from './controller-host.ts';
import { errorOf } from './forward.ts';
import { takeMemberRequest } from './quorum-calls.ts';
import { refusalOf } from './refusals.ts';

type Handle<K extends ControllerKey | PeerKey> = (
  node: Node,
  env: Env,
  request: Request,
  body: RequestOf<K>,
  out: Outbox,
) => void;

/** Handles requests of an API of the controller: only the active one takes them. */
export function byController<K extends ControllerKey>(apiKey: K): Handle<K> {
  return (node, env, request, body, out) => {
    const { controller } = node;
    const caller = { kind: 'asked', request, apiKey, body: body as RequestOf<ControllerKey> } as const;
    if (controller === null || !isActiveHere(controller)) {
      answerAsked(node, caller, { failure: 'inactive' });
      return;
    }
    if (apiKey === 63) noteHeartbeat(node, request, (body as RequestOf<63>).brokerId);
    submitHere(node, env, controller, { apiKey, version: request.version, body: caller.body, caller }, out);
  };
}

/** Handles requests of an API that members of the quorum use: answered at once or later, never in the wrong order. */
export function byMember<K extends PeerKey>(apiKey: K): Handle<K> {
  return (node, env, request, body, out) => takeMemberRequest(node, env, request, apiKey, body, out);
}

/** The connection is what the broker is heard on: its end is a reason to ask whether it lives. */
function noteHeartbeat(node: Node, { connection }: Request, brokerId: number): void {
  if (connection !== null) node.controller?.work.heartbeats.set(brokerId, connection.id);
}

/** The controller has answered, or cannot. */
export function answerAsked(node: Node, caller: Extract<Caller, { kind: 'asked' }>, outcome: CallOutcome): void {
  const { request, apiKey, body } = caller;
  const response =
    'failure' in outcome ? refusalOf(apiKey, request.version, body, errorOf(outcome.failure)) : outcome.response;
  answer(node, request, apiKey, response);
}
