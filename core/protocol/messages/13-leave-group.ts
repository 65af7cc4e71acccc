/**
 * LeaveGroup, API key 13.
 *
 * Takes members out of a classic group. Names, types and versions of the fields are those of Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, type BodyOf, int16, int32, message, string } from '../schema.ts';

/** The members that leave. */
export const LeaveGroupRequest = message(
  { name: 'LeaveGroupRequest', versions: '0-5', flexible: '4+' },
  {
    groupId: string(),
    memberId: string('0-2'),
    members: array(
      {
        memberId: string('3+'),
        groupInstanceId: string('3+', { nullable: '3+', default: null }),
        reason: string('5+', { nullable: '5+', default: null, ignorable: true }),
      },
      '3+',
    ),
  },
);
/** The request as it is read. */
export type LeaveGroupRequest = BodyOf<typeof LeaveGroupRequest>;

/** One error code a member. */
export const LeaveGroupResponse = message(
  { name: 'LeaveGroupResponse', versions: '0-5', flexible: '4+' },
  {
    throttleTimeMs: int32('1+', { ignorable: true }),
    errorCode: int16(),
    members: array(
      { memberId: string('3+'), groupInstanceId: string('3+', { nullable: '3+' }), errorCode: int16('3+') },
      '3+',
    ),
  },
);
/** The response as it is read. */
export type LeaveGroupResponse = BodyOf<typeof LeaveGroupResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const LeaveGroup = api(
  { key: 13, name: 'LeaveGroup', advertised: '0-5', listeners: ['broker'] },
  LeaveGroupRequest,
  LeaveGroupResponse,
);
