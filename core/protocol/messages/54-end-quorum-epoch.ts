/**
 * EndQuorumEpoch, API key 54.
 *
 * Tells voters of the metadata quorum that the leader steps down. Names, types and versions of the fields are
 * those of Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, arrayOf, type BodyOf, int16, int32, message, string, uint16, uuid } from '../schema.ts';

/** The epoch that ends and who should go first. */
export const EndQuorumEpochRequest = message(
  { name: 'EndQuorumEpochRequest', versions: '0-1', flexible: '1+' },
  {
    clusterId: string('0+', { nullable: '0+', default: null }),
    topics: array({
      topicName: string(),
      partitions: array({
        partitionIndex: int32(),
        leaderId: int32(),
        leaderEpoch: int32(),
        preferredSuccessors: arrayOf(int32(), '0', { ignorable: true }),
        preferredCandidates: array({ candidateId: int32('1+'), candidateDirectoryId: uuid('1+') }, '1+', {
          ignorable: true,
        }),
      }),
    }),
    leaderEndpoints: array({ name: string('1+'), host: string('1+'), port: uint16('1+') }, '1+', { ignorable: true }),
  },
);
/** The request as it is read. */
export type EndQuorumEpochRequest = BodyOf<typeof EndQuorumEpochRequest>;

/** The voter's view of the leader. */
export const EndQuorumEpochResponse = message(
  { name: 'EndQuorumEpochResponse', versions: '0-1', flexible: '1+' },
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
export type EndQuorumEpochResponse = BodyOf<typeof EndQuorumEpochResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const EndQuorumEpoch = api(
  { key: 54, name: 'EndQuorumEpoch', advertised: '0-1', listeners: ['controller'] },
  EndQuorumEpochRequest,
  EndQuorumEpochResponse,
);
