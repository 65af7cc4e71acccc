/**
 * Metadata: v0–13. Which topics there are, and whom to ask for each partition.
 *
 * An empty list means all topics in version 0 and none since version 1, where null means all. A missing topic is
 * created if the client allows it (always, before version 4) and the node is set so; the answer then waits until
 * the topic can be used, so that what it says holds; it waits too while a leader has just gone (`absent.ts`). Since
 * version 12 topics can be named by id.
 */

import { ZERO_UUID } from '../../lib/uuid.ts';
import type { Env, Outbox } from '../../lib/world.ts';
import { aliveEndPoint, offlineReplicas } from '../../metadata/describe-topics.ts';
import { type PartitionImage, type TopicImage, topicById, topicByName } from '../../metadata/image.ts';
import { mapValues } from '../../metadata/sharded-map.ts';
import { CLUSTER_METADATA_TOPIC, isInternalTopic, topicNameProblem } from '../../metadata/topic-names.ts';
import { ErrorCode } from '../../protocol/errors.ts';
import type { MetadataRequest, MetadataResponse } from '../../protocol/messages/03-metadata.ts';
import { listenerName } from '../addresses.ts';
import { answer } from '../answers.ts';
import { autoCreate } from '../control/auto-create.ts';
import { holdMetadata } from '../partitions/absent.ts';
import { mayBeReplaced } from '../partitions/contact.ts';
import { lingeringEndpoints, liveEndpoints } from '../partitions/leaders.ts';
import type { Node, Request } from '../state.ts';

/** What a client may do where nobody checks: read, write, create, delete, alter, describe, and the same of configs. */
export const TOPIC_OPERATIONS = 0b1101_1111_1000;
/** Create, alter, describe, act as a broker, describe and alter configs, write idempotently. */
export const CLUSTER_OPERATIONS = 0b1_1111_1010_0000;
/** "Not asked for". */
export const NO_OPERATIONS = -2147483648;

const KEY = 3;
/** The first version in which topics can be asked for by id. */
const IDS_SINCE = 12;

type TopicAnswer = MetadataResponse['topics'][number];

/** A Metadata request that waits for topics in the making. */
export interface MetadataWait {
  readonly request: Request;
  readonly body: MetadataRequest;
  /** Topics that could not be made, with the error to answer. */
  readonly failed: Map<string, ErrorCode>;
  /** When it came, `env.nowMs`. */
  readonly askedMs: number;
}

/** Answers at once, or when the topics that it creates are done. */
export function handleMetadata(node: Node, env: Env, request: Request, body: MetadataRequest, out: Outbox): void {
  const asksById = body.topics?.some(({ name, topicId }) => name === null || topicId !== ZERO_UUID) ?? false;
  if (asksById && request.version < IDS_SINCE) {
    refuseIds(node, request, body);
    return;
  }
  const wait: MetadataWait = { request, body, failed: new Map(), askedMs: env.nowMs };
  const mayCreate = (request.version < 4 || body.allowAutoTopicCreation) && node.config['auto.create.topics.enable'];
  const missing = new Set<string>();
  if (mayCreate) {
    for (const { name } of body.topics ?? []) {
      if (name === null || isReserved(name) || topicNameProblem(name) !== null) continue;
      if (topicByName(node.image, name) === undefined) missing.add(name);
    }
  }
  if (missing.size > 0) autoCreate(node, env, [...missing], wait, out);
  else if (!holdMetadata(node, env, wait)) answerMetadata(node, wait);
}

/** Kafka makes these itself, with settings of their own; so will we. */
function isReserved(name: string): boolean {
  return isInternalTopic(name) || name === CLUSTER_METADATA_TOPIC;
}

/** Answers with what is known now. */
export function answerMetadata(node: Node, wait: MetadataWait): void {
  const { request, body, askedMs } = wait;
  const { connection } = request;
  const wantsOperations = request.version >= 8;
  const operations = wantsOperations && body.includeTopicAuthorizedOperations ? TOPIC_OPERATIONS : NO_OPERATIONS;
  const wantsAll = body.topics === null || (request.version === 0 && body.topics.length === 0);
  const topics: TopicAnswer[] = [];
  const listener = listenerName(node, connection);
  const all = wantsAll ? mapValues(node.image.topics.byId) : [];
  for (const topic of all) topics.push(describe(node, topic, listener, operations));
  if (!wantsAll) addAsked(node, wait, listener, operations, topics);
  const wantsCluster = request.version >= 8 && request.version <= 10 && body.includeClusterAuthorizedOperations;
  answer(node, request, KEY, {
    throttleTimeMs: 0,
    brokers: [...liveEndpoints(node, connection), ...lingeringEndpoints(node, connection, askedMs)],
    clusterId: node.clusterId,
    controllerId: node.nodeId,
    topics,
    clusterAuthorizedOperations: wantsCluster ? CLUSTER_OPERATIONS : NO_OPERATIONS,
    errorCode: ErrorCode.NONE,
  });
}

