/**
 * Heartbeat, API key 12.
 *
 * Keeps a member of a classic group alive. Names, types and versions of the fields are those of Apache Kafka
 * 4.4.
 */
import { api } from '../api.ts';
import { type BodyOf, int16, int32, message, string } from '../schema.ts';

/** The member and its generation. */
export const HeartbeatRequest = message(
  { name: 'HeartbeatRequest', versions: '0-4', flexible: '4+' },
  {
    groupId: string(),
    generationId: int32(),
    memberId: string(),
    groupInstanceId: string('3+', { nullable: '3+', default: null }),
  },
);
/** The request as it is read. */
export type HeartbeatRequest = BodyOf<typeof HeartbeatRequest>;

/** Whether the group is being rebalanced. */
export const HeartbeatResponse = message(
  { name: 'HeartbeatResponse', versions: '0-4', flexible: '4+' },
  { throttleTimeMs: int32('1+', { ignorable: true }), errorCode: int16() },
);
/** The response as it is read. */
export type HeartbeatResponse = BodyOf<typeof HeartbeatResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const Heartbeat = api(
  { key: 12, name: 'Heartbeat', advertised: '0-4', listeners: ['broker'] },
  HeartbeatRequest,
  HeartbeatResponse,
);
