/**
 * The topic of groups comes into being when somebody first looks for a coordinator, with the settings that this node
 * has for it. Whoever looks meanwhile waits until it can be used, or until the time for that is over: then the answer
 * is that there is no coordinator yet, and clients come again. A crash forgets who waited.
 *
 * A node that is a cluster of its own makes one replica, unless the operator has set how many: Kafka's default of 3
 * would leave it without groups for good, which is why Kafka's own example configuration sets 1.
 */
import type { NodeConfig } from '../../config/settings.ts';
import { setDeadline } from '../../lib/heap.ts';
import type { Env, Outbox } from '../../lib/world.ts';
import { ErrorCode, errorName } from '../../protocol/errors.ts';
import type { ResponseInputOf } from '../../protocol/messages/index.ts';
import { answerFindCoordinator } from '../api/10-find-coordinator.ts';
import { CREATE_KEY, CREATE_MS_MAX, CREATE_VERSION, wantedTopic } from '../control/auto-create.ts';
import { type CallOutcome, callController } from '../control/controller-calls.ts';
import { isAlone } from '../control/roles.ts';
import { waitForTopics } from '../partitions/topic-waits.ts';
import { complain } from '../say.ts';
import type { Node } from '../state.ts';
import { OFFSETS_TOPIC } from './names.ts';
import type { FindWait } from './state.ts';

/** How long a request waits for the topic, ms. */
const FIND_MS_MAX = 5_000;
/** Requests that wait for the topic at one time; one more is answered at once. */
const FINDS_MAX = 10_000;

const FACTOR = 'offsets.topic.replication.factor';

/** The topic of groups as CreateTopics wants it. */
export function wantedOffsetsTopic(config: NodeConfig): ReturnType<typeof wantedTopic> {
  const isSet = config.given.has(FACTOR);
  return {
    ...wantedTopic(OFFSETS_TOPIC, config['offsets.topic.num.partitions']),
    replicationFactor: isAlone(config) && !isSet ? 1 : config[FACTOR],
    configs: [
      { name: 'cleanup.policy', value: 'compact' },
      { name: 'compression.type', value: 'producer' },
      { name: 'segment.bytes', value: String(config['offsets.topic.segment.bytes']) },
    ],
  };
}

/** Answers when the topic can be used; makes it if it is not being made. */
export function findWithTopic(node: Node, env: Env, wait: FindWait, out: Outbox): void {
  const { groups } = node;
  if (groups.finding.length >= FINDS_MAX) {
    answerFindCoordinator(node, wait);
    return;
  }
  groups.finding.push(wait);
  if (groups.findUntilMs === Number.POSITIVE_INFINITY) {
    groups.findUntilMs = env.nowMs + FIND_MS_MAX;
    setDeadline(node.deadlines, groups, groups.findUntilMs);
  }
  if (groups.isCreating) return;
  groups.isCreating = true;
  const body = { topics: [wantedOffsetsTopic(node.config)], timeoutMs: CREATE_MS_MAX, validateOnly: false };
  callController(node, env, CREATE_KEY, CREATE_VERSION, body, { kind: 'offsetsTopic' }, out);
}

/** The controller has made the topic, or not. */
export function answerOffsetsTopic(node: Node, env: Env, outcome: CallOutcome, out: Outbox): void {
  node.groups.isCreating = false;
  const problem = problemOf(outcome);
  if (problem !== null) {
    complain(node, env, `${OFFSETS_TOPIC} cannot be made; groups wait for it`, new Map([['problem', problem]]), out);
    answerFinding(node);
    return;
  }
  const topic = node.topics.byName.get(OFFSETS_TOPIC);
  const topics = topic === undefined ? [] : [topic];
  waitForTopics(node, topics, env.nowMs + FIND_MS_MAX, { kind: 'offsetsTopic' });
}

/** Why there is no topic; null if there is one. */
function problemOf(outcome: CallOutcome): string | null {
  if ('failure' in outcome) return outcome.failure;
  const [topic] = (outcome.response as ResponseInputOf<typeof CREATE_KEY>).topics;
  if (topic === undefined) return 'no answer';
  const isThere = topic.errorCode === ErrorCode.NONE || topic.errorCode === ErrorCode.TOPIC_ALREADY_EXISTS;
  return isThere ? null : (topic.errorMessage ?? errorName(topic.errorCode));
}

/** Everyone who waits for the topic is answered with what is known now. */
export function answerFinding(node: Node): void {
  const { groups } = node;
  groups.findUntilMs = Number.POSITIVE_INFINITY;
  setDeadline(node.deadlines, groups, Number.POSITIVE_INFINITY);
  const waits = groups.finding;
  groups.finding = [];
  for (const wait of waits) answerFindCoordinator(node, wait);
}
