/**
 * AlterShareGroupOffsets, API key 91.
 *
 * Changes the start offsets of a share group. Names, types and versions of the fields are those of Apache Kafka
 * 4.4.
 */
import { api } from '../api.ts';
import { array, type BodyOf, int16, int32, int64, message, string, uuid } from '../schema.ts';

/** The offsets. */
export const AlterShareGroupOffsetsRequest = message(
  { name: 'AlterShareGroupOffsetsRequest', versions: '0', flexible: '0+' },
  {
    groupId: string(),
    topics: array({ topicName: string(), partitions: array({ partitionIndex: int32(), startOffset: int64() }) }),
  },
);
/** The request as it is read. */
export type AlterShareGroupOffsetsRequest = BodyOf<typeof AlterShareGroupOffsetsRequest>;

/** One error code a partition. */
export const AlterShareGroupOffsetsResponse = message(
  { name: 'AlterShareGroupOffsetsResponse', versions: '0', flexible: '0+' },
  {
    throttleTimeMs: int32(),
    errorCode: int16(),
    errorMessage: string('0+', { nullable: '0+', default: null }),
    responses: array({
      topicName: string(),
      topicId: uuid(),
      partitions: array({
        partitionIndex: int32(),
        errorCode: int16(),
        errorMessage: string('0+', { nullable: '0+', default: null }),
      }),
    }),
  },
);
/** The response as it is read. */
export type AlterShareGroupOffsetsResponse = BodyOf<typeof AlterShareGroupOffsetsResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const AlterShareGroupOffsets = api(
  { key: 91, name: 'AlterShareGroupOffsets', advertised: '0', listeners: ['broker'] },
  AlterShareGroupOffsetsRequest,
  AlterShareGroupOffsetsResponse,
);
