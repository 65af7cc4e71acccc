/**
 * ConsumerGroupDescribe, API key 69.
 *
 * Describes consumer groups. Names, types and versions of the fields are those of Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, arrayOf, type BodyOf, boolean, int8, int16, int32, message, string, struct, uuid } from '../schema.ts';

/** The groups to describe. */
export const ConsumerGroupDescribeRequest = message(
  { name: 'ConsumerGroupDescribeRequest', versions: '0-1', flexible: '0+' },
  { groupIds: arrayOf(string()), includeAuthorizedOperations: boolean() },
);
/** The request as it is read. */
export type ConsumerGroupDescribeRequest = BodyOf<typeof ConsumerGroupDescribeRequest>;

const responseTopicPartitions = { topicId: uuid(), topicName: string(), partitions: arrayOf(int32()) };

const responseAssignment = { topicPartitions: array(responseTopicPartitions) };

/** Their state, members and assignments. */
export const ConsumerGroupDescribeResponse = message(
  { name: 'ConsumerGroupDescribeResponse', versions: '0-1', flexible: '0+' },
  {
    throttleTimeMs: int32(),
    groups: array({
      errorCode: int16(),
      errorMessage: string('0+', { nullable: '0+', default: null }),
      groupId: string(),
      groupState: string(),
      groupEpoch: int32(),
      assignmentEpoch: int32(),
      assignorName: string(),
      members: array({
        memberId: string(),
        instanceId: string('0+', { nullable: '0+', default: null }),
        rackId: string('0+', { nullable: '0+', default: null }),
        memberEpoch: int32(),
        clientId: string(),
        clientHost: string(),
        subscribedTopicNames: arrayOf(string()),
        subscribedTopicRegex: string('0+', { nullable: '0+', default: null }),
        assignment: struct(responseAssignment),
        targetAssignment: struct(responseAssignment),
        memberType: int8('1+', { default: -1, ignorable: true }),
      }),
      authorizedOperations: int32('0+', { default: -2147483648 }),
    }),
  },
);
/** The response as it is read. */
export type ConsumerGroupDescribeResponse = BodyOf<typeof ConsumerGroupDescribeResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const ConsumerGroupDescribe = api(
  { key: 69, name: 'ConsumerGroupDescribe', advertised: '0-1', listeners: ['broker'] },
  ConsumerGroupDescribeRequest,
  ConsumerGroupDescribeResponse,
);
