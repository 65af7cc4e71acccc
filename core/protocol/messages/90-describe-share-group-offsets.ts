/**
 * DescribeShareGroupOffsets, API key 90.
 *
 * Describes the offsets of share groups. Names, types and versions of the fields are those of Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, arrayOf, type BodyOf, int16, int32, int64, message, string, uuid } from '../schema.ts';

/** The groups and partitions. */
export const DescribeShareGroupOffsetsRequest = message(
  { name: 'DescribeShareGroupOffsetsRequest', versions: '0-1', flexible: '0+' },
  {
    groups: array({
      groupId: string(),
      topics: array({ topicName: string(), partitions: arrayOf(int32()) }, '0+', { nullable: '0+' }),
    }),
  },
);
/** The request as it is read. */
export type DescribeShareGroupOffsetsRequest = BodyOf<typeof DescribeShareGroupOffsetsRequest>;

/** Their start offsets. */
export const DescribeShareGroupOffsetsResponse = message(
  { name: 'DescribeShareGroupOffsetsResponse', versions: '0-1', flexible: '0+' },
  {
    throttleTimeMs: int32(),
    groups: array({
      groupId: string(),
      topics: array({
        topicName: string(),
        topicId: uuid(),
        partitions: array({
          partitionIndex: int32(),
          startOffset: int64(),
          leaderEpoch: int32(),
          lag: int64('1+', { default: -1, ignorable: true }),
          errorCode: int16(),
          errorMessage: string('0+', { nullable: '0+', default: null }),
        }),
      }),
      errorCode: int16(),
      errorMessage: string('0+', { nullable: '0+', default: null }),
    }),
  },
);
/** The response as it is read. */
export type DescribeShareGroupOffsetsResponse = BodyOf<typeof DescribeShareGroupOffsetsResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const DescribeShareGroupOffsets = api(
  { key: 90, name: 'DescribeShareGroupOffsets', advertised: '0-1', listeners: ['broker'] },
  DescribeShareGroupOffsetsRequest,
  DescribeShareGroupOffsetsResponse,
);
