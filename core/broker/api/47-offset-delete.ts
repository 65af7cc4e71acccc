/** OffsetDelete: v0. Offsets of topics that nobody in the group reads are forgotten. No state. */
import type { Env, Outbox } from '../../lib/world.ts';
import { ErrorCode } from '../../protocol/errors.ts';
import type { OffsetDeleteRequest } from '../../protocol/messages/47-offset-delete.ts';
import { answer } from '../answers.ts';
import { asksTooMuch } from '../groups/asked.ts';
import { askGroup, clientOf } from '../groups/calls.ts';
import type { Node, Request } from '../state.ts';

const KEY = 47;

/** Asks the group's coordinator. */
export function handleOffsetDelete(
  node: Node,
  env: Env,
  request: Request,
  body: OffsetDeleteRequest,
  out: Outbox,
): void {
  if (asksTooMuch(body.topics.map(({ partitions }) => partitions.length))) {
    answer(node, request, KEY, { errorCode: ErrorCode.INVALID_REQUEST, throttleTimeMs: 0, topics: [] });
    return;
  }
  askGroup(node, env, request, body.groupId, { kind: 'offsetDelete', body, ...clientOf(request) }, out);
}
