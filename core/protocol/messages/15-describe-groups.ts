/**
 * DescribeGroups, API key 15.
 *
 * Describes classic groups. Names, types and versions of the fields are those of Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, arrayOf, type BodyOf, boolean, bytes, int16, int32, message, string } from '../schema.ts';

/** The groups to describe. */
export const DescribeGroupsRequest = message(
  { name: 'DescribeGroupsRequest', versions: '0-6', flexible: '5+' },
  { groups: arrayOf(string()), includeAuthorizedOperations: boolean('3+') },
);
/** The request as it is read. */
export type DescribeGroupsRequest = BodyOf<typeof DescribeGroupsRequest>;

/** Their state and members. */
export const DescribeGroupsResponse = message(
  { name: 'DescribeGroupsResponse', versions: '0-6', flexible: '5+' },
  {
    throttleTimeMs: int32('1+', { ignorable: true }),
    groups: array({
      errorCode: int16(),
      errorMessage: string('6+', { nullable: '6+', default: null }),
      groupId: string(),
      groupState: string(),
      protocolType: string(),
      protocolData: string(),
      members: array({
        memberId: string(),
        groupInstanceId: string('4+', { nullable: '4+', default: null, ignorable: true }),
        clientId: string(),
        clientHost: string(),
        memberMetadata: bytes(),
        memberAssignment: bytes(),
      }),
      authorizedOperations: int32('3+', { default: -2147483648 }),
    }),
  },
);
/** The response as it is read. */
export type DescribeGroupsResponse = BodyOf<typeof DescribeGroupsResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const DescribeGroups = api(
  { key: 15, name: 'DescribeGroups', advertised: '0-6', listeners: ['broker'] },
  DescribeGroupsRequest,
  DescribeGroupsResponse,
);
