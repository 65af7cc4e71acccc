/**
 * DescribeTopicPartitions, API key 75.
 *
 * Describes topics a page at a time (KIP-966). Names, types and versions of the fields are those of Apache Kafka
 * 4.4.
 */
import { api } from '../api.ts';
import { array, arrayOf, type BodyOf, boolean, int16, int32, message, string, struct, uuid } from '../schema.ts';

/** The topics, and where to go on. */
export const DescribeTopicPartitionsRequest = message(
  { name: 'DescribeTopicPartitionsRequest', versions: '0', flexible: '0+' },
  {
    topics: array({ name: string() }),
    responsePartitionLimit: int32('0+', { default: 2000 }),
    cursor: struct({ topicName: string(), partitionIndex: int32() }, '0+', { nullable: '0+', default: null }),
  },
);
/** The request as it is read. */
export type DescribeTopicPartitionsRequest = BodyOf<typeof DescribeTopicPartitionsRequest>;

/** One page, and where the next begins. */
export const DescribeTopicPartitionsResponse = message(
  { name: 'DescribeTopicPartitionsResponse', versions: '0', flexible: '0+' },
  {
    throttleTimeMs: int32('0+', { ignorable: true }),
    topics: array({
      errorCode: int16(),
      name: string('0+', { nullable: '0+' }),
      topicId: uuid('0+', { ignorable: true }),
      isInternal: boolean('0+', { default: false, ignorable: true }),
      partitions: array({
        errorCode: int16(),
        partitionIndex: int32(),
        leaderId: int32(),
        leaderEpoch: int32('0+', { default: -1, ignorable: true }),
        replicaNodes: arrayOf(int32()),
        isrNodes: arrayOf(int32()),
        eligibleLeaderReplicas: arrayOf(int32(), '0+', { nullable: '0+', default: null }),
        lastKnownElr: arrayOf(int32(), '0+', { nullable: '0+', default: null }),
        offlineReplicas: arrayOf(int32(), '0+', { ignorable: true }),
      }),
      topicAuthorizedOperations: int32('0+', { default: -2147483648 }),
    }),
    nextCursor: struct({ topicName: string(), partitionIndex: int32() }, '0+', { nullable: '0+', default: null }),
  },
);
/** The response as it is read. */
export type DescribeTopicPartitionsResponse = BodyOf<typeof DescribeTopicPartitionsResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const DescribeTopicPartitions = api(
  { key: 75, name: 'DescribeTopicPartitions', advertised: '0', listeners: ['broker'] },
  DescribeTopicPartitionsRequest,
  DescribeTopicPartitionsResponse,
);
