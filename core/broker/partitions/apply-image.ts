/**
 * From one committed image to the next: what a change of the metadata means to this node. Topics come, grow and go,
 * leaders change, settings take effect; nothing else reads the metadata log.
 *
 * A change comes as a delta. After a reload of the controller there is none: then the two images are compared.
 */
import { type LogConfig, topicConfig, withTexts, withTopicTexts } from '../../config/log-config.ts';
import type { Env, Outbox } from '../../lib/world.ts';
import type { MetadataDelta } from '../../metadata/draft.ts';
import type { TopicDelta } from '../../metadata/draft-topics.ts';
import { configOf, type MetadataImage, ResourceType, type TopicImage, topicById } from '../../metadata/image.ts';
import { mapValues } from '../../metadata/sharded-map.ts';
import { renewPeers } from '../control/peers.ts';
import { noteTopics } from '../groups/image-changes.ts';
import { say } from '../say.ts';
import type { Node, Topic } from '../state.ts';
import { lookForAbsent } from './absent.ts';
import { sayIdle } from './idle-settings.ts';
import { brokersChanged } from './in-sync.ts';
import { sayUncleanLeads } from './losses.ts';
import {
  isThrottled,
  NONE_THROTTLED,
  noteThrottled,
  ratesChanged,
  releaseHeld,
  type ThrottledReplicas,
  throttledReplicas,
} from './throttles.ts';
import { addTopic, removeTopic, updatePartitions } from './topics.ts';

/** One batch is committed. */
export function applyChange(node: Node, env: Env, delta: MetadataDelta, out: Outbox): void {
  node.image = delta.after;
  if (delta.before.cluster !== delta.after.cluster) {
    brokersChanged(node);
    renewPeers(node, delta.before.cluster, delta.after.cluster, out);
  }
  const isOfBrokers = delta.configs.some(({ type }) => type === ResourceType.BROKER);
  if (isOfBrokers) applyBrokerConfig(node, env);
  for (const resource of delta.configs) {
    sayIdle(node, { resource, values: configOf(node.image, resource.type, resource.name) }, out);
  }
  applyTopics(node, env, delta.topics, out);
  lookForAbsent(node, env, delta.before);
  if (isOfBrokers) return;
  for (const { type, name } of delta.configs) {
    const topic = type === ResourceType.TOPIC ? node.topics.byName.get(name) : undefined;
    if (topic !== undefined) applyTopicConfig(node, env, topic);
  }
}

/** The controller was loaded: all that is committed. */
export function applyView(node: Node, env: Env, view: MetadataImage, out: Outbox): void {
  const { image: before } = node;
  node.image = view;
  if (before.cluster !== view.cluster) {
    brokersChanged(node);
    renewPeers(node, before.cluster, view.cluster, out);
  }
  applyBrokerConfig(node, env);
  for (const config of mapValues(view.configs)) sayIdle(node, config, out);
  applyTopics(node, env, differences(before, view), out);
  lookForAbsent(node, env, before);
}

/** What differs between two images; partitions that are the same may be listed. */
function differences(before: MetadataImage, after: MetadataImage): TopicDelta[] {
  const deltas: TopicDelta[] = [];
  for (const topic of mapValues(before.topics.byId)) {
    if (topicById(after, topic.id) === undefined) deltas.push({ before: topic, after: null, partitions: [] });
  }
  for (const topic of mapValues(after.topics.byId)) {
    const known = topicById(before, topic.id) ?? null;
    deltas.push({ before: known, after: topic, partitions: [...topic.partitions.keys()] });
  }
  return deltas;
}

/** The topics of an earlier image are kept here: from now on they are those of the current one. */
export function catchUp(node: Node, env: Env, before: MetadataImage, out: Outbox): void {
  if (before.topics !== node.image.topics) applyTopics(node, env, differences(before, node.image), out);
}

function applyTopics(node: Node, env: Env, deltas: readonly TopicDelta[], out: Outbox): void {
  if (!node.topics.isLoaded) return;
  // What goes, goes first: its name may come again in the same batch.
  for (const { before, after } of deltas) {
    const topic = before === null || after !== null ? undefined : node.topics.byId.get(before.id);
    if (topic !== undefined) removeTopic(node, env, topic, out);
  }
  for (const delta of deltas) {
    const { after, partitions } = delta;
    if (after === null) continue;
    sayUncleanLeads(node, delta, out);
    const topic = node.topics.byId.get(after.id) ?? createTopic(node, after, out);
    updatePartitions(node, env, topic, after, partitions, out);
  }
  noteTopics(node, deltas);
}

function createTopic(node: Node, { name, id, partitions }: TopicImage, out: Outbox): Topic {
  const fields = new Map<string, string | number>([
    ['topic', name],
    ['id', id],
    ['partitions', partitions.length],
  ]);
  say(out, 'info', 'topic created', fields);
  return addTopic(node, name, id);
}

/** The settings of this broker: what was set for it, over what was set for all, over what the operator wrote. */
function applyBrokerConfig(node: Node, env: Env): void {
  const ofAll = configOf(node.image, ResourceType.BROKER, '');
  const own = configOf(node.image, ResourceType.BROKER, String(node.nodeId));
  node.config = withTexts(withTexts(node.configured, ofAll), own);
  node.topics.commonConfig = topicConfig(node.config);
  ratesChanged(node, env, node.config);
  for (const topic of node.topics.byName.values()) applyTopicConfig(node, env, topic);
}

/** The settings that count for a topic. Topics that set nothing of their own share one object. */
export function configFor(node: Node, topic: string): TopicConfig {
  const values = configOf(node.image, ResourceType.TOPIC, topic);
  const throttled = values.size === 0 ? NONE_THROTTLED : throttledReplicas(values);
  const config = values.size === 0 ? node.config : withTopicTexts(node.config, values);
  const log = values.size === 0 ? node.topics.commonConfig : topicConfig(config);
  return { log, inSyncMin: config['min.insync.replicas'], throttled };
}

/** What the settings of a topic mean to its partitions. */
export interface TopicConfig {
  readonly log: LogConfig;
  readonly inSyncMin: number;
  readonly throttled: ThrottledReplicas;
}

function applyTopicConfig(node: Node, env: Env, topic: Topic): void {
  const config = configFor(node, topic.name);
  const { leading, following } = config.throttled;
  const image = topicById(node.image, topic.id);
  for (const partition of topic.partitions) {
    if (partition === null) continue;
    partition.log.config = config.log;
    partition.leader.inSyncMin = config.inSyncMin;
    partition.isSendThrottled = isThrottled(leading, partition.index, node.nodeId);
    partition.isFetchThrottled = isThrottled(following, partition.index, node.nodeId);
    noteThrottled(node, env, partition, image?.partitions[partition.index]);
  }
  releaseHeld(node);
}
