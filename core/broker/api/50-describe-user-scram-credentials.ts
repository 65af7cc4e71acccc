/**
 * DescribeUserScramCredentials: v0. Credentials that the metadata log holds; none acts yet.
 */
import type { Env } from '../../lib/world.ts';
import { describeScram } from '../../metadata/describe-scram.ts';
import type { RequestOf } from '../../protocol/messages/index.ts';
import { answer } from '../answers.ts';
import type { Node, Request } from '../state.ts';

const KEY = 50;

/** Answers at once, from what is committed. */
export function handleDescribeUserScramCredentials(node: Node, _env: Env, request: Request, body: RequestOf<50>): void {
  answer(node, request, KEY, describeScram(node.image, body));
}
