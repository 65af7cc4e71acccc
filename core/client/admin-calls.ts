/**
 * The calls of an administrator: what may be asked, the request of each, and what its answer says. Pure, no state.
 *
 * A question names one thing: one topic, one partition, one resource. Several go out at the same time instead.
 */
import { type Answer, answerBody, type Channel, callPeer, versionFor } from '../channel/channel.ts';
import { ZERO_UUID } from '../lib/uuid.ts';
import type { Env, Outbox } from '../lib/world.ts';
import { ErrorCode } from '../protocol/errors.ts';
import type { ApiKey, RequestInputOf } from '../protocol/messages/index.ts';
import { callGroups, type DescribedGroup, GROUP_KEYS, type GroupRequest, readGroupAnswer } from './group-calls.ts';
import { callReplicas, REPLICA_KEYS, type ReplicaRequest, readReplicaAnswer } from './replica-calls.ts';
import { callVoters, type QuorumMember, readVoterAnswer, VOTER_KEYS, type VoterRequest } from './voter-calls.ts';

/** What IncrementalAlterConfigs does to a setting. */
export const ConfigOperation = { SET: 0, DELETE: 1, APPEND: 2, SUBTRACT: 3 } as const;
/** Kafka's numbers of what has settings. */
export const ConfigResource = { TOPIC: 2, BROKER: 4 } as const;

/** One change of one setting. */
export interface ConfigChange {
  readonly name: string;
  /** One of ConfigOperation. */
  readonly operation: number;
  readonly value: string | null;
}

/** What an administrator wants. Topics go by name unless `topicId` is given. */
export type AdminRequest =
  | {
      readonly kind: 'createTopic';
      readonly topic: string;
      readonly partitions: number;
      readonly replicationFactor: number;
      readonly configs: readonly (readonly [name: string, value: string])[];
    }
  | { readonly kind: 'deleteTopic'; readonly topic: string }
  | { readonly kind: 'createPartitions'; readonly topic: string; readonly count: number }
  | {
      readonly kind: 'alterConfigs';
      readonly resourceType: number;
      readonly resourceName: string;
      readonly changes: readonly ConfigChange[];
    }
  | { readonly kind: 'deleteRecords'; readonly topic: string; readonly partition: number; readonly offset: number }
  | { readonly kind: 'describeTopic'; readonly topic: string }
  | {
      readonly kind: 'describeConfigs';
      readonly resourceType: number;
      readonly resourceName: string;
      readonly names: readonly string[];
    }
  | {
      readonly kind: 'listOffset';
      readonly topic: string;
      readonly partition: number;
      readonly at: 'earliest' | 'latest';
    }
  | ReplicaRequest
  | VoterRequest
  | GroupRequest;

/** What is said of a partition. */
export interface DescribedPartition {
  readonly error: number;
  readonly leader: number;
  readonly leaderEpoch: number;
  readonly replicas: readonly number[];
}

/** What is said of a setting; `source` is Kafka's number, 1 for what was set for the topic itself. */
export interface DescribedConfig {
  readonly name: string;
  readonly value: string | null;
  readonly source: number;
}

/** What a good answer holds beside its goodness. */
export interface AdminResult {
  /** Of createTopic and describeTopic; all zeros where the broker is too old to say. */
  readonly topicId?: string;
  readonly partitions?: readonly DescribedPartition[];
  readonly configs?: readonly DescribedConfig[];
  /** Of listMoves: the partitions that move. */
  readonly moving?: readonly number[];
  /** Of deleteRecords: where the log begins; of listOffset: what was asked for. */
  readonly offset?: number;
  /** Of describeQuorum. */
  readonly voters?: readonly QuorumMember[];
  readonly observers?: readonly QuorumMember[];
  /** Of describeGroup and describeConsumerGroup. */
  readonly group?: DescribedGroup;
  /** Of listGroups. */
  readonly groupIds?: readonly string[];
}

/** An answer taken apart. */
export interface AdminAnswer {
  /** A Kafka error code; NONE where it was done. */
  readonly error: number;
  readonly message: string | null;
  readonly result: AdminResult;
}

