/**
 * Answers to questions about topics, quotas and access rules that need nothing but an image:
 * DescribeTopicPartitions, ListPartitionReassignments, DescribeClientQuotas, DescribeAcls. Pure, no state.
 */

import { ZERO_UUID } from '../lib/uuid.ts';
import { ErrorCode } from '../protocol/errors.ts';
import type { RequestOf, ResponseInputOf } from '../protocol/messages/index.ts';
import {
  type BrokerImage,
  type EndPoint,
  type MetadataImage,
  type PartitionImage,
  type QuotaImage,
  type TopicImage,
  topicByName,
} from './image.ts';
import { mapEntries, mapValues } from './sharded-map.ts';
import { isInternalTopic, topicNameProblem } from './topic-names.ts';

/** The most partitions in one answer, whatever the client asks for; Kafka's `max.request.partition.size.limit`. */
export const PARTITIONS_PER_ANSWER_MAX = 2000;

/** Ids that stand for no log directory, as they are printed: being migrated, not chosen yet, lost. */
export const DirectoryId = {
  MIGRATING: 'AAAAAAAAAAAAAAAAAAAAAA',
  UNASSIGNED: 'AAAAAAAAAAAAAAAAAAAAAQ',
  LOST: 'AAAAAAAAAAAAAAAAAAAAAg',
} as const;

/** Where a broker that takes part is reached under a listener's name; null if it does not or cannot. */
export function aliveEndPoint(image: MetadataImage, broker: number, listener: string): EndPoint | null {
  const found = image.cluster.brokers.get(broker);
  if (found === undefined || found.fenced) return null;
  return found.endPoints.find((endPoint) => endPoint.name === listener) ?? null;
}

/** Whether the log directory of a replica is one that its broker has. What is not chosen yet counts as there. */
export function isDirectoryOnline(broker: BrokerImage, directory: string | undefined): boolean {
  if (directory === undefined || broker.logDirs.length === 0) return true;
  if (directory === DirectoryId.UNASSIGNED || directory === DirectoryId.MIGRATING) return true;
  return broker.logDirs.includes(directory);
}

/** The replicas that cannot serve: their broker is away or fenced, or has lost their log directory. */
export function offlineReplicas(image: MetadataImage, partition: PartitionImage, listener: string): number[] {
  return partition.replicas.filter((replica, index) => {
    if (aliveEndPoint(image, replica, listener) === null) return true;
    const broker = image.cluster.brokers.get(replica);
    return broker === undefined || !isDirectoryOnline(broker, partition.directories[index]);
  });
}

type DescribedTopic = ResponseInputOf<75>['topics'][number];

/** The answer to DescribeTopicPartitions, or the sentence of an INVALID_REQUEST. `listener`: the client's. */
export function describeTopicPartitions(
  image: MetadataImage,
  listener: string,
  request: RequestOf<75>,
): ResponseInputOf<75> | string {
  const { cursor } = request;
  const from = cursor?.topicName ?? '';
  const isAll = request.topics.length === 0;
  const asked = isAll
    ? mapEntries(image.topics.idByName)
    : request.topics.map(({ name }): [string, string] => [name, '']);
  const names = new Set<string>();
  for (const [name] of asked) if (name >= from) names.add(name);
  if (!isAll && cursor !== null && !names.has(from)) {
    return `DescribeTopicPartitionsRequest topic list should contain the cursor topic: ${from}`;
  }
  if (cursor !== null && cursor.partitionIndex < 0) {
    return `DescribeTopicPartitionsRequest cursor partition must be valid: ${cursor.partitionIndex}`;
  }
  let left = Math.max(Math.min(PARTITIONS_PER_ANSWER_MAX, request.responsePartitionLimit), 1);
  const topics: DescribedTopic[] = [];
  for (const name of [...names].sort()) {
    if (left === 0) return { throttleTimeMs: 0, topics, nextCursor: { topicName: name, partitionIndex: 0 } };
    const topic = topicByName(image, name);
    if (topic === undefined) {
      if (!isAll) topics.push(missingTopic(name));
      continue;
    }
    const first = cursor !== null && name === from ? cursor.partitionIndex : 0;
    const end = Math.min(topic.partitions.length, first + left);
    topics.push(describedTopic(image, listener, topic, first, end));
    if (end < topic.partitions.length) {
      return { throttleTimeMs: 0, topics, nextCursor: { topicName: name, partitionIndex: end } };
    }
    left -= Math.max(0, end - first);
  }
  return { throttleTimeMs: 0, topics, nextCursor: null };
}

