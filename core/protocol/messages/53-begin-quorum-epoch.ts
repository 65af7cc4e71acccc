/**
 * BeginQuorumEpoch, API key 53.
 *
 * Tells voters of the metadata quorum that a leader has been elected. Names, types and versions of the fields
 * are those of Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, type BodyOf, int16, int32, message, string, uint16, uuid } from '../schema.ts';

/** The leader and its epoch. */
export const BeginQuorumEpochRequest = message(
  { name: 'BeginQuorumEpochRequest', versions: '0-1', flexible: '1+' },
  {
    clusterId: string('0+', { nullable: '0+', default: null }),
    voterId: int32('1+', { default: -1, ignorable: true }),
    topics: array({
      topicName: string(),
      partitions: array({
        partitionIndex: int32(),
        voterDirectoryId: uuid('1+', { ignorable: true }),
        leaderId: int32(),
        leaderEpoch: int32(),
      }),
    }),
    leaderEndpoints: array({ name: string('1+'), host: string('1+'), port: uint16('1+') }, '1+', { ignorable: true }),
  },
);
/** The request as it is read. */
export type BeginQuorumEpochRequest = BodyOf<typeof BeginQuorumEpochRequest>;

/** The voter's view of the leader. */
export const BeginQuorumEpochResponse = message(
  { name: 'BeginQuorumEpochResponse', versions: '0-1', flexible: '1+' },
  {
    errorCode: int16(),
    topics: array({
      topicName: string(),
      partitions: array({ partitionIndex: int32(), errorCode: int16(), leaderId: int32(), leaderEpoch: int32() }),
    }),
    nodeEndpoints: array({ nodeId: int32('1+'), host: string('1+'), port: uint16('1+') }, '1+', { tag: 0 }),
  },
);
/** The response as it is read. */
export type BeginQuorumEpochResponse = BodyOf<typeof BeginQuorumEpochResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const BeginQuorumEpoch = api(
  { key: 53, name: 'BeginQuorumEpoch', advertised: '0-1', listeners: ['controller'] },
  BeginQuorumEpochRequest,
  BeginQuorumEpochResponse,
);
