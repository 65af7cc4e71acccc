/**
 * WriteTxnMarkers, API key 27.
 *
 * Tells brokers to write the markers that end transactions. Sent by transaction coordinators. Names, types and
 * versions of the fields are those of Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, arrayOf, type BodyOf, boolean, int8, int16, int32, int64, message, string } from '../schema.ts';

/** The markers to write. */
export const WriteTxnMarkersRequest = message(
  { name: 'WriteTxnMarkersRequest', versions: '1-2', flexible: '1+' },
  {
    markers: array({
      producerId: int64(),
      producerEpoch: int16(),
      transactionResult: boolean(),
      topics: array({ name: string(), partitionIndexes: arrayOf(int32()) }),
      coordinatorEpoch: int32(),
      transactionVersion: int8('2+', { default: 0, ignorable: true }),
    }),
  },
);
/** The request as it is read. */
export type WriteTxnMarkersRequest = BodyOf<typeof WriteTxnMarkersRequest>;

/** One error code a partition. */
export const WriteTxnMarkersResponse = message(
  { name: 'WriteTxnMarkersResponse', versions: '1-2', flexible: '1+' },
  {
    markers: array({
      producerId: int64(),
      topics: array({ name: string(), partitions: array({ partitionIndex: int32(), errorCode: int16() }) }),
    }),
  },
);
/** The response as it is read. */
export type WriteTxnMarkersResponse = BodyOf<typeof WriteTxnMarkersResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const WriteTxnMarkers = api(
  { key: 27, name: 'WriteTxnMarkers', advertised: '1-2', listeners: ['broker'] },
  WriteTxnMarkersRequest,
  WriteTxnMarkersResponse,
);
