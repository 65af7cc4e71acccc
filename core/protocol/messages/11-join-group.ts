/**
 * JoinGroup, API key 11.
 *
 * Joins a classic group and waits until its members have met. Names, types and versions of the fields are those
 * of Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, type BodyOf, boolean, bytes, int16, int32, message, string } from '../schema.ts';

/** The member and the assignors it can use. */
export const JoinGroupRequest = message(
  { name: 'JoinGroupRequest', versions: '0-9', flexible: '6+' },
  {
    groupId: string(),
    sessionTimeoutMs: int32(),
    rebalanceTimeoutMs: int32('1+', { default: -1, ignorable: true }),
    memberId: string(),
    groupInstanceId: string('5+', { nullable: '5+', default: null }),
    protocolType: string(),
    protocols: array({ name: string(), metadata: bytes() }),
    reason: string('8+', { nullable: '8+', default: null, ignorable: true }),
  },
);
/** The request as it is read. */
export type JoinGroupRequest = BodyOf<typeof JoinGroupRequest>;

/** The new generation; the leader also gets all members. */
export const JoinGroupResponse = message(
  { name: 'JoinGroupResponse', versions: '0-9', flexible: '6+' },
  {
    throttleTimeMs: int32('2+', { ignorable: true }),
    errorCode: int16(),
    generationId: int32('0+', { default: -1 }),
    protocolType: string('7+', { nullable: '7+', default: null, ignorable: true }),
    protocolName: string('0+', { nullable: '7+' }),
    leader: string(),
    skipAssignment: boolean('9+', { default: false }),
    memberId: string(),
    members: array({
      memberId: string(),
      groupInstanceId: string('5+', { nullable: '5+', default: null, ignorable: true }),
      metadata: bytes(),
    }),
  },
);
/** The response as it is read. */
export type JoinGroupResponse = BodyOf<typeof JoinGroupResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const JoinGroup = api(
  { key: 11, name: 'JoinGroup', advertised: '0-9', listeners: ['broker'] },
  JoinGroupRequest,
  JoinGroupResponse,
);