const KEYS = {
  createTopic: 19,
  deleteTopic: 20,
  createPartitions: 37,
  alterConfigs: 44,
  deleteRecords: 21,
  describeTopic: 75,
  describeConfigs: 32,
  listOffset: 2,
  ...REPLICA_KEYS,
  ...VOTER_KEYS,
  ...GROUP_KEYS,
} as const satisfies Record<AdminRequest['kind'], ApiKey>;

/** The first version of DeleteTopics that takes topics as a structure. */
const TOPIC_STATES_SINCE = 6;
const LATEST = -1;
const EARLIEST = -2;
/** Pages are not asked for: this many partitions of one topic are described. */
const DESCRIBED_PARTITIONS_MAX = 2_000;

/** Questions that change nothing. */
const QUESTIONS: readonly AdminRequest['kind'][] = [
  'describeTopic',
  'describeConfigs',
  'listOffset',
  'listMoves',
  'describeQuorum',
  'describeGroup',
  'describeConsumerGroup',
  'listGroups',
];

/** Whether the request would change something, so that an answer that is lost leaves a doubt. */
export function isChange({ kind }: AdminRequest): boolean {
  return !QUESTIONS.includes(kind);
}

function isOfGroups(request: AdminRequest): request is GroupRequest {
  return request.kind in GROUP_KEYS;
}

/** Makes the call; its ticket, or -1 if the broker speaks no version of it that we do. */
export function callAdmin(
  channel: Channel,
  env: Env,
  peer: string,
  request: AdminRequest,
  timeoutMs: number,
  out: Outbox,
): number {
  const apiKey = KEYS[request.kind];
  const version = versionFor(channel, peer, apiKey);
  if (version < 0) return -1;
  // The broker gives up a little before we do, so that its answer is not lost with the connection.
  const patienceMs = timeoutMs - Math.floor(timeoutMs / 10);
  if (isOfGroups(request)) return callGroups(channel, env, peer, version, request, out);
  switch (request.kind) {
    case 'createTopic': {
      const { topic: name, partitions: numPartitions, replicationFactor } = request;
      const configs = request.configs.map(([key, value]) => ({ name: key, value }));
      const topic = { name, numPartitions, replicationFactor, assignments: [], configs };
      const body = { topics: [topic], timeoutMs: patienceMs, validateOnly: false };
      return callPeer(channel, env, peer, { apiKey: KEYS.createTopic, version, body }, out);
    }
    case 'deleteTopic': {
      const isNew = version >= TOPIC_STATES_SINCE;
      const topics = isNew ? [{ name: request.topic, topicId: ZERO_UUID }] : [];
      const body = { topics, topicNames: isNew ? [] : [request.topic], timeoutMs: patienceMs };
      return callPeer(channel, env, peer, { apiKey: KEYS.deleteTopic, version, body }, out);
    }
    case 'createPartitions': {
      const topics = [{ name: request.topic, count: request.count, assignments: null }];
      const body = { topics, timeoutMs: patienceMs, validateOnly: false };
      return callPeer(channel, env, peer, { apiKey: KEYS.createPartitions, version, body }, out);
    }
    case 'alterConfigs': {
      const { resourceType, resourceName, changes } = request;
      const configs = changes.map(({ name, operation, value }) => ({ name, configOperation: operation, value }));
      const body = { resources: [{ resourceType, resourceName, configs }], validateOnly: false };
      return callPeer(channel, env, peer, { apiKey: KEYS.alterConfigs, version, body }, out);
    }
    case 'deleteRecords': {
      const partitions = [{ partitionIndex: request.partition, offset: request.offset }];
      const body = { topics: [{ name: request.topic, partitions }], timeoutMs: patienceMs };
      return callPeer(channel, env, peer, { apiKey: KEYS.deleteRecords, version, body }, out);
    }
    case 'movePartition':
    case 'listMoves':
    case 'electLeader':
      return callReplicas(channel, env, peer, version, request, patienceMs, out);
    case 'describeQuorum':
    case 'addVoter':
    case 'removeVoter':
      return callVoters(channel, env, peer, version, request, patienceMs, out);
    default:
      return callDescribe(channel, env, peer, version, request, patienceMs, out);
  }
}

type Question = Extract<AdminRequest, { kind: 'describeTopic' | 'describeConfigs' | 'listOffset' }>;

