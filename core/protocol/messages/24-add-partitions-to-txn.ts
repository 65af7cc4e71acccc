/**
 * AddPartitionsToTxn, API key 24.
 *
 * Adds partitions to a transaction. From version 4 brokers send it in bulk. Names, types and versions of the
 * fields are those of Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, arrayOf, type BodyOf, boolean, int16, int32, int64, message, string } from '../schema.ts';

const requestAddPartitionsToTxnTopic = { name: string(), partitions: arrayOf(int32()) };

/** The partitions to add. */
export const AddPartitionsToTxnRequest = message(
  { name: 'AddPartitionsToTxnRequest', versions: '0-5', flexible: '3+' },
  {
    transactions: array(
      {
        transactionalId: string('4+'),
        producerId: int64('4+'),
        producerEpoch: int16('4+'),
        verifyOnly: boolean('4+', { default: false }),
        topics: array(requestAddPartitionsToTxnTopic, '4+'),
      },
      '4+',
    ),
    v3AndBelowTransactionalId: string('0-3'),
    v3AndBelowProducerId: int64('0-3'),
    v3AndBelowProducerEpoch: int16('0-3'),
    v3AndBelowTopics: array(requestAddPartitionsToTxnTopic, '0-3'),
  },
);
/** The request as it is read. */
export type AddPartitionsToTxnRequest = BodyOf<typeof AddPartitionsToTxnRequest>;

const responseAddPartitionsToTxnPartitionResult = { partitionIndex: int32(), partitionErrorCode: int16() };

const responseAddPartitionsToTxnTopicResult = {
  name: string(),
  resultsByPartition: array(responseAddPartitionsToTxnPartitionResult),
};

/** One error code a partition. */
export const AddPartitionsToTxnResponse = message(
  { name: 'AddPartitionsToTxnResponse', versions: '0-5', flexible: '3+' },
  {
    throttleTimeMs: int32(),
    errorCode: int16('4+', { ignorable: true }),
    resultsByTransaction: array(
      { transactionalId: string('4+'), topicResults: array(responseAddPartitionsToTxnTopicResult, '4+') },
      '4+',
    ),
    resultsByTopicV3AndBelow: array(responseAddPartitionsToTxnTopicResult, '0-3'),
  },
);
/** The response as it is read. */
export type AddPartitionsToTxnResponse = BodyOf<typeof AddPartitionsToTxnResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const AddPartitionsToTxn = api(
  { key: 24, name: 'AddPartitionsToTxn', advertised: '0-5', listeners: ['broker'] },
  AddPartitionsToTxnRequest,
  AddPartitionsToTxnResponse,
);
