/**
 * ElectLeaders: an operator, or the controller by itself, gives the lead of partitions to whom it belongs.
 *
 * A preferred election gives it to the first replica if that one is in sync. An unclean one ends the silence of a
 * partition that nobody may lead, and admits the loss: what the new leader lacks is gone. By itself the controller
 * holds unclean elections only where the topic allows them, and at most ELECTIONS_MAX of either kind in one round.
 * Pure: changes nothing.
 */
import { type MetadataImage, type PartitionImage, type TopicImage, topicByName } from '../metadata/image.ts';
import type { MetadataRecord } from '../metadata/records.ts';
import { mapEntries, mapValues } from '../metadata/sharded-map.ts';
import { ErrorCode } from '../protocol/errors.ts';
import type { RequestOf, ResponseInputOf } from '../protocol/messages/index.ts';
import { commonRules, NOTHING_HAPPENS, rulesFor } from './elections.ts';
import { type ChangeRules, changeOf } from './partition-change.ts';
import { type Context, type Controller, type Handled, RECORDS_PER_REQUEST_MAX, type Refusal } from './state.ts';

/** Elections of one round that nobody asked for. */
export const ELECTIONS_MAX = 1000;

/** Kafka's numbers of the kinds of elections. */
export const ElectionType = { PREFERRED: 0, UNCLEAN: 1 } as const;

type Results = ResponseInputOf<43>['replicaElectionResults'];
type Result = Results[number]['partitionResult'][number];

/** In a record: the leader stays, and so does his epoch. */
const SAME_LEADER = -2;
const HELD: Refusal = { errorCode: ErrorCode.NONE, errorMessage: null };

/** ElectLeaders, for some partitions or, without a list, for all. */
export function electLeaders(
  controller: Controller,
  _context: Context,
  request: RequestOf<43>,
): Handled<ResponseInputOf<43>> {
  const { electionType } = request;
  if (electionType !== ElectionType.PREFERRED && electionType !== ElectionType.UNCLEAN) {
    return refuseAll(request, ErrorCode.INVALID_REQUEST, `Unknown election type ${electionType}`);
  }
  const { image } = controller;
  const election: ChangeRules['election'] = electionType === ElectionType.UNCLEAN ? 'unclean' : 'preferred';
  const common = commonRules(controller, NOTHING_HAPPENS);
  const records: MetadataRecord[] = [];
  const replicaElectionResults: Results[number][] = [];
  const isAll = request.topicPartitions === null;
  for (const [name, partitions] of isAll ? allPartitions(image) : askedPartitions(request)) {
    const topic = topicByName(image, name);
    const rules = topic === undefined ? null : { ...rulesFor(image, topic, common), election };
    const partitionResult: Result[] = [];
    for (const partitionId of partitions) {
      const outcome = electOne(name, topic, partitionId, rules, records);
      // Whoever asked for all wants to hear of those that needed it.
      if (isAll && outcome.errorCode === ErrorCode.ELECTION_NOT_NEEDED) continue;
      partitionResult.push({ partitionId, ...outcome });
    }
    if (records.length > RECORDS_PER_REQUEST_MAX) {
      const message = 'Unable to perform excessively large batch operation.';
      return refuseAll(request, ErrorCode.POLICY_VIOLATION, message);
    }
    replicaElectionResults.push({ topic: name, partitionResult });
  }
  const response = { throttleTimeMs: 0, errorCode: ErrorCode.NONE, replicaElectionResults };
  return { records, response, isAtomic: false };
}

function* allPartitions(image: MetadataImage): IterableIterator<[string, Iterable<number>]> {
  for (const [name] of mapEntries(image.topics.idByName)) {
    yield [name, topicByName(image, name)?.partitions.keys() ?? []];
  }
}

function* askedPartitions({ topicPartitions }: RequestOf<43>): IterableIterator<[string, Iterable<number>]> {
  for (const { topic, partitions } of topicPartitions ?? []) {
    // Twice the same partition would be elected twice from one state.
    yield [topic, new Set(partitions)];
  }
}

