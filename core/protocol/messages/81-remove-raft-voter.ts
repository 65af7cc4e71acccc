/**
 * RemoveRaftVoter, API key 81.
 *
 * Removes a voter from the metadata quorum. Names, types and versions of the fields are those of Apache Kafka
 * 4.4.
 */
import { api } from '../api.ts';
import { type BodyOf, int16, int32, message, string, uuid } from '../schema.ts';

/** The voter. */
export const RemoveRaftVoterRequest = message(
  { name: 'RemoveRaftVoterRequest', versions: '0', flexible: '0+' },
  { clusterId: string('0+', { nullable: '0+' }), voterId: int32(), voterDirectoryId: uuid() },
);
/** The request as it is read. */
export type RemoveRaftVoterRequest = BodyOf<typeof RemoveRaftVoterRequest>;

/** The outcome. */
export const RemoveRaftVoterResponse = message(
  { name: 'RemoveRaftVoterResponse', versions: '0', flexible: '0+' },
  { throttleTimeMs: int32(), errorCode: int16(), errorMessage: string('0+', { nullable: '0+', ignorable: true }) },
);
/** The response as it is read. */
export type RemoveRaftVoterResponse = BodyOf<typeof RemoveRaftVoterResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const RemoveRaftVoter = api(
  { key: 81, name: 'RemoveRaftVoter', advertised: '0', listeners: ['broker', 'controller'] },
  RemoveRaftVoterRequest,
  RemoveRaftVoterResponse,
);
