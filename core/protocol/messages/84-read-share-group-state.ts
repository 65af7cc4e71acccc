/**
 * ReadShareGroupState, API key 84.
 *
 * Reads the state of a share group's partitions. Names, types and versions of the fields are those of Apache
 * Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, type BodyOf, int8, int16, int32, int64, message, string, uuid } from '../schema.ts';

/** The partitions. */
export const ReadShareGroupStateRequest = message(
  { name: 'ReadShareGroupStateRequest', versions: '0', flexible: '0+' },
  {
    groupId: string(),
    topics: array({ topicId: uuid(), partitions: array({ partition: int32(), leaderEpoch: int32() }) }),
  },
);
/** The request as it is read. */
export type ReadShareGroupStateRequest = BodyOf<typeof ReadShareGroupStateRequest>;

/** Their state. */
export const ReadShareGroupStateResponse = message(
  { name: 'ReadShareGroupStateResponse', versions: '0', flexible: '0+' },
  {
    results: array({
      topicId: uuid(),
      partitions: array({
        partition: int32(),
        errorCode: int16(),
        errorMessage: string('0+', { nullable: '0+', default: null }),
        stateEpoch: int32(),
        startOffset: int64(),
        stateBatches: array({
          firstOffset: int64(),
          lastOffset: int64(),
          deliveryState: int8(),
          deliveryCount: int16(),
        }),
      }),
    }),
  },
);
/** The response as it is read. */
export type ReadShareGroupStateResponse = BodyOf<typeof ReadShareGroupStateResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const ReadShareGroupState = api(
  { key: 84, name: 'ReadShareGroupState', advertised: '0', listeners: ['broker'] },
  ReadShareGroupStateRequest,
  ReadShareGroupStateResponse,
);
