/**
 * The heartbeat of a member of the consumer protocol, and what the member makes of its answers. No state of its own.
 */
import { type Gathered, gather, inOrder } from '../assignors/client-shapes.ts';
import { type Answer, answerBody, type ChannelEvent } from '../channel/channel.ts';
import { assert } from '../lib/assert.ts';
import { ZERO_UUID } from '../lib/uuid.ts';
import type { Env, Outbox } from '../lib/world.ts';
import { ErrorCode, errorInfo } from '../protocol/errors.ts';
import type { ResponseOf } from '../protocol/messages/index.ts';
import { callCoordinator, coordinatorVersion, isElsewhere, loseCoordinator, praiseCoordinator } from './coordinator.ts';
import {
  type ConsumerMember,
  consumerLeft,
  failConsumer,
  oustConsumer,
  type Target,
  tryConsumerLater,
} from './member-consumer.ts';
import type { Ground, MemberEvent } from './member-shapes.ts';

/** The epoch of whoever joins. */
export const JOINING_EPOCH = 0;
/** The epoch of whoever leaves for good. */
export const LEAVING_EPOCH = -1;
/** The epoch of a static member that comes back. */
export const LEAVING_STATIC_EPOCH = -2;

const CONSUMER_GROUP_HEARTBEAT = 68;
/** The first version with regular expressions. */
const PATTERNS_SINCE = 1;

/** Sends a heartbeat; its ticket, or -1 where the coordinator speaks no version that says what must be said. */
export function callConsumerHeartbeat(
  member: ConsumerMember,
  ground: Ground,
  env: Env,
  epoch: number,
  out: Outbox,
): number {
  const version = coordinatorVersion(ground.coordinator, CONSUMER_GROUP_HEARTBEAT);
  const { wish, options } = member;
  if (version < 0 || (version < PATTERNS_SINCE && wish !== null && wish.pattern !== null)) return -1;
  const { memberId, instanceId, rack, serverAssignor, maxPollIntervalMs } = options;
  const who = { groupId: ground.coordinator.groupId, memberId, memberEpoch: epoch, instanceId };
  const call = { apiKey: CONSUMER_GROUP_HEARTBEAT, version } as const;
  if (epoch < 0) return callCoordinator(ground.coordinator, env, { ...call, body: who }, out);
  const owned = epoch === JOINING_EPOCH ? [] : ownedByIds(member);
  const saying = new Map<string, string>([
    ['topics', JSON.stringify(wish?.topics ?? [])],
    ['pattern', wish?.pattern ?? ''],
    ['owned', JSON.stringify(owned)],
  ]);
  const isNews = (field: string): boolean => member.said === null || member.said.get(field) !== saying.get(field);
  // Whoever is on its way out goes on as it was until it has given up everything.
  const hasWish = wish !== null;
  const isFull = member.said === null;
  member.saying = saying;
  const mayName = hasWish && version >= PATTERNS_SINCE && isNews('pattern') && (wish.pattern !== null || !isFull);
  const body = {
    ...who,
    rackId: isFull ? rack : null,
    rebalanceTimeoutMs: isFull ? maxPollIntervalMs : -1,
    serverAssignor: isFull ? serverAssignor : null,
    subscribedTopicNames: hasWish && isNews('topics') ? [...(wish?.topics ?? [])] : null,
    ...(mayName ? { subscribedTopicRegex: wish?.pattern ?? '' } : {}),
    topicPartitions: isNews('owned') ? owned : null,
  };
  return callCoordinator(ground.coordinator, env, { ...call, body }, out);
}

function ownedByIds({ owned, releasing, ids }: ConsumerMember): { topicId: string; partitions: number[] }[] {
  const all: Gathered = new Map();
  for (const { topic, partitions } of [...owned, ...releasing]) {
    for (const partition of partitions) gather(all, topic, partition);
  }
  return inOrder(all).map(({ topic, partitions }) => {
    const topicId = ids.get(topic);
    assert(topicId !== undefined, 'a topic is owned that nobody has given');
    return { topicId: topicId ?? ZERO_UUID, partitions: [...partitions] };
  });
}

/** Takes an answer, or the loss, of the member's heartbeat; false if it was not the member's. */
export function takeConsumerAnswer(
  member: ConsumerMember,
  ground: Ground,
  env: Env,
  event: Answer | Extract<ChannelEvent, { readonly kind: 'lost' }>,
  events: MemberEvent[],
): boolean {
  if (event.ticket !== member.call || member.call === 0) return false;
  member.call = 0;
  if (member.phase === 'leaving') {
    consumerLeft(member, events);
    return true;
  }
  if (event.kind === 'lost') {
    member.said = null;
    tryConsumerLater(member, ground, env);
    return true;
  }
  const body = answerBody(event, CONSUMER_GROUP_HEARTBEAT);
  if (body.errorCode === ErrorCode.NONE) beaten(member, ground, env, body);
  else refused(member, ground, env, body, events);
  return true;
}

function beaten(member: ConsumerMember, ground: Ground, env: Env, body: ResponseOf<68>): void {
  praiseCoordinator(ground.coordinator);
  member.failures = 0;
  member.retryAtMs = 0;
  member.epoch = body.memberEpoch;
  member.said = member.saying;
  if (body.heartbeatIntervalMs > 0) {
    // What is to be said at once stays so.
    const isDue = member.heartbeatAtMs <= env.nowMs;
    member.intervalMs = body.heartbeatIntervalMs;
    if (!isDue) member.heartbeatAtMs = Math.min(member.heartbeatAtMs, env.nowMs + member.intervalMs);
  }
  if (member.phase === 'joining') member.phase = 'stable';
  const target: Target | undefined = body.assignment?.topicPartitions;
  if (target === undefined) return;
  member.target = target;
  member.seenRefreshes = -1;
  if (member.phase === 'stable') member.phase = 'reconciling';
}

function refused(member: ConsumerMember, ground: Ground, env: Env, body: ResponseOf<68>, events: MemberEvent[]): void {
  const { errorCode, errorMessage } = body;
  member.said = null;
  if (isGone(member, errorCode)) {
    env.reached('member.fenced');
    oustConsumer(member);
  } else if (isElsewhere(errorCode)) {
    loseCoordinator(ground.coordinator, env);
    tryConsumerLater(member, ground, env);
  } else if (errorInfo(errorCode).retriable || errorCode === ErrorCode.TOPIC_AUTHORIZATION_FAILED) {
    tryConsumerLater(member, ground, env);
  } else {
    failConsumer(member, errorCode, errorMessage, events);
  }
}

/**
 * Whether an error says that the member is none any more. Of a group that is none of this protocol too: it became a
 * classic one when its last other member went, while this one was taken for gone. Who joins may turn it back; only one
 * that is told so when it joins is not wanted.
 */
function isGone({ epoch }: ConsumerMember, error: number): boolean {
  if (error === ErrorCode.GROUP_ID_NOT_FOUND) return epoch > JOINING_EPOCH;
  return error === ErrorCode.FENCED_MEMBER_EPOCH || error === ErrorCode.UNKNOWN_MEMBER_ID;
}
