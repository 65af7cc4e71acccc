/**
 * UpdateRaftVoter, API key 82.
 *
 * Updates the listeners and versions of a voter of the metadata quorum. Names, types and versions of the fields
 * are those of Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, type BodyOf, int16, int32, message, string, struct, uint16, uuid } from '../schema.ts';

/** The voter. */
export const UpdateRaftVoterRequest = message(
  { name: 'UpdateRaftVoterRequest', versions: '0', flexible: '0+' },
  {
    clusterId: string('0+', { nullable: '0+' }),
    currentLeaderEpoch: int32(),
    voterId: int32(),
    voterDirectoryId: uuid(),
    listeners: array({ name: string(), host: string(), port: uint16() }),
    kRaftVersionFeature: struct({ minSupportedVersion: int16(), maxSupportedVersion: int16() }),
  },
);
/** The request as it is read. */
export type UpdateRaftVoterRequest = BodyOf<typeof UpdateRaftVoterRequest>;

/** The outcome and the current leader. */
export const UpdateRaftVoterResponse = message(
  { name: 'UpdateRaftVoterResponse', versions: '0', flexible: '0+' },
  {
    throttleTimeMs: int32(),
    errorCode: int16(),
    currentLeader: struct(
      {
        leaderId: int32('0+', { default: -1 }),
        leaderEpoch: int32('0+', { default: -1 }),
        host: string(),
        port: int32(),
      },
      '0+',
      { tag: 0 },
    ),
  },
);
/** The response as it is read. */
export type UpdateRaftVoterResponse = BodyOf<typeof UpdateRaftVoterResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const UpdateRaftVoter = api(
  { key: 82, name: 'UpdateRaftVoter', advertised: '0', listeners: ['controller'] },
  UpdateRaftVoterRequest,
  UpdateRaftVoterResponse,
);
