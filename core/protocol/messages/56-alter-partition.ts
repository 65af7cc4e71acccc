/**
 * AlterPartition, API key 56.
 *
 * Changes the in-sync set of partitions. Sent by leaders to the controller. Names, types and versions of the
 * fields are those of Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, arrayOf, type BodyOf, int8, int16, int32, int64, message, uuid } from '../schema.ts';

/** The new in-sync sets. */
export const AlterPartitionRequest = message(
  { name: 'AlterPartitionRequest', versions: '2-3', flexible: '0+' },
  {
    brokerId: int32(),
    brokerEpoch: int64('0+', { default: -1 }),
    topics: array({
      topicId: uuid('2+', { ignorable: true }),
      partitions: array({
        partitionIndex: int32(),
        leaderEpoch: int32(),
        newIsr: arrayOf(int32(), '0-2'),
        newIsrWithEpochs: array({ brokerId: int32('3+'), brokerEpoch: int64('3+', { default: -1 }) }, '3+'),
        leaderRecoveryState: int8('1+', { default: 0 }),
        partitionEpoch: int32(),
      }),
    }),
  },
);
/** The request as it is read. */
export type AlterPartitionRequest = BodyOf<typeof AlterPartitionRequest>;

/** The state of each partition after the change. */
export const AlterPartitionResponse = message(
  { name: 'AlterPartitionResponse', versions: '2-3', flexible: '0+' },
  {
    throttleTimeMs: int32(),
    errorCode: int16(),
    topics: array({
      topicId: uuid('2+', { ignorable: true }),
      partitions: array({
        partitionIndex: int32(),
        errorCode: int16(),
        leaderId: int32(),
        leaderEpoch: int32(),
        isr: arrayOf(int32()),
        leaderRecoveryState: int8('1+', { default: 0, ignorable: true }),
        partitionEpoch: int32(),
      }),
    }),
  },
);
/** The response as it is read. */
export type AlterPartitionResponse = BodyOf<typeof AlterPartitionResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const AlterPartition = api(
  { key: 56, name: 'AlterPartition', advertised: '2-3', listeners: ['controller'] },
  AlterPartitionRequest,
  AlterPartitionResponse,
);
