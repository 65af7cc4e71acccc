/**
 * SyncGroup, API key 14.
 *
 * Hands out the assignment that the leader of a classic group has made. Names, types and versions of the fields
 * are those of Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, type BodyOf, bytes, int16, int32, message, string } from '../schema.ts';

/** The leader's assignment; empty from all others. */
export const SyncGroupRequest = message(
  { name: 'SyncGroupRequest', versions: '0-5', flexible: '4+' },
  {
    groupId: string(),
    generationId: int32(),
    memberId: string(),
    groupInstanceId: string('3+', { nullable: '3+', default: null }),
    protocolType: string('5+', { nullable: '5+', default: null, ignorable: true }),
    protocolName: string('5+', { nullable: '5+', default: null, ignorable: true }),
    assignments: array({ memberId: string(), assignment: bytes() }),
  },
);
/** The request as it is read. */
export type SyncGroupRequest = BodyOf<typeof SyncGroupRequest>;

/** The member's part of it. */
export const SyncGroupResponse = message(
  { name: 'SyncGroupResponse', versions: '0-5', flexible: '4+' },
  {
    throttleTimeMs: int32('1+', { ignorable: true }),
    errorCode: int16(),
    protocolType: string('5+', { nullable: '5+', default: null, ignorable: true }),
    protocolName: string('5+', { nullable: '5+', default: null, ignorable: true }),
    assignment: bytes(),
  },
);
/** The response as it is read. */
export type SyncGroupResponse = BodyOf<typeof SyncGroupResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const SyncGroup = api(
  { key: 14, name: 'SyncGroup', advertised: '0-5', listeners: ['broker'] },
  SyncGroupRequest,
  SyncGroupResponse,
);
