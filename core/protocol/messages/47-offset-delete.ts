/**
 * OffsetDelete, API key 47.
 *
 * Deletes stored offsets of a group. Names, types and versions of the fields are those of Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, type BodyOf, int16, int32, message, string } from '../schema.ts';

/** The partitions whose offsets go. */
export const OffsetDeleteRequest = message(
  { name: 'OffsetDeleteRequest', versions: '0', flexible: 'none' },
  { groupId: string(), topics: array({ name: string(), partitions: array({ partitionIndex: int32() }) }) },
);
/** The request as it is read. */
export type OffsetDeleteRequest = BodyOf<typeof OffsetDeleteRequest>;

/** One error code a partition. */
export const OffsetDeleteResponse = message(
  { name: 'OffsetDeleteResponse', versions: '0', flexible: 'none' },
  {
    errorCode: int16(),
    throttleTimeMs: int32('0+', { ignorable: true }),
    topics: array({ name: string(), partitions: array({ partitionIndex: int32(), errorCode: int16() }) }),
  },
);
/** The response as it is read. */
export type OffsetDeleteResponse = BodyOf<typeof OffsetDeleteResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const OffsetDelete = api(
  { key: 47, name: 'OffsetDelete', advertised: '0', listeners: ['broker'] },
  OffsetDeleteRequest,
  OffsetDeleteResponse,
);