function refuseAll(request: RequestOf<43>, errorCode: number, errorMessage: string): Handled<ResponseInputOf<43>> {
  const replicaElectionResults = (request.topicPartitions ?? []).map(({ topic, partitions }) => ({
    topic,
    partitionResult: partitions.map((partitionId) => ({ partitionId, errorCode, errorMessage })),
  }));
  return { records: [], response: { throttleTimeMs: 0, errorCode, replicaElectionResults }, isAtomic: true };
}

function electOne(
  name: string,
  topic: TopicImage | undefined,
  partitionId: number,
  rules: ChangeRules | null,
  records: MetadataRecord[],
): Refusal {
  const unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION;
  if (topic === undefined || rules === null) {
    return { errorCode: unknown, errorMessage: `No such topic as ${name}` };
  }
  const partition = topic.partitions[partitionId];
  if (partition === undefined) {
    return { errorCode: unknown, errorMessage: `No such partition as ${name}-${partitionId}` };
  }
  const isUnclean = rules.election === 'unclean';
  if (isUnclean ? partition.leader >= 0 : isPreferred(partition)) return plain(ErrorCode.ELECTION_NOT_NEEDED);
  const change = elected(topic, partitionId, partition, rules);
  if (change === null) {
    return plain(isUnclean ? ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE : ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE);
  }
  records.push(change);
  return HELD;
}

function plain(errorCode: number): Refusal {
  return { errorCode, errorMessage: null };
}

function isPreferred({ leader, replicas }: PartitionImage): boolean {
  return leader === replicas[0];
}

function elected(
  topic: TopicImage,
  partitionId: number,
  partition: PartitionImage,
  rules: ChangeRules,
): MetadataRecord | null {
  const change = changeOf(topic.id, partitionId, partition, rules, { isr: partition.isr, uncleanBroker: -1 });
  return change === null || change.value.leader === SAME_LEADER ? null : change;
}

/**
 * The records that give partitions back to their preferred leaders, as far as those are in sync: at most
 * ELECTIONS_MAX; as many as that mean that there may be more. Goes over all partitions.
 */
export function balanceLeaders(controller: Controller): readonly MetadataRecord[] {
  const { image } = controller;
  const common: ChangeRules = { ...commonRules(controller, NOTHING_HAPPENS), election: 'preferred' };
  return someElections(image, (topic) => {
    let rules: ChangeRules | null = null;
    return (partition, partitionId) => {
      const preferred = partition.replicas[0] ?? -1;
      if (partition.leader === preferred || !common.isAcceptable(preferred, partition)) return null;
      rules ??= { ...rulesFor(image, topic, common), election: 'preferred' };
      return elected(topic, partitionId, partition, rules);
    };
  });
}

/** The records that let anyone lead where nobody does and the topic allows it: at most ELECTIONS_MAX. */
export function electUncleanLeaders(controller: Controller): readonly MetadataRecord[] {
  const { image } = controller;
  const common = commonRules(controller, NOTHING_HAPPENS);
  return someElections(image, (topic) => {
    let rules: ChangeRules | null = null;
    return (partition, partitionId) => {
      if (partition.leader >= 0) return null;
      rules ??= rulesFor(image, topic, common);
      return rules.election === 'unclean' ? elected(topic, partitionId, partition, rules) : null;
    };
  });
}

type Election = (partition: PartitionImage, partitionId: number) => MetadataRecord | null;

function someElections(image: MetadataImage, begin: (topic: TopicImage) => Election): MetadataRecord[] {
  const records: MetadataRecord[] = [];
  for (const topic of mapValues(image.topics.byId)) {
    const election = begin(topic);
    for (let index = 0; index < topic.partitions.length; index++) {
      const partition = topic.partitions[index];
      const record = partition === undefined ? null : election(partition, index);
      if (record !== null) records.push(record);
      if (records.length === ELECTIONS_MAX) return records;
    }
  }
  return records;
}
