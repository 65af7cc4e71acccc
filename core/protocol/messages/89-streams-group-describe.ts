/**
 * StreamsGroupDescribe, API key 89.
 *
 * Describes streams groups. Names, types and versions of the fields are those of Apache Kafka 4.4.
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

/** The groups to describe. */
export const StreamsGroupDescribeRequest = message(
  { name: 'StreamsGroupDescribeRequest', versions: '0-1', flexible: '0+' },
  {
    groupIds: arrayOf(string()),
    includeAuthorizedOperations: boolean(),
    includeTopologyDescription: boolean('1+', { default: false }),
  },
);
/** The request as it is read. */
export type StreamsGroupDescribeRequest = BodyOf<typeof StreamsGroupDescribeRequest>;

const responseEndpoint = { host: string(), port: uint16() };

const responseTaskOffset = { subtopologyId: string(), partition: int32(), offset: int64() };

const responseTaskIds = { subtopologyId: string(), partitions: arrayOf(int32()) };

const responseAssignment = {
  activeTasks: array(responseTaskIds),
  standbyTasks: array(responseTaskIds),
  warmupTasks: array(responseTaskIds),
};

const responseKeyValue = { key: string(), value: string() };

const responseTopicInfo = {
  name: string(),
  partitions: int32(),
  replicationFactor: int16(),
  topicConfigs: array(responseKeyValue),
};

const responseTopologyDescriptionNode = {
  name: string('1+'),
  nodeType: int8('1+'),
  sourceTopics: arrayOf(string(), '1+'),
  sinkTopic: string('1+', { nullable: '1+', default: null }),
  stores: arrayOf(string(), '1+'),
  successors: arrayOf(string(), '1+'),
};

const responseTopologyDescriptionSubtopology = {
  subtopologyId: string('1+'),
  nodes: array(responseTopologyDescriptionNode, '1+'),
};

const responseTopologyDescriptionGlobalStore = {
  source: struct(responseTopologyDescriptionNode, '1+'),
  processor: struct(responseTopologyDescriptionNode, '1+'),
};

const responseTopologyDescription = {
  subtopologies: array(responseTopologyDescriptionSubtopology, '1+'),
  globalStores: array(responseTopologyDescriptionGlobalStore, '1+'),
};

/** Their topology, members and tasks. */
export const StreamsGroupDescribeResponse = message(
  { name: 'StreamsGroupDescribeResponse', versions: '0-1', flexible: '0+' },
  {
    throttleTimeMs: int32(),
    groups: array({
      errorCode: int16(),
      errorMessage: string('0+', { nullable: '0+', default: null }),
      groupId: string(),
      groupState: string(),
      groupEpoch: int32(),
      assignmentEpoch: int32(),
      topology: struct(
        {
          epoch: int32(),
          subtopologies: array(
            {
              subtopologyId: string(),
              sourceTopics: arrayOf(string()),
              repartitionSinkTopics: arrayOf(string()),
              stateChangelogTopics: array(responseTopicInfo),
              repartitionSourceTopics: array(responseTopicInfo),
            },
            '0+',
            { nullable: '0+', default: null },
          ),
        },
        '0+',
        { nullable: '0+', default: null },
      ),
      members: array({
        memberId: string(),
        memberEpoch: int32(),
        instanceId: string('0+', { nullable: '0+', default: null }),
        rackId: string('0+', { nullable: '0+', default: null }),
        clientId: string(),
        clientHost: string(),
        topologyEpoch: int32(),
        processId: string(),
        userEndpoint: struct(responseEndpoint, '0+', { nullable: '0+', default: null }),
        clientTags: array(responseKeyValue),
        taskOffsets: array(responseTaskOffset),
        taskEndOffsets: array(responseTaskOffset),
        assignment: struct(responseAssignment),
        targetAssignment: struct(responseAssignment),
        isClassic: boolean(),
      }),
      authorizedOperations: int32('0+', { default: -2147483648 }),
      topologyDescription: struct(responseTopologyDescription, '1+', { nullable: '1+', default: null }),
      topologyDescriptionStatus: int8('1+', { default: 0 }),
      assignorName: string('1+', { nullable: '1+', default: null, ignorable: true }),
    }),
  },
);
/** The response as it is read. */
export type StreamsGroupDescribeResponse = BodyOf<typeof StreamsGroupDescribeResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const StreamsGroupDescribe = api(
  { key: 89, name: 'StreamsGroupDescribe', advertised: '0-1', listeners: ['broker'] },
  StreamsGroupDescribeRequest,
  StreamsGroupDescribeResponse,
);
