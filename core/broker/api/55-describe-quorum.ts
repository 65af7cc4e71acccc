/**
 * DescribeQuorum: v0–2. The voters of the metadata log and how far each has come.
 *
 * Only the leader knows: a broker asks it, through its controller listener.
 */
import { ZERO_UUID } from '../../lib/uuid.ts';
import type { Env, Outbox } from '../../lib/world.ts';
import { ErrorCode } from '../../protocol/errors.ts';
import type { DescribeQuorumRequest } from '../../protocol/messages/55-describe-quorum.ts';
import type { ResponseInputOf } from '../../protocol/messages/index.ts';
import { describeQuorum } from '../../raft/describe.ts';
import { knownLeader } from '../../raft/raft.ts';
import { controllerAddress, isForControllers } from '../addresses.ts';
import { answer } from '../answers.ts';
import { callPeer, type PeerOutcome } from '../control/peers.ts';
import type { Node, Request } from '../state.ts';

const KEY = 55;
/** The first version that says where voters listen, and which directory each has. */
const NODES_SINCE = 2;
/** How long the leader has to answer, ms. */
const ASK_MS_MAX = 2_000;

type Response = ResponseInputOf<typeof KEY>;
type States = Response['topics'][number]['partitions'][number]['currentVoters'];

/** Answers at once, from what is committed, or asks the leader. */
export function handleDescribeQuorum(
  node: Node,
  env: Env,
  request: Request,
  body: DescribeQuorumRequest,
  out: Outbox,
): void {
  if (node.controller === null) {
    say(node, request, unknown());
    return;
  }
  const { raft } = node.controller.quorum;
  const leaderId = knownLeader(raft);
  const isClients = request.connection !== null && !isForControllers(node, request.connection);
  if (!isClients || leaderId < 0 || leaderId === node.nodeId) {
    say(node, request, describeQuorum(raft, env, body));
    return;
  }
  const call = { to: controllerAddress(node, leaderId), purpose: 'controller', apiKey: KEY, body } as const;
  callPeer(node, env, { ...call, timeoutMs: ASK_MS_MAX }, { kind: 'describeQuorum', request }, out);
}

/** The leader has answered, or not. */
export function answerDescribeQuorum(node: Node, request: Request, outcome: PeerOutcome): void {
  const response = 'response' in outcome ? (outcome.response as Response) : unknown();
  say(node, request, response);
}

/** Earlier versions have no place for what tells nodes and directories apart. */
function say(node: Node, request: Request, response: Response): void {
  answer(node, request, KEY, request.version < NODES_SINCE ? withoutNodes(response) : response);
}

function withoutNodes(response: Response): Response {
  const strip = (states: States): States => states.map((state) => ({ ...state, replicaDirectoryId: ZERO_UUID }));
  const topics = response.topics.map((topic) => ({
    ...topic,
    partitions: topic.partitions.map((one) => {
      return { ...one, currentVoters: strip(one.currentVoters), observers: strip(one.observers) };
    }),
  }));
  return { ...response, topics, nodes: [] };
}

function unknown(): Response {
  return { errorCode: ErrorCode.NOT_LEADER_OR_FOLLOWER, errorMessage: null, topics: [], nodes: [] };
}
