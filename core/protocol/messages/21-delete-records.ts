/**
 * DeleteRecords, API key 21.
 *
 * Moves the start of partitions forward. Names, types and versions of the fields are those of Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, type BodyOf, int16, int32, int64, message, string } from '../schema.ts';

/** The offsets below which records go. */
export const DeleteRecordsRequest = message(
  { name: 'DeleteRecordsRequest', versions: '0-2', flexible: '2+' },
  {
    topics: array({ name: string(), partitions: array({ partitionIndex: int32(), offset: int64() }) }),
    timeoutMs: int32(),
  },
);
/** The request as it is read. */
export type DeleteRecordsRequest = BodyOf<typeof DeleteRecordsRequest>;

/** The new start of each partition. */
export const DeleteRecordsResponse = message(
  { name: 'DeleteRecordsResponse', versions: '0-2', flexible: '2+' },
  {
    throttleTimeMs: int32(),
    topics: array({
      name: string(),
      partitions: array({ partitionIndex: int32(), lowWatermark: int64(), errorCode: int16() }),
    }),
  },
);
/** The response as it is read. */
export type DeleteRecordsResponse = BodyOf<typeof DeleteRecordsResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const DeleteRecords = api(
  { key: 21, name: 'DeleteRecords', advertised: '0-2', listeners: ['broker'] },
  DeleteRecordsRequest,
  DeleteRecordsResponse,
);
