/**
 * ConsumerGroupHeartbeat, API key 68.
 *
 * Keeps a member of a consumer group alive and carries its assignment (KIP-848). Names, types and versions of
 * the fields are those of Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, arrayOf, type BodyOf, int16, int32, message, string, struct, uuid } from '../schema.ts';

/** What has changed for the member. */
export const ConsumerGroupHeartbeatRequest = message(
  { name: 'ConsumerGroupHeartbeatRequest', versions: '0-1', flexible: '0+' },
  {
    groupId: string(),
    memberId: string(),
    memberEpoch: int32(),
    instanceId: string('0+', { nullable: '0+', default: null }),
    rackId: string('0+', { nullable: '0+', default: null }),
    rebalanceTimeoutMs: int32('0+', { default: -1 }),
    subscribedTopicNames: arrayOf(string(), '0+', { nullable: '0+', default: null }),
    subscribedTopicRegex: string('1+', { nullable: '1+', default: null }),
    serverAssignor: string('0+', { nullable: '0+', default: null }),
    topicPartitions: array({ topicId: uuid(), partitions: arrayOf(int32()) }, '0+', { nullable: '0+', default: null }),
  },
);
/** The request as it is read. */
export type ConsumerGroupHeartbeatRequest = BodyOf<typeof ConsumerGroupHeartbeatRequest>;

const responseTopicPartitions = { topicId: uuid(), partitions: arrayOf(int32()) };

/** Its epoch and, if new, its assignment. */
export const ConsumerGroupHeartbeatResponse = message(
  { name: 'ConsumerGroupHeartbeatResponse', versions: '0-1', flexible: '0+' },
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
export type ConsumerGroupHeartbeatResponse = BodyOf<typeof ConsumerGroupHeartbeatResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const ConsumerGroupHeartbeat = api(
  { key: 68, name: 'ConsumerGroupHeartbeat', advertised: '0-1', listeners: ['broker'] },
  ConsumerGroupHeartbeatRequest,
  ConsumerGroupHeartbeatResponse,
);
