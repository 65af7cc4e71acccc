/**
 * DeleteShareGroupOffsets, API key 92.
 *
 * Deletes the offsets of a share group. Names, types and versions of the fields are those of Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, type BodyOf, int16, int32, message, string, uuid } from '../schema.ts';

/** The topics. */
export const DeleteShareGroupOffsetsRequest = message(
  { name: 'DeleteShareGroupOffsetsRequest', versions: '0', flexible: '0+' },
  { groupId: string(), topics: array({ topicName: string() }) },
);
/** The request as it is read. */
export type DeleteShareGroupOffsetsRequest = BodyOf<typeof DeleteShareGroupOffsetsRequest>;

/** One error code a topic. */
export const DeleteShareGroupOffsetsResponse = message(
  { name: 'DeleteShareGroupOffsetsResponse', versions: '0', flexible: '0+' },
  {
    throttleTimeMs: int32(),
    errorCode: int16(),
    errorMessage: string('0+', { nullable: '0+', default: null }),
    responses: array({
      topicName: string(),
      topicId: uuid(),
      errorCode: int16(),
      errorMessage: string('0+', { nullable: '0+', default: null }),
    }),
  },
);
/** The response as it is read. */
export type DeleteShareGroupOffsetsResponse = BodyOf<typeof DeleteShareGroupOffsetsResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const DeleteShareGroupOffsets = api(
  { key: 92, name: 'DeleteShareGroupOffsets', advertised: '0', listeners: ['broker'] },
  DeleteShareGroupOffsetsRequest,
  DeleteShareGroupOffsetsResponse,
);
