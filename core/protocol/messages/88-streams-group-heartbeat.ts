/**
 * StreamsGroupHeartbeat, API key 88.
 *
 * Keeps a member of a streams group alive (KIP-1071). Names, types and versions of the fields are those of
 * Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import {
  array,
  arrayOf,
  type BodyOf,
  boolean,
  int8,
  int16,
  int32,
  int64,
  message,
  string,
  struct,
  uint16,
} from '../schema.ts';

const requestKeyValue = { key: string(), value: string() };

const requestTopicInfo = {
  name: string(),
  partitions: int32(),
  replicationFactor: int16(),
  topicConfigs: array(requestKeyValue),
};

const requestEndpoint = { host: string(), port: uint16() };

const requestTaskOffset = { subtopologyId: string(), partition: int32(), offset: int64() };

const requestTaskIds = { subtopologyId: string(), partitions: arrayOf(int32()) };

/** What has changed for the member. */
export const StreamsGroupHeartbeatRequest = message(
  { name: 'StreamsGroupHeartbeatRequest', versions: '0-1', flexible: '0+' },
  {
    groupId: string(),
    memberId: string(),
    memberEpoch: int32(),
    endpointInformationEpoch: int32(),
    instanceId: string('0+', { nullable: '0+', default: null }),
    rackId: string('0+', { nullable: '0+', default: null }),
    rebalanceTimeoutMs: int32('0+', { default: -1 }),
    topology: struct(
      {
        epoch: int32(),
        subtopologies: array({
          subtopologyId: string(),
          sourceTopics: arrayOf(string()),
          sourceTopicRegex: arrayOf(string()),
          stateChangelogTopics: array(requestTopicInfo),
          repartitionSinkTopics: arrayOf(string()),
          repartitionSourceTopics: array(requestTopicInfo),
          copartitionGroups: array({
            sourceTopics: arrayOf(int16()),
            sourceTopicRegex: arrayOf(int16()),
            repartitionSourceTopics: arrayOf(int16()),
          }),
        }),
      },
      '0+',
      { nullable: '0+', default: null },
    ),
    activeTasks: array(requestTaskIds, '0+', { nullable: '0+', default: null }),
    standbyTasks: array(requestTaskIds, '0+', { nullable: '0+', default: null }),
    warmupTasks: array(requestTaskIds, '0+', { nullable: '0+', default: null }),
    processId: string('0+', { nullable: '0+', default: null }),
    userEndpoint: struct(requestEndpoint, '0+', { nullable: '0+', default: null }),
    clientTags: array(requestKeyValue, '0+', { nullable: '0+', default: null }),
    taskOffsets: array(requestTaskOffset, '0+', { nullable: '0+', default: null }),
    taskEndOffsets: array(requestTaskOffset, '0+', { nullable: '0+', default: null }),
    shutdownApplication: boolean('0+', { default: false }),
  },
);
/** The request as it is read. */
export type StreamsGroupHeartbeatRequest = BodyOf<typeof StreamsGroupHeartbeatRequest>;

const responseStatus = { statusCode: int8(), statusDetail: string() };

const responseTopicPartition = { topic: string(), partitions: arrayOf(int32()) };

const responseTaskIds = { subtopologyId: string(), partitions: arrayOf(int32()) };

const responseEndpoint = { host: string(), port: uint16() };

/** Its epoch and, if new, its tasks. */
export const StreamsGroupHeartbeatResponse = message(
  { name: 'StreamsGroupHeartbeatResponse', versions: '0-1', flexible: '0+' },
  {
    throttleTimeMs: int32(),
    errorCode: int16(),
    errorMessage: string('0+', { nullable: '0+', default: null }),
    memberId: string(),
    memberEpoch: int32(),
    heartbeatIntervalMs: int32(),
    acceptableRecoveryLagLegacy: int32('0'),
    taskOffsetIntervalMs: int32(),
    acceptableRecoveryLag: int64('1+', { default: -1, ignorable: true }),
    status: array(responseStatus, '0+', { nullable: '0+' }),
    activeTasks: array(responseTaskIds, '0+', { nullable: '0+', default: null }),
    standbyTasks: array(responseTaskIds, '0+', { nullable: '0+', default: null }),
    warmupTasks: array(responseTaskIds, '0+', { nullable: '0+', default: null }),
    topologyDescriptionRequired: boolean('1+', { default: false }),
    endpointInformationEpoch: int32(),
    partitionsByUserEndpoint: array(
      {
        userEndpoint: struct(responseEndpoint),
        activePartitions: array(responseTopicPartition),
        standbyPartitions: array(responseTopicPartition),
      },
      '0+',
      { nullable: '0+', default: null },
    ),
  },
);
/** The response as it is read. */
export type StreamsGroupHeartbeatResponse = BodyOf<typeof StreamsGroupHeartbeatResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const StreamsGroupHeartbeat = api(
  { key: 88, name: 'StreamsGroupHeartbeat', advertised: '0-1', listeners: ['broker'] },
  StreamsGroupHeartbeatRequest,
  StreamsGroupHeartbeatResponse,
);
