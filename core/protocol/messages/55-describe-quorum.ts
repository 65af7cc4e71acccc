/**
 * DescribeQuorum, API key 55.
 *
 * Describes the metadata quorum. Names, types and versions of the fields are those of Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, type BodyOf, int16, int32, int64, message, string, timestamp, uint16, uuid } from '../schema.ts';

/** The partition of the quorum. */
export const DescribeQuorumRequest = message(
  { name: 'DescribeQuorumRequest', versions: '0-2', flexible: '0+' },
  { topics: array({ topicName: string(), partitions: array({ partitionIndex: int32() }) }) },
);
/** The request as it is read. */
export type DescribeQuorumRequest = BodyOf<typeof DescribeQuorumRequest>;

const responseReplicaState = {
  replicaId: int32(),
  replicaDirectoryId: uuid('2+'),
  logEndOffset: int64(),
  lastFetchTimestamp: timestamp('1+', { default: -1, ignorable: true }),
  lastCaughtUpTimestamp: timestamp('1+', { default: -1, ignorable: true }),
};

/** Voters, observers and how far each has come. */
export const DescribeQuorumResponse = message(
  { name: 'DescribeQuorumResponse', versions: '0-2', flexible: '0+' },
  {
    errorCode: int16(),
    errorMessage: string('2+', { nullable: '2+', ignorable: true }),
    topics: array({
      topicName: string(),
      partitions: array({
        partitionIndex: int32(),
        errorCode: int16(),
        errorMessage: string('2+', { nullable: '2+', ignorable: true }),
        leaderId: int32(),
        leaderEpoch: int32(),
        highWatermark: int64(),
        currentVoters: array(responseReplicaState),
        observers: array(responseReplicaState),
      }),
    }),
    nodes: array(
      { nodeId: int32('2+'), listeners: array({ name: string('2+'), host: string('2+'), port: uint16('2+') }, '2+') },
      '2+',
    ),
  },
);
/** The response as it is read. */
export type DescribeQuorumResponse = BodyOf<typeof DescribeQuorumResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const DescribeQuorum = api(
  { key: 55, name: 'DescribeQuorum', advertised: '0-2', listeners: ['broker', 'controller'] },
  DescribeQuorumRequest,
  DescribeQuorumResponse,
);
