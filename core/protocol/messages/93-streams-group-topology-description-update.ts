/**
 * StreamsGroupTopologyDescriptionUpdate, API key 93.
 *
 * Stores a description of a streams group's topology. Names, types and versions of the fields are those of
 * Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, arrayOf, type BodyOf, int8, int16, int32, message, string, struct } from '../schema.ts';

const requestTopologyDescriptionNode = {
  name: string(),
  nodeType: int8(),
  sourceTopics: arrayOf(string()),
  sinkTopic: string('0+', { nullable: '0+', default: null }),
  stores: arrayOf(string()),
  successors: arrayOf(string()),
};

const requestTopologyDescriptionSubtopology = { subtopologyId: string(), nodes: array(requestTopologyDescriptionNode) };

const requestTopologyDescriptionGlobalStore = {
  source: struct(requestTopologyDescriptionNode),
  processor: struct(requestTopologyDescriptionNode),
};

const requestTopologyDescription = {
  subtopologies: array(requestTopologyDescriptionSubtopology),
  globalStores: array(requestTopologyDescriptionGlobalStore),
};

/** The topology. */
export const StreamsGroupTopologyDescriptionUpdateRequest = message(
  { name: 'StreamsGroupTopologyDescriptionUpdateRequest', versions: '0', flexible: '0+' },
  {
    groupId: string(),
    memberId: string(),
    topologyEpoch: int32(),
    topologyDescription: struct(requestTopologyDescription),
  },
);
/** The request as it is read. */
export type StreamsGroupTopologyDescriptionUpdateRequest = BodyOf<typeof StreamsGroupTopologyDescriptionUpdateRequest>;

/** The outcome. */
export const StreamsGroupTopologyDescriptionUpdateResponse = message(
  { name: 'StreamsGroupTopologyDescriptionUpdateResponse', versions: '0', flexible: '0+' },
  { throttleTimeMs: int32(), errorCode: int16(), errorMessage: string('0+', { nullable: '0+', default: null }) },
);
/** The response as it is read. */
export type StreamsGroupTopologyDescriptionUpdateResponse = BodyOf<
  typeof StreamsGroupTopologyDescriptionUpdateResponse
>;

/** The API: key, name, both messages, and where it is offered. */
export const StreamsGroupTopologyDescriptionUpdate = api(
  { key: 93, name: 'StreamsGroupTopologyDescriptionUpdate', advertised: '0', listeners: ['broker'] },
  StreamsGroupTopologyDescriptionUpdateRequest,
  StreamsGroupTopologyDescriptionUpdateResponse,
);
