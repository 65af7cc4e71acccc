/**
 * FindCoordinator: v0–6. Which broker coordinates a group: the one that leads the partition of `__consumer_offsets`
 * that the group belongs to. Since version 4 several are asked for at once.
 *
 * Where the topic is not there it is made, and the answer waits for it (`groups/offsets-topic.ts`). Transactions and
 * share groups are not served: COORDINATOR_NOT_AVAILABLE, which clients that look for a coordinator without needing one
 * try again in silence.
 */
import { isUuid } from '../../lib/uuid.ts';
import type { Env, Outbox } from '../../lib/world.ts';
import { topicByName } from '../../metadata/image.ts';
import { ErrorCode } from '../../protocol/errors.ts';
import type { FindCoordinatorRequest } from '../../protocol/messages/10-find-coordinator.ts';
import { answer } from '../answers.ts';
import { OFFSETS_TOPIC, partitionOfGroup } from '../groups/names.ts';
import { findWithTopic } from '../groups/offsets-topic.ts';
import type { FindWait } from '../groups/state.ts';
import { endpointsOf } from '../partitions/leaders.ts';
import { complain } from '../say.ts';
import type { Node, Request } from '../state.ts';

const KEY = 10;
/** The first version that asks for several. */
const BATCHED_SINCE = 4;
/** The first version that asks for share groups. */
const SHARE_SINCE = 6;
const GROUP = 0;
const TRANSACTION = 1;
const SHARE = 2;

/** What is said beside an error, and beside none, to those who ask for one only. */
const TEXTS: ReadonlyMap<ErrorCode, string> = new Map([
  [ErrorCode.NONE, 'NONE'],
  [ErrorCode.COORDINATOR_NOT_AVAILABLE, 'The coordinator is not available.'],
  [ErrorCode.INVALID_REQUEST, 'There is no coordinator for such a key.'],
]);
/** From version 4 the answers are in the list, and these fields do not exist. */
const ABSENT = { nodeId: 0, host: '', port: 0, errorCode: ErrorCode.NONE, errorMessage: '' };

interface Found {
  readonly nodeId: number;
  readonly host: string;
  readonly port: number;
  readonly errorCode: ErrorCode;
}

/** Answers at once, or when the topic of groups has been made. */
export function handleFindCoordinator(
  node: Node,
  env: Env,
  request: Request,
  body: FindCoordinatorRequest,
  out: Outbox,
): void {
  const { keyType } = body;
  if (keyType === TRANSACTION || keyType === SHARE) {
    complain(
      node,
      env,
      'a client looks for a coordinator: transactions and share groups are not served yet',
      NONE,
      out,
    );
  }
  const wait = { request, body };
  if (keyType === GROUP && topicByName(node.image, OFFSETS_TOPIC) === undefined) findWithTopic(node, env, wait, out);
  else answerFindCoordinator(node, wait);
}

const NONE: ReadonlyMap<string, string> = new Map();

/** Answers with what is known now. */
export function answerFindCoordinator(node: Node, { request, body }: FindWait): void {
  const { version } = request;
  if (version < BATCHED_SINCE) {
    const found = find(node, request, body.keyType, body.key);
    const errorMessage = TEXTS.get(found.errorCode) ?? null;
    answer(node, request, KEY, { throttleTimeMs: 0, ...found, errorMessage, coordinators: [] });
    return;
  }
  const coordinators = body.coordinatorKeys.map((key) => ({
    key,
    ...find(node, request, body.keyType, key),
    errorMessage: '',
  }));
  answer(node, request, KEY, { throttleTimeMs: 0, ...ABSENT, coordinators });
}

function find(node: Node, request: Request, keyType: number, key: string): Found {
  if (keyType === GROUP) return findGroup(node, request, key);
  const isServable =
    keyType === TRANSACTION || (keyType === SHARE && request.version >= SHARE_SINCE && isShareKey(key));
  return nowhere(isServable ? ErrorCode.COORDINATOR_NOT_AVAILABLE : ErrorCode.INVALID_REQUEST);
}

function findGroup(node: Node, { connection }: Request, groupId: string): Found {
  const topic = topicByName(node.image, OFFSETS_TOPIC);
  if (topic === undefined) return nowhere(ErrorCode.COORDINATOR_NOT_AVAILABLE);
  const leader = topic.partitions[partitionOfGroup(groupId, topic.partitions.length)]?.leader ?? -1;
  const [endpoint] = leader < 0 ? [] : endpointsOf(node, connection, [leader]);
  if (endpoint === undefined) return nowhere(ErrorCode.COORDINATOR_NOT_AVAILABLE);
  const { nodeId, host, port } = endpoint;
  return { nodeId, host, port, errorCode: ErrorCode.NONE };
}

function nowhere(errorCode: ErrorCode): Found {
  return { nodeId: -1, host: '', port: -1, errorCode };
}

/** Whether a key is `group:topicId:partition`. */
function isShareKey(key: string): boolean {
  const parts = key.split(':');
  const [partition, topicId] = [parts.pop() ?? '', parts.pop() ?? ''];
  return parts.length > 0 && parts.join(':') !== '' && isUuid(topicId) && /^[0-9]{1,10}$/.test(partition);
}
