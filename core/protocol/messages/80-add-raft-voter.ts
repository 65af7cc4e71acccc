/**
 * AddRaftVoter, API key 80.
 *
 * Adds a voter to the metadata quorum. Names, types and versions of the fields are those of Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, type BodyOf, boolean, int16, int32, message, string, uint16, uuid } from '../schema.ts';

/** The voter and its listeners. */
export const AddRaftVoterRequest = message(
  { name: 'AddRaftVoterRequest', versions: '0-1', flexible: '0+' },
  {
    clusterId: string('0+', { nullable: '0+' }),
    timeoutMs: int32(),
    voterId: int32(),
    voterDirectoryId: uuid(),
    listeners: array({ name: string(), host: string(), port: uint16() }),
    ackWhenCommitted: boolean('1+', { default: true }),
  },
);
/** The request as it is read. */
export type AddRaftVoterRequest = BodyOf<typeof AddRaftVoterRequest>;

/** The outcome. */
export const AddRaftVoterResponse = message(
  { name: 'AddRaftVoterResponse', versions: '0-1', flexible: '0+' },
  { throttleTimeMs: int32(), errorCode: int16(), errorMessage: string('0+', { nullable: '0+', ignorable: true }) },
);
/** The response as it is read. */
export type AddRaftVoterResponse = BodyOf<typeof AddRaftVoterResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const AddRaftVoter = api(
  { key: 80, name: 'AddRaftVoter', advertised: '0-1', listeners: ['broker', 'controller'] },
  AddRaftVoterRequest,
  AddRaftVoterResponse,
);
