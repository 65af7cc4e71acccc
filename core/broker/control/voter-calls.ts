/**
 * A client of this broker wants to change who votes in the quorum: its request goes to the leader of the quorum, in
 * this process or elsewhere. It may wait there for a new voter to catch up, so it has a connection of its own.
 *
 * What is lost with the leader is answered at once: the client asks again, and is told then if it was done. No state.
 */
import type { Env, Outbox } from '../../lib/world.ts';
import { ErrorCode } from '../../protocol/errors.ts';
import type { RequestInputOf, RequestOf, ResponseInputOf } from '../../protocol/messages/index.ts';
import { knownLeader } from '../../raft/raft.ts';
import { controllerAddress } from '../addresses.ts';
import { answer } from '../answers.ts';
import type { Node, Request } from '../state.ts';
import { TIMEOUT_MS } from './forward.ts';
import { callPeer, type PeerOutcome } from './peers.ts';
import { takeMemberRequest } from './quorum-calls.ts';

/** AddRaftVoter and RemoveRaftVoter. */
type Key = 80 | 81;

/** Hands the request of a client to the leader. */
export function askForVoters(
  node: Node,
  env: Env,
  request: Request,
  apiKey: Key,
  body: RequestOf<Key>,
  out: Outbox,
): void {
  const leaderId = node.controller === null ? -1 : knownLeader(node.controller.quorum.raft);
  if (leaderId === node.nodeId) {
    takeMemberRequest(node, env, request, apiKey, body, out);
    return;
  }
  if (leaderId < 0) {
    refuse(node, request, apiKey, ErrorCode.NOT_CONTROLLER);
    return;
  }
  const asked = { apiKey, body: body as RequestInputOf<Key> };
  const call = { to: controllerAddress(node, leaderId), purpose: 'voters', ...asked } as const;
  callPeer(node, env, { ...call, timeoutMs: TIMEOUT_MS }, { kind: 'voters', request, apiKey }, out);
}

/** The leader has answered, or not. */
export function answerVoters(
  node: Node,
  { request, apiKey }: { readonly request: Request; readonly apiKey: Key },
  outcome: PeerOutcome,
): void {
  if ('failure' in outcome) {
    const isLate = outcome.failure === 'timedOut';
    refuse(node, request, apiKey, isLate ? ErrorCode.REQUEST_TIMED_OUT : ErrorCode.NOT_CONTROLLER);
    return;
  }
  const response = outcome.response as ResponseInputOf<Key>;
  // A client of a broker knows of controllers, not of leaders.
  const isElsewhere = response.errorCode === ErrorCode.NOT_LEADER_OR_FOLLOWER;
  if (isElsewhere) refuse(node, request, apiKey, ErrorCode.NOT_CONTROLLER);
  else answer(node, request, apiKey, response);
}

function refuse(node: Node, request: Request, apiKey: Key, errorCode: ErrorCode): void {
  answer(node, request, apiKey, { throttleTimeMs: 0, errorCode, errorMessage: null });
}
