/**
 * DescribeQuorum: v0–2. The voters of the metadata log and how far each has come.
 */
import type { Env } from '../../lib/world.ts';
import { ErrorCode } from '../../protocol/errors.ts';
import type { DescribeQuorumRequest } from '../../protocol/messages/55-describe-quorum.ts';
import { describeQuorum } from '../../raft/describe.ts';
import { answer } from '../answers.ts';
import type { Node, Request } from '../state.ts';

const KEY = 55;

/** Answers at once, from what is committed. */
export function handleDescribeQuorum(node: Node, env: Env, request: Request, body: DescribeQuorumRequest): void {
  if (node.controller === null) {
    const error = { errorCode: ErrorCode.NOT_LEADER_OR_FOLLOWER, errorMessage: null };
    answer(node, request, KEY, { ...error, topics: [], nodes: [] });
    return;
  }
  answer(node, request, KEY, describeQuorum(node.controller.quorum.raft, env, body));
}