function missingTopic(name: string): DescribedTopic {
  const isLegal = topicNameProblem(name) === null;
  const errorCode = isLegal ? ErrorCode.UNKNOWN_TOPIC_OR_PARTITION : ErrorCode.INVALID_TOPIC_EXCEPTION;
  return { errorCode, name, topicId: ZERO_UUID, isInternal: isInternalTopic(name), partitions: [] };
}

function describedTopic(
  image: MetadataImage,
  listener: string,
  topic: TopicImage,
  first: number,
  end: number,
): DescribedTopic {
  const partitions: DescribedTopic['partitions'][number][] = [];
  for (let index = first; index < end; index++) {
    const partition = topic.partitions[index];
    if (partition === undefined) continue;
    partitions.push({
      errorCode: ErrorCode.NONE,
      partitionIndex: index,
      leaderId: aliveEndPoint(image, partition.leader, listener) === null ? -1 : partition.leader,
      leaderEpoch: partition.leaderEpoch,
      replicaNodes: partition.replicas,
      isrNodes: partition.isr,
      eligibleLeaderReplicas: partition.elr,
      lastKnownElr: partition.lastKnownElr,
      offlineReplicas: offlineReplicas(image, partition, listener),
    });
  }
  const { name, id: topicId } = topic;
  return { errorCode: ErrorCode.NONE, name, topicId, isInternal: isInternalTopic(name), partitions };
}

/** The answer to ListPartitionReassignments: partitions whose replicas are being moved. */
export function listPartitionReassignments(image: MetadataImage, request: RequestOf<46>): ResponseInputOf<46> {
  const topics: ResponseInputOf<46>['topics'][number][] = [];
  const add = (topic: TopicImage, wanted: readonly number[] | null): void => {
    const partitions = topic.partitions.flatMap((partition, partitionIndex) => {
      const { replicas, addingReplicas, removingReplicas } = partition;
      if (addingReplicas.length === 0 && removingReplicas.length === 0) return [];
      if (wanted !== null && !wanted.includes(partitionIndex)) return [];
      return [{ partitionIndex, replicas, addingReplicas, removingReplicas }];
    });
    if (partitions.length > 0) topics.push({ name: topic.name, partitions });
  };
  if (request.topics === null) {
    for (const topic of mapValues(image.topics.byId)) add(topic, null);
  } else {
    for (const { name, partitionIndexes } of request.topics) {
      const topic = topicByName(image, name);
      if (topic !== undefined) add(topic, partitionIndexes);
    }
  }
  return { throttleTimeMs: 0, errorCode: ErrorCode.NONE, errorMessage: null, topics };
}

const MATCH_EXACT = 0;
const MATCH_DEFAULT = 1;

/** The answer to DescribeClientQuotas. */
export function describeClientQuotas(image: MetadataImage, request: RequestOf<48>): ResponseInputOf<48> {
  const matches = ({ entity }: QuotaImage): boolean => {
    if (request.strict && entity.length !== request.components.length) return false;
    return request.components.every(({ entityType, matchType, match }) => {
      const part = entity.find((found) => found.entityType === entityType);
      if (part === undefined) return false;
      if (matchType === MATCH_EXACT) return part.entityName === match;
      return matchType !== MATCH_DEFAULT || part.entityName === null;
    });
  };
  const entries = [...image.quotas.values()].filter(matches).map(({ entity, values }) => ({
    entity,
    values: [...values].map(([key, value]) => ({ key, value })),
  }));
  return { throttleTimeMs: 0, errorCode: ErrorCode.NONE, errorMessage: null, entries };
}

/** The answer to DescribeAcls of a cluster without an authorizer: that there is none. */
export function describeAcls(): ResponseInputOf<29> {
  const errorMessage = 'No Authorizer is configured on the broker';
  return { throttleTimeMs: 0, errorCode: ErrorCode.SECURITY_DISABLED, errorMessage, resources: [] };
}