/** Versions 10 and 11 have a place for ids, and no meaning. */
function refuseIds(node: Node, request: Request, body: MetadataRequest): void {
  answer(node, request, KEY, {
    throttleTimeMs: 0,
    brokers: [],
    clusterId: null,
    controllerId: -1,
    topics: (body.topics ?? []).map(({ name, topicId }) => unknown(ErrorCode.INVALID_REQUEST, name ?? '', topicId)),
    clusterAuthorizedOperations: NO_OPERATIONS,
    errorCode: ErrorCode.NONE,
  });
}

/** Each topic once, however often it is asked for: else a small request would make an answer without bounds. */
function addAsked(node: Node, wait: MetadataWait, listener: string, operations: number, topics: TopicAnswer[]): void {
  const seen = new Set<string>();
  for (const asked of wait.body.topics ?? []) {
    const found = findTopic(node, wait, asked, listener, operations);
    const key = `${found.name ?? ''}/${found.topicId}`;
    if (seen.has(key)) continue;
    seen.add(key);
    topics.push(found);
  }
}

function findTopic(
  node: Node,
  wait: MetadataWait,
  asked: { readonly topicId: string; readonly name: string | null },
  listener: string,
  operations: number,
): TopicAnswer {
  if (asked.name === null || asked.topicId !== ZERO_UUID) {
    const topic = topicById(node.image, asked.topicId);
    if (topic !== undefined) return describe(node, topic, listener, operations);
    return unknown(ErrorCode.UNKNOWN_TOPIC_ID, null, asked.topicId);
  }
  const topic = topicByName(node.image, asked.name);
  if (topic !== undefined) return describe(node, topic, listener, operations);
  const isBad = topicNameProblem(asked.name) !== null;
  const why = wait.failed.get(asked.name) ?? ErrorCode.UNKNOWN_TOPIC_OR_PARTITION;
  return unknown(isBad ? ErrorCode.INVALID_TOPIC_EXCEPTION : why, asked.name, ZERO_UUID, operations);
}

function unknown(
  error: ErrorCode,
  name: string | null,
  topicId: string,
  topicAuthorizedOperations: number = NO_OPERATIONS,
): TopicAnswer {
  return {
    errorCode: error,
    name,
    topicId,
    isInternal: false,
    partitions: [],
    topicAuthorizedOperations,
  };
}

function describe(node: Node, topic: TopicImage, listener: string, operations: number): TopicAnswer {
  return {
    errorCode: ErrorCode.NONE,
    name: topic.name,
    topicId: topic.id,
    isInternal: isInternalTopic(topic.name),
    partitions: topic.partitions.map((partition, index) => describePartition(node, topic, partition, index, listener)),
    topicAuthorizedOperations: operations,
  };
}

function leadsHere(node: Node, topic: TopicImage, index: number): boolean {
  const leader = node.topics.byId.get(topic.id)?.partitions[index]?.leader;
  return leader !== undefined && leader.epoch >= 0 && !mayBeReplaced(node, node.contact.lookedMs, leader);
}

/** A leader that is away has nobody to be asked; nor has one of this node's that leads not yet, or perhaps no more. */
function describePartition(
  node: Node,
  topic: TopicImage,
  partition: PartitionImage,
  index: number,
  listener: string,
): TopicAnswer['partitions'][number] {
  const isLed =
    partition.leader === node.nodeId
      ? leadsHere(node, topic, index)
      : aliveEndPoint(node.image, partition.leader, listener) !== null;
  return {
    errorCode: isLed ? ErrorCode.NONE : ErrorCode.LEADER_NOT_AVAILABLE,
    partitionIndex: index,
    leaderId: isLed ? partition.leader : -1,
    leaderEpoch: partition.leaderEpoch,
    replicaNodes: partition.replicas as number[],
    isrNodes: partition.isr as number[],
    offlineReplicas: offlineReplicas(node.image, partition, listener),
  };
}
