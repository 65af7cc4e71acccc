/**
 * DescribeTransactions, API key 65.
 *
 * Describes transactions. Names, types and versions of the fields are those of Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, arrayOf, type BodyOf, int16, int32, int64, message, string, timestamp } from '../schema.ts';

/** The transactional ids. */
export const DescribeTransactionsRequest = message(
  { name: 'DescribeTransactionsRequest', versions: '0', flexible: '0+' },
  { transactionalIds: arrayOf(string()) },
);
/** The request as it is read. */
export type DescribeTransactionsRequest = BodyOf<typeof DescribeTransactionsRequest>;

/** Their state and partitions. */
export const DescribeTransactionsResponse = message(
  { name: 'DescribeTransactionsResponse', versions: '0', flexible: '0+' },
  {
    throttleTimeMs: int32(),
    transactionStates: array({
      errorCode: int16(),
      transactionalId: string(),
      transactionState: string(),
      transactionTimeoutMs: int32(),
      transactionStartTimeMs: timestamp(),
      producerId: int64(),
      producerEpoch: int16(),
      topics: array({ topic: string(), partitions: arrayOf(int32()) }),
    }),
  },
);
/** The response as it is read. */
export type DescribeTransactionsResponse = BodyOf<typeof DescribeTransactionsResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const DescribeTransactions = api(
  { key: 65, name: 'DescribeTransactions', advertised: '0', listeners: ['broker'] },
  DescribeTransactionsRequest,
  DescribeTransactionsResponse,
);
