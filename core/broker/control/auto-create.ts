/** Topics that come into being because a client asked for their metadata (auto.create.topics.enable). */
import type { Env, Outbox } from '../../lib/world.ts';
import { ErrorCode } from '../../protocol/errors.ts';
import type { ResponseInputOf } from '../../protocol/messages/index.ts';
import { answerMetadata, type MetadataWait } from '../api/03-metadata.ts';
import { OFFSETS_TOPIC } from '../groups/names.ts';
import { wantedOffsetsTopic } from '../groups/offsets-topic.ts';
import { waitForTopics } from '../partitions/topic-waits.ts';
import type { Node } from '../state.ts';
import { type Caller, type CallOutcome, callController } from './controller-calls.ts';

/** CreateTopics, in the version that this node asks its controller in. */
export const CREATE_KEY = 19;
/** With `CREATE_KEY`. */
export const CREATE_VERSION = 7;

/** How long the controller waits for the brokers that are to serve a topic of ours, ms. */
export const CREATE_MS_MAX = 30_000;

/** A topic as CreateTopics wants it, with what the controller decides left open. */
export function wantedTopic(
  name: string,
  numPartitions = -1,
): {
  name: string;
  numPartitions: number;
  replicationFactor: number;
  assignments: never[];
  configs: { readonly name: string; readonly value: string }[];
} {
  return { name, numPartitions, replicationFactor: -1, assignments: [], configs: [] };
}

/** Asks the controller to create topics; `wait` is answered when they can be used. */
export function autoCreate(node: Node, env: Env, names: readonly string[], wait: MetadataWait, out: Outbox): void {
  const topics = names.map((name) => (name === OFFSETS_TOPIC ? wantedOffsetsTopic(node.config) : wantedTopic(name)));
  const body = { topics, timeoutMs: CREATE_MS_MAX, validateOnly: false };
  callController(node, env, CREATE_KEY, CREATE_VERSION, body, { kind: 'autoCreate', wait, names }, out);
}

/** The controller has created them, or not. */
export function answerAutoCreate(
  node: Node,
  caller: Extract<Caller, { kind: 'autoCreate' }>,
  outcome: CallOutcome,
): void {
  const { wait, names } = caller;
  if ('failure' in outcome) {
    for (const name of names) wait.failed.set(name, ErrorCode.LEADER_NOT_AVAILABLE);
    answerMetadata(node, wait);
    return;
  }
  for (const { name, errorCode } of (outcome.response as ResponseInputOf<19>).topics) {
    if (errorCode !== ErrorCode.NONE) wait.failed.set(name, errorCode as ErrorCode);
  }
  const topics = names.flatMap((name) => node.topics.byName.get(name) ?? []);
  waitForTopics(node, topics, Number.POSITIVE_INFINITY, { kind: 'metadata', wait });
}