function callDescribe(
  channel: Channel,
  env: Env,
  peer: string,
  version: number,
  request: Question,
  timeoutMs: number,
  out: Outbox,
): number {
  switch (request.kind) {
    case 'describeTopic': {
      const topics = [{ name: request.topic }];
      const body = { topics, responsePartitionLimit: DESCRIBED_PARTITIONS_MAX, cursor: null };
      return callPeer(channel, env, peer, { apiKey: KEYS.describeTopic, version, body }, out);
    }
    case 'describeConfigs': {
      const { resourceType, resourceName, names } = request;
      const resources = [{ resourceType, resourceName, configurationKeys: names.length === 0 ? null : [...names] }];
      const body = { resources, includeSynonyms: false, includeDocumentation: false };
      return callPeer(channel, env, peer, { apiKey: KEYS.describeConfigs, version, body }, out);
    }
    case 'listOffset': {
      const timestamp = request.at === 'earliest' ? EARLIEST : LATEST;
      const partitions = [{ partitionIndex: request.partition, currentLeaderEpoch: -1, timestamp }];
      const topics = [{ name: request.topic, partitions }];
      const body: RequestInputOf<2> = { replicaId: -1, isolationLevel: 0, topics, timeoutMs };
      return callPeer(channel, env, peer, { apiKey: KEYS.listOffset, version, body }, out);
    }
  }
}

const NO_ANSWER: AdminAnswer = {
  error: ErrorCode.UNKNOWN_SERVER_ERROR,
  message: 'the broker left out what was asked',
  result: {},
};

function answered(error: number | undefined, message: string | null | undefined, result: AdminResult): AdminAnswer {
  return error === undefined ? NO_ANSWER : { error, message: message ?? null, result };
}

/** What an answer says. */
export function readAnswer(request: AdminRequest, event: Answer): AdminAnswer {
  if (isOfGroups(request)) return readGroupAnswer(request, event) ?? NO_ANSWER;
  switch (request.kind) {
    case 'createTopic': {
      const topic = answerBody(event, KEYS.createTopic).topics[0];
      return answered(topic?.errorCode, topic?.errorMessage, { topicId: topic?.topicId ?? ZERO_UUID });
    }
    case 'deleteTopic': {
      const topic = answerBody(event, KEYS.deleteTopic).responses[0];
      return answered(topic?.errorCode, topic?.errorMessage, {});
    }
    case 'createPartitions': {
      const topic = answerBody(event, KEYS.createPartitions).results[0];
      return answered(topic?.errorCode, topic?.errorMessage, {});
    }
    case 'alterConfigs': {
      const resource = answerBody(event, KEYS.alterConfigs).responses[0];
      return answered(resource?.errorCode, resource?.errorMessage, {});
    }
    case 'deleteRecords': {
      const partition = answerBody(event, KEYS.deleteRecords).topics[0]?.partitions[0];
      return answered(partition?.errorCode, null, { offset: partition?.lowWatermark ?? -1 });
    }
    case 'movePartition':
    case 'listMoves':
    case 'electLeader':
      return readReplicaAnswer(request, event);
    case 'describeTopic': {
      const topic = answerBody(event, KEYS.describeTopic).topics[0];
      const partitions = (topic?.partitions ?? []).map(({ errorCode, leaderId, leaderEpoch, replicaNodes }) => {
        return { error: errorCode, leader: leaderId, leaderEpoch, replicas: replicaNodes };
      });
      return answered(topic?.errorCode, null, { topicId: topic?.topicId ?? ZERO_UUID, partitions });
    }
    case 'describeConfigs': {
      const resource = answerBody(event, KEYS.describeConfigs).results[0];
      const configs = (resource?.configs ?? []).map(({ name, value, configSource }) => {
        return { name, value, source: configSource };
      });
      return answered(resource?.errorCode, resource?.errorMessage, { configs });
    }
    case 'listOffset': {
      const partition = answerBody(event, KEYS.listOffset).topics[0]?.partitions[0];
      return answered(partition?.errorCode, null, { offset: partition?.offset ?? -1 });
    }
    default:
      return readVoterAnswer(request, event);
  }
}
