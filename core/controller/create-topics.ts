/**
 * CreateTopics: names, numbers, places and settings are all judged before anything is written, topic by topic; what is
 * refused does not hinder the rest. Codes and sentences are Kafka's.
 */
import { ZERO_UUID } from '../lib/uuid.ts';
import { topicSettings } from '../metadata/describe-configs.ts';
import { ResourceType, topicByName } from '../metadata/image.ts';
import { type MetadataRecord, metadataRecord } from '../metadata/records.ts';
import { CLUSTER_METADATA_TOPIC, collisionKey, topicNameProblem } from '../metadata/topic-names.ts';
import { ErrorCode } from '../protocol/errors.ts';
import type { RequestOf, ResponseInputOf } from '../protocol/messages/index.ts';
import { configRecord, topicConfigProblem } from './config-changes.ts';
import { firstInSync, newPartition } from './new-partitions.ts';
import { assignmentProblem, placeReplicas } from './placement.ts';
import { type Context, type Controller, type Handled, RECORDS_PER_REQUEST_MAX, type Refusal, takeId } from './state.ts';

type Wanted = RequestOf<19>['topics'][number];
type Result = ResponseInputOf<19>['topics'][number];

/** The replicas of a partition, and those in sync from the start. */
interface Placed {
  readonly replicas: readonly number[];
  readonly isr: readonly number[];
}

function refusal(errorCode: number, errorMessage: string): Refusal {
  return { errorCode, errorMessage };
}

function refused(name: string, { errorCode, errorMessage }: Refusal): Result {
  return { name, topicId: ZERO_UUID, errorCode, errorMessage, configs: [] };
}

/** CreateTopics; takes one uuid a topic. */
export function createTopics(
  controller: Controller,
  context: Context,
  request: RequestOf<19>,
): Handled<ResponseInputOf<19>> {
  const counts = new Map<string, number>();
  for (const { name } of request.topics) counts.set(name, (counts.get(name) ?? 0) + 1);
  const isPlain = ({ name }: Wanted): boolean => counts.get(name) === 1 && name !== CLUSTER_METADATA_TOPIC;
  const wanted = request.topics.filter(isPlain);
  if (countPartitions(controller, wanted) > RECORDS_PER_REQUEST_MAX) {
    return refuseAll(request, 'Excessively large number of partitions per request.');
  }
  const records: MetadataRecord[] = [];
  const topics: Result[] = [];
  for (const topic of wanted) {
    topics.push(createTopic(controller, context, topic, records));
    if (records.length > RECORDS_PER_REQUEST_MAX) {
      return refuseAll(request, 'Unable to perform excessively large batch operation.');
    }
  }
  for (const [name, count] of counts) {
    const problem = count > 1 ? 'Duplicate topic name.' : `Creation of internal topic ${name} is prohibited.`;
    if (count > 1 || name === CLUSTER_METADATA_TOPIC) {
      topics.push(refused(name, refusal(ErrorCode.INVALID_REQUEST, problem)));
    }
  }
  return { records: request.validateOnly ? [] : records, response: { throttleTimeMs: 0, topics }, isAtomic: true };
}

function countPartitions(controller: Controller, topics: readonly Wanted[]): number {
  let total = 0;
  for (const { assignments, numPartitions } of topics) {
    if (assignments.length > 0) total += assignments.length;
    else total += numPartitions === -1 ? controller.config.numPartitions : Math.max(0, numPartitions);
  }
  return total;
}

function refuseAll(request: RequestOf<19>, message: string): Handled<ResponseInputOf<19>> {
  const topics = request.topics.map(({ name }) => refused(name, refusal(ErrorCode.POLICY_VIOLATION, message)));
  return { records: [], response: { throttleTimeMs: 0, topics }, isAtomic: true };
}

