/**
 * DeleteShareGroupState, API key 86.
 *
 * Deletes the state of a share group's partitions. Names, types and versions of the fields are those of Apache
 * Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, type BodyOf, int16, int32, message, string, uuid } from '../schema.ts';

/** The partitions. */
export const DeleteShareGroupStateRequest = message(
  { name: 'DeleteShareGroupStateRequest', versions: '0', flexible: '0+' },
  { groupId: string(), topics: array({ topicId: uuid(), partitions: array({ partition: int32() }) }) },
);
/** The request as it is read. */
export type DeleteShareGroupStateRequest = BodyOf<typeof DeleteShareGroupStateRequest>;

/** One error code a partition. */
export const DeleteShareGroupStateResponse = message(
  { name: 'DeleteShareGroupStateResponse', versions: '0', flexible: '0+' },
  {
    results: array({
      topicId: uuid(),
      partitions: array({
        partition: int32(),
        errorCode: int16(),
        errorMessage: string('0+', { nullable: '0+', default: null }),
      }),
    }),
  },
);
/** The response as it is read. */
export type DeleteShareGroupStateResponse = BodyOf<typeof DeleteShareGroupStateResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const DeleteShareGroupState = api(
  { key: 86, name: 'DeleteShareGroupState', advertised: '0', listeners: ['broker'] },
  DeleteShareGroupStateRequest,
  DeleteShareGroupStateResponse,
);
