/**
 * DescribeProducers, API key 61.
 *
 * Describes the producers that write to partitions. Names, types and versions of the fields are those of Apache
 * Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, arrayOf, type BodyOf, int16, int32, int64, message, string, timestamp } from '../schema.ts';

/** The partitions. */
export const DescribeProducersRequest = message(
  { name: 'DescribeProducersRequest', versions: '0', flexible: '0+' },
  { topics: array({ name: string(), partitionIndexes: arrayOf(int32()) }) },
);
/** The request as it is read. */
export type DescribeProducersRequest = BodyOf<typeof DescribeProducersRequest>;

/** The producers and their last sequences. */
export const DescribeProducersResponse = message(
  { name: 'DescribeProducersResponse', versions: '0', flexible: '0+' },
  {
    throttleTimeMs: int32(),
    topics: array({
      name: string(),
      partitions: array({
        partitionIndex: int32(),
        errorCode: int16(),
        errorMessage: string('0+', { nullable: '0+', default: null }),
        activeProducers: array({
          producerId: int64(),
          producerEpoch: int32(),
          lastSequence: int32('0+', { default: -1 }),
          lastTimestamp: timestamp('0+', { default: -1 }),
          coordinatorEpoch: int32(),
          currentTxnStartOffset: int64('0+', { default: -1 }),
        }),
      }),
    }),
  },
);
/** The response as it is read. */
export type DescribeProducersResponse = BodyOf<typeof DescribeProducersResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const DescribeProducers = api(
  { key: 61, name: 'DescribeProducers', advertised: '0', listeners: ['broker'] },
  DescribeProducersRequest,
  DescribeProducersResponse,
);
