/**
 * DescribeClientQuotas: v0–1. Quotas that the metadata log holds; none acts yet.
 */
import type { Env } from '../../lib/world.ts';
import { describeClientQuotas } from '../../metadata/describe-topics.ts';
import type { DescribeClientQuotasRequest } from '../../protocol/messages/48-describe-client-quotas.ts';
import { answer } from '../answers.ts';
import type { Node, Request } from '../state.ts';

const KEY = 48;

/** Answers at once, from what is committed. */
export function handleDescribeClientQuotas(
  node: Node,
  _env: Env,
  request: Request,
  body: DescribeClientQuotasRequest,
): void {
  answer(node, request, KEY, describeClientQuotas(node.image, body));
}
