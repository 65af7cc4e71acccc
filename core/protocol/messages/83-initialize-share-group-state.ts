/**
 * InitializeShareGroupState, API key 83.
 *
 * Initializes the state of a share group's partitions. Names, types and versions of the fields are those of
 * Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, type BodyOf, int16, int32, int64, message, string, uuid } from '../schema.ts';

/** The partitions. */
export const InitializeShareGroupStateRequest = message(
  { name: 'InitializeShareGroupStateRequest', versions: '0', flexible: '0+' },
  {
    groupId: string(),
    topics: array({
      topicId: uuid(),
      partitions: array({ partition: int32(), stateEpoch: int32(), startOffset: int64() }),
    }),
  },
);
/** The request as it is read. */
export type InitializeShareGroupStateRequest = BodyOf<typeof InitializeShareGroupStateRequest>;

/** One error code a partition. */
export const InitializeShareGroupStateResponse = message(
  { name: 'InitializeShareGroupStateResponse', versions: '0', flexible: '0+' },
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
export type InitializeShareGroupStateResponse = BodyOf<typeof InitializeShareGroupStateResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const InitializeShareGroupState = api(
  { key: 83, name: 'InitializeShareGroupState', advertised: '0', listeners: ['broker'] },
  InitializeShareGroupStateRequest,
  InitializeShareGroupStateResponse,
);
