/**
 * OffsetFetch: v1–10. How far groups have read. Since version 8 several groups are asked for at once; before, one, and
 * all of its topics since version 2. Version 1 has no place for an error of the whole group: each partition says it.
 * No state.
 */
import type { GroupAnswerBodies } from '../../group/shapes.ts';
import { ZERO_UUID } from '../../lib/uuid.ts';
import type { Env, Outbox } from '../../lib/world.ts';
import { ErrorCode } from '../../protocol/errors.ts';
import type { OffsetFetchRequest, OffsetFetchResponse } from '../../protocol/messages/09-offset-fetch.ts';
import { answer } from '../answers.ts';
import { asksTooMuch } from '../groups/asked.ts';
import { askGroups, clientOf } from '../groups/calls.ts';
import type { Gather } from '../groups/state.ts';
import type { Node, Request } from '../state.ts';

const KEY = 9;
/** The first version that asks for several groups. */
const BATCHED_SINCE = 8;
/** The first version with an error of the whole group. */
const GROUP_ERROR_SINCE = 2;

/**
 * Asks the coordinators of the groups. None may be named twice: a short request could else be answered by gigabytes.
 */
export function handleOffsetFetch(node: Node, env: Env, request: Request, body: OffsetFetchRequest, out: Outbox): void {
  const { requireStable } = body;
  const groups = request.version >= BATCHED_SINCE ? body.groups : [onlyGroup(body)];
  const client = clientOf(request);
  const calls = groups.map((group) => {
    const call = { kind: 'offsetFetch', body: { ...group, requireStable }, ...client } as const;
    return { groupId: group.groupId, call };
  });
  const counts = groups.flatMap(({ topics }) => (topics ?? []).map(({ partitionIndexes }) => partitionIndexes.length));
  const namesTwice = new Set(groups.map(({ groupId }) => groupId)).size < groups.length;
  if (namesTwice || asksTooMuch(counts)) {
    const refused = groups.map(({ groupId }) => ({ groupId, topics: [], errorCode: ErrorCode.INVALID_REQUEST }));
    const isBatched = request.version >= BATCHED_SINCE;
    const errorCode = isBatched ? ErrorCode.NONE : ErrorCode.INVALID_REQUEST;
    answer(node, request, KEY, { throttleTimeMs: 0, topics: [], errorCode, groups: isBatched ? refused : [] });
    return;
  }
  askGroups(node, env, request, 'offsetFetch', calls, out);
}

/** The group of an older version. */
function onlyGroup({ groupId, topics }: OffsetFetchRequest): OffsetFetchRequest['groups'][number] {
  const named = topics?.map(({ name, partitionIndexes }) => ({ name, topicId: ZERO_UUID, partitionIndexes })) ?? null;
  return { groupId, memberId: null, memberEpoch: -1, topics: named };
}

/** All groups are answered. */
export function answerOffsetFetch(
  node: Node,
  { request, first }: Gather,
  groups: readonly GroupAnswerBodies['offsetFetch'][],
): void {
  const none: OffsetFetchResponse['topics'] = [];
  if (request.version >= BATCHED_SINCE) {
    answer(node, request, KEY, { throttleTimeMs: 0, topics: none, errorCode: ErrorCode.NONE, groups: [...groups] });
    return;
  }
  const [group] = groups;
  const errorCode = group?.errorCode ?? ErrorCode.NONE;
  const hasNoPlace = request.version < GROUP_ERROR_SINCE && errorCode !== ErrorCode.NONE;
  const topics =
    hasNoPlace && first?.kind === 'offsetFetch' ? refused(first.body.topics, errorCode) : (group?.topics ?? none);
  answer(node, request, KEY, { throttleTimeMs: 0, topics, errorCode, groups: [] });
}

function refused(
  asked: OffsetFetchRequest['groups'][number]['topics'],
  errorCode: number,
): OffsetFetchResponse['topics'] {
  return (asked ?? []).map(({ name, partitionIndexes }) => ({
    name,
    partitions: partitionIndexes.map((partitionIndex) => ({
      partitionIndex,
      committedOffset: -1,
      committedLeaderEpoch: -1,
      metadata: '',
      errorCode,
    })),
  }));
}
