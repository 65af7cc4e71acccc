/**
 * ShareGroupHeartbeat, API key 76.
 *
 * Keeps a member of a share group alive (KIP-932). Names, types and versions of the fields are those of Apache
 * Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, arrayOf, type BodyOf, int16, int32, message, string, struct, uuid } from '../schema.ts';

/** What has changed for the member. */
export const ShareGroupHeartbeatRequest = message(
  { name: 'ShareGroupHeartbeatRequest', versions: '1', flexible: '0+' },
  {
    groupId: string(),
    memberId: string(),
    memberEpoch: int32(),
    rackId: string('0+', { nullable: '0+', default: null }),
    subscribedTopicNames: arrayOf(string(), '0+', { nullable: '0+', default: null }),
  },
);
/** The request as it is read. */
export type ShareGroupHeartbeatRequest = BodyOf<typeof ShareGroupHeartbeatRequest>;

const responseTopicPartitions = { topicId: uuid(), partitions: arrayOf(int32()) };

/** Its epoch and, if new, its assignment. */
export const ShareGroupHeartbeatResponse = message(
  { name: 'ShareGroupHeartbeatResponse', versions: '1', flexible: '0+' },
  {
    throttleTimeMs: int32(),
    errorCode: int16(),
    errorMessage: string('0+', { nullable: '0+', default: null }),
    memberId: string('0+', { nullable: '0+', default: null }),
    memberEpoch: int32(),
    heartbeatIntervalMs: int32(),
    assignment: struct({ topicPartitions: array(responseTopicPartitions) }, '0+', { nullable: '0+', default: null }),
  },
);
/** The response as it is read. */
export type ShareGroupHeartbeatResponse = BodyOf<typeof ShareGroupHeartbeatResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const ShareGroupHeartbeat = api(
  { key: 76, name: 'ShareGroupHeartbeat', advertised: '1', listeners: ['broker'] },
  ShareGroupHeartbeatRequest,
  ShareGroupHeartbeatResponse,
);
