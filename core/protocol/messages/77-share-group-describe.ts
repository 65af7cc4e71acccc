/**
 * ShareGroupDescribe, API key 77.
 *
 * Describes share groups. Names, types and versions of the fields are those of Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, arrayOf, type BodyOf, boolean, int16, int32, message, string, struct, uuid } from '../schema.ts';

/** The groups to describe. */
export const ShareGroupDescribeRequest = message(
  { name: 'ShareGroupDescribeRequest', versions: '1', flexible: '0+' },
  { groupIds: arrayOf(string()), includeAuthorizedOperations: boolean() },
);
/** The request as it is read. */
export type ShareGroupDescribeRequest = BodyOf<typeof ShareGroupDescribeRequest>;

const responseTopicPartitions = { topicId: uuid(), topicName: string(), partitions: arrayOf(int32()) };

const responseAssignment = { topicPartitions: array(responseTopicPartitions) };

/** Their state, members and assignments. */
export const ShareGroupDescribeResponse = message(
  { name: 'ShareGroupDescribeResponse', versions: '1', flexible: '0+' },
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
        rackId: string('0+', { nullable: '0+', default: null }),
        memberEpoch: int32(),
        clientId: string(),
        clientHost: string(),
        subscribedTopicNames: arrayOf(string()),
        assignment: struct(responseAssignment),
      }),
      authorizedOperations: int32('0+', { default: -2147483648 }),
    }),
  },
);
/** The response as it is read. */
export type ShareGroupDescribeResponse = BodyOf<typeof ShareGroupDescribeResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const ShareGroupDescribe = api(
  { key: 77, name: 'ShareGroupDescribe', advertised: '1', listeners: ['broker'] },
  ShareGroupDescribeRequest,
  ShareGroupDescribeResponse,
);
