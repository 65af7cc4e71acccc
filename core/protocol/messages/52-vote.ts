/**
 * Vote, API key 52.
 *
 * Asks a voter of the metadata quorum for its vote; from version 2 also for a pre-vote (KIP-996). Names, types
 * and versions of the fields are those of Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, type BodyOf, boolean, int16, int32, int64, message, string, uint16, uuid } from '../schema.ts';

/** The candidate and the end of its log. */
export const VoteRequest = message(
  { name: 'VoteRequest', versions: '0-2', flexible: '0+' },
  {
    clusterId: string('0+', { nullable: '0+', default: null }),
    voterId: int32('1+', { default: -1, ignorable: true }),
    topics: array({
      topicName: string(),
      partitions: array({
        partitionIndex: int32(),
        replicaEpoch: int32(),
        replicaId: int32(),
        replicaDirectoryId: uuid('1+', { ignorable: true }),
        voterDirectoryId: uuid('1+', { ignorable: true }),
        lastOffsetEpoch: int32(),
        lastOffset: int64(),
        preVote: boolean('2+'),
      }),
    }),
  },
);
/** The request as it is read. */
export type VoteRequest = BodyOf<typeof VoteRequest>;

/** Whether the vote was granted. */
export const VoteResponse = message(
  { name: 'VoteResponse', versions: '0-2', flexible: '0+' },
  {
    errorCode: int16(),
    topics: array({
      topicName: string(),
      partitions: array({
        partitionIndex: int32(),
        errorCode: int16(),
        leaderId: int32(),
        leaderEpoch: int32(),
        voteGranted: boolean(),
      }),
    }),
    nodeEndpoints: array({ nodeId: int32('1+'), host: string('1+'), port: uint16('1+') }, '1+', { tag: 0 }),
  },
);
/** The response as it is read. */
export type VoteResponse = BodyOf<typeof VoteResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const Vote = api(
  { key: 52, name: 'Vote', advertised: '0-2', listeners: ['controller'] },
  VoteRequest,
  VoteResponse,
);