/** Adds the records of a topic, and answers; or refuses and adds nothing. */
function createTopic(controller: Controller, context: Context, topic: Wanted, records: MetadataRecord[]): Result {
  const { image, config } = controller;
  const { name } = topic;
  const problem = nameProblem(controller, name) ?? configProblem(topic);
  if (problem !== null) return refused(name, problem);
  const placed = topic.assignments.length > 0 ? assigned(controller, topic) : chosen(controller, topic);
  if ('errorCode' in placed) return refused(name, placed);
  const topicId = takeId(context);
  records.push(metadataRecord('TopicRecord', 0, { name, topicId }));
  const overrides = new Map<string, string>();
  for (const { name: key, value } of topic.configs) {
    if (value === null) continue;
    if (!overrides.has(key)) records.push(configRecord(ResourceType.TOPIC, name, key, value));
    overrides.set(key, value);
  }
  for (const [index, { replicas, isr }] of placed.entries()) {
    records.push(newPartition(image, topicId, index, replicas, isr));
  }
  const configs = topicSettings(image, config, overrides, false)
    .map(({ name: key, value, readOnly, configSource, isSensitive }) => ({
      name: key,
      value: value ?? null,
      readOnly,
      configSource,
      isSensitive,
    }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  return {
    name,
    topicId,
    errorCode: ErrorCode.NONE,
    errorMessage: null,
    numPartitions: placed.length,
    replicationFactor: placed[0]?.replicas.length ?? 0,
    configs,
  };
}

function nameProblem(controller: Controller, name: string): Refusal | null {
  if (topicByName(controller.image, name) !== undefined) {
    return refusal(ErrorCode.TOPIC_ALREADY_EXISTS, `Topic '${name}' already exists.`);
  }
  const problem = topicNameProblem(name);
  if (problem !== null) return refusal(ErrorCode.INVALID_TOPIC_EXCEPTION, problem);
  const key = collisionKey(name);
  const other = key === null ? undefined : controller.lookalikes.get(key)?.[0];
  if (other === undefined) return null;
  return refusal(ErrorCode.INVALID_TOPIC_EXCEPTION, `Topic '${name}' collides with existing topic: ${other}`);
}

function configProblem({ configs }: Wanted): Refusal | null {
  const missing = configs.filter(({ value }) => value === null).map(({ name }) => name);
  if (missing.length > 0) {
    const message = `Null value not supported for topic configs: ${missing.join(',')}`;
    return refusal(ErrorCode.INVALID_CONFIG, message);
  }
  return topicConfigProblem(new Map(configs.map(({ name, value }) => [name, value ?? ''])));
}

/** The replicas that the client chose. */
function assigned(controller: Controller, topic: Wanted): Placed[] | Refusal {
  const { image } = controller;
  const start = 'A manual partition assignment was specified, but';
  if (topic.replicationFactor !== -1) {
    return refusal(ErrorCode.INVALID_REQUEST, `${start} replication factor was not set to -1.`);
  }
  if (topic.numPartitions !== -1) {
    return refusal(ErrorCode.INVALID_REQUEST, `${start} numPartitions was not set to -1.`);
  }
  const invalid = (message: string): Refusal => refusal(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message);
  const byIndex = new Map<number, Placed>();
  let replicationFactor = -1;
  for (const { partitionIndex, brokerIds } of topic.assignments) {
    if (byIndex.has(partitionIndex)) {
      return invalid(`Found multiple manual partition assignments for partition ${partitionIndex}`);
    }
    const problem = assignmentProblem(image, brokerIds, replicationFactor);
    if (problem !== null) return invalid(problem);
    replicationFactor = brokerIds.length;
    const isr = firstInSync(image, brokerIds);
    if (isr.length === 0) {
      return invalid(
        `All brokers specified in the manual partition assignment for partition ${partitionIndex} ` +
          'are fenced or in controlled shutdown.',
      );
    }
    byIndex.set(partitionIndex, { replicas: brokerIds, isr });
  }
  const placed: Placed[] = [];
  for (let index = 0; index < byIndex.size; index++) {
    const found = byIndex.get(index);
    if (found === undefined) return invalid('partitions should be a consecutive 0-based integer sequence');
    placed.push(found);
  }
  return placed;
}

/** The replicas that the controller chooses. */
function chosen(controller: Controller, topic: Wanted): Placed[] | Refusal {
  const { config, image } = controller;
  if (topic.replicationFactor < -1 || topic.replicationFactor === 0) {
    const message = 'Replication factor must be larger than 0, or -1 to use the default value.';
    return refusal(ErrorCode.INVALID_REPLICATION_FACTOR, message);
  }
  if (topic.numPartitions < -1 || topic.numPartitions === 0) {
    const message = 'Number of partitions was set to an invalid non-positive value.';
    return refusal(ErrorCode.INVALID_PARTITIONS, message);
  }
  const partitions = topic.numPartitions === -1 ? config.numPartitions : topic.numPartitions;
  const factor = topic.replicationFactor === -1 ? config.replicationFactor : topic.replicationFactor;
  const unable = (why: string | null): Refusal =>
    refusal(ErrorCode.INVALID_REPLICATION_FACTOR, `Unable to replicate the partition ${factor} time(s): ${why}`);
  const replicas = placeReplicas(controller, partitions, factor);
  if ('errorCode' in replicas) return unable(replicas.errorMessage);
  const placed: Placed[] = [];
  for (const ids of replicas) {
    const isr = firstInSync(image, ids);
    if (isr.length === 0) return unable('All brokers are currently fenced or in controlled shutdown.');
    placed.push({ replicas: ids, isr });
  }
  return placed;
}
