/**
 * DescribeAcls: v1–3. There is no authorizer, and that is the answer.
 */
import type { Env } from '../../lib/world.ts';
import { describeAcls } from '../../metadata/describe-topics.ts';
import type { DescribeAclsRequest } from '../../protocol/messages/29-describe-acls.ts';
import { answer } from '../answers.ts';
import type { Node, Request } from '../state.ts';

const KEY = 29;

/** Answers at once, from what is committed. */
export function handleDescribeAcls(node: Node, _env: Env, request: Request, _body: DescribeAclsRequest): void {
  answer(node, request, KEY, describeAcls());
}
