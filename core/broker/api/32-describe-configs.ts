/**
 * DescribeConfigs: v1–4. What each setting is worth for a topic or this broker, and where that comes from.
 */
import type { Env } from '../../lib/world.ts';
import { describeConfigs } from '../../metadata/describe-configs.ts';
import type { DescribeConfigsRequest } from '../../protocol/messages/32-describe-configs.ts';
import { answer } from '../answers.ts';
import type { Node, Request } from '../state.ts';

const KEY = 32;

/** Answers at once, from what is committed. */
export function handleDescribeConfigs(node: Node, _env: Env, request: Request, body: DescribeConfigsRequest): void {
  const settings = { nodeId: node.nodeId, given: node.configured.given };
  answer(node, request, KEY, describeConfigs(node.image, settings, body));
}
