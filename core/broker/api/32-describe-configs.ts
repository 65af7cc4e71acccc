/**
 * DescribeConfigs: v1–4. What each setting is worth for a topic or this broker, and where that comes from.
 *
 * A value may be longer than a version before 4 can say. Then its resource is answered by an error, as Kafka does for
 * the whole request: half a value would be a lie.
 */

import { utf8Size } from '../../lib/utf8.ts';
import type { Env } from '../../lib/world.ts';
import { describeConfigs } from '../../metadata/describe-configs.ts';
import { ErrorCode } from '../../protocol/errors.ts';
import { OLD_STRING_BYTES_MAX } from '../../protocol/fit.ts';
import type { DescribeConfigsRequest } from '../../protocol/messages/32-describe-configs.ts';
import type { ResponseInputOf } from '../../protocol/messages/index.ts';
import { answer } from '../answers.ts';
import type { Node, Request } from '../state.ts';

const KEY = 32;
/** The first version whose strings may be longer than 32,767 bytes. */
const LONG_STRINGS_SINCE = 4;

/** Answers at once, from what is committed. */
export function handleDescribeConfigs(node: Node, _env: Env, request: Request, body: DescribeConfigsRequest): void {
  const settings = { nodeId: node.nodeId, given: node.configured.given };
  const response = describeConfigs(node.image, settings, body);
  const canSay = request.version >= LONG_STRINGS_SINCE;
  const results = canSay ? response.results : response.results.map(withoutLongValues);
  answer(node, request, KEY, { ...response, results });
}

type Result = ResponseInputOf<32>['results'][number];

function withoutLongValues(result: Result): Result {
  const long = result.configs.find(({ name, value, synonyms }) =>
    [name, value, ...(synonyms ?? []).map((synonym) => synonym.value)].some(isLong),
  );
  if (long === undefined) return result;
  const { resourceType, resourceName } = result;
  const errorMessage = `The value of ${long.name} is too long for this version of DescribeConfigs; ask in version 4.`;
  return { errorCode: ErrorCode.UNKNOWN_SERVER_ERROR, errorMessage, resourceType, resourceName, configs: [] };
}

function isLong(text: string | null | undefined): boolean {
  return typeof text === 'string' && text.length * 3 > OLD_STRING_BYTES_MAX && utf8Size(text) > OLD_STRING_BYTES_MAX;
}
