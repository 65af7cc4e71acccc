/**
 * DescribeQuorum: v0–2. The voters of the metadata log and how far each has come.
 *
 * Only the leader knows: a broker asks it, through its controller listener.
 */
import type { Env, Outbox } from '../../lib/world.ts';
import { ErrorCode } from '../../protocol/errors.ts';
import type { DescribeQuorumRequest } from '../../protocol/messages/55-describe-quorum.ts';
import type { ResponseInputOf } from '../../protocol/messages/index.ts';
import { describeQuorum } from '../../raft/describe.ts';
import { knownLeader } from '../../raft/raft.ts';
import { controllerAddress, isForControllers } from '../addresses.ts';
import { answer } from '../answers.ts';
import { callPeer, type PeerOutcome } from '../peers.ts';
import type { Node, Request } from '../state.ts';

const KEY = 55;
/** How long the leader has to answer, ms. */
const ASK_MS_MAX = 2_000;

/** Answers at once, from what is committed, or asks the leader. */
export function handleDescribeQuorum(
  node: Node,
  env: Env,
  request: Request,
  body: DescribeQuorumRequest,
  out: Outbox,
): void {
  if (node.controller === null) {
    answer(node, request, KEY, unknown());
    return;
  }
  const { raft } = node.controller.quorum;
  const leaderId = knownLeader(raft);
  const isClients = request.connection !== null && !isForControllers(node, request.connection);
  if (!isClients || leaderId < 0 || leaderId === node.nodeId) {
    answer(node, request, KEY, describeQuorum(raft, env, body));
    return;
  }
  const call = { to: controllerAddress(node, leaderId), purpose: 'controller', apiKey: KEY, body } as const;
  callPeer(node, env, { ...call, timeoutMs: ASK_MS_MAX }, { kind: 'describeQuorum', request }, out);
}

/** The leader has answered, or not. */
export function answerDescribeQuorum(node: Node, request: Request, outcome: PeerOutcome): void {
  const response = 'response' in outcome ? (outcome.response as ResponseInputOf<55>) : unknown();
  answer(node, request, KEY, response);
}

function unknown(): ResponseInputOf<55> {
  return { errorCode: ErrorCode.NOT_LEADER_OR_FOLLOWER, errorMessage: null, topics: [], nodes: [] };
}
