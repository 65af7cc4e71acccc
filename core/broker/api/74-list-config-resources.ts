/**
 * ListConfigResources: v0–1. What has, or could have, settings of its own (KIP-1142).
 */
import type { Env } from '../../lib/world.ts';
import { listConfigResources } from '../../metadata/describe-configs.ts';
import type { ListConfigResourcesRequest } from '../../protocol/messages/74-list-config-resources.ts';
import { answer } from '../answers.ts';
import type { Node, Request } from '../state.ts';

const KEY = 74;

/** Answers at once, from what is committed. */
export function handleListConfigResources(
  node: Node,
  _env: Env,
  request: Request,
  body: ListConfigResourcesRequest,
): void {
  answer(node, request, KEY, listConfigResources(node.image, request.version, body));
}
