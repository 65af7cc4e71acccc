/**
 * WriteShareGroupState, API key 85.
 *
 * Writes the state of a share group's partitions. Names, types and versions of the fields are those of Apache
 * Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, type BodyOf, int8, int16, int32, int64, message, string, uuid } from '../schema.ts';

/** The changes. */
export const WriteShareGroupStateRequest = message(
  { name: 'WriteShareGroupStateRequest', versions: '0-1', flexible: '0+' },
  {
    groupId: string(),
    topics: array({
      topicId: uuid(),
      partitions: array({
        partition: int32(),
        stateEpoch: int32(),
        leaderEpoch: int32(),
        startOffset: int64(),
        deliveryCompleteCount: int32('1+', { default: -1, ignorable: true }),
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
/** The request as it is read. */
export type WriteShareGroupStateRequest = BodyOf<typeof WriteShareGroupStateRequest>;

/** One error code a partition. */
export const WriteShareGroupStateResponse = message(
  { name: 'WriteShareGroupStateResponse', versions: '0-1', flexible: '0+' },
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
export type WriteShareGroupStateResponse = BodyOf<typeof WriteShareGroupStateResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const WriteShareGroupState = api(
  { key: 85, name: 'WriteShareGroupState', advertised: '0-1', listeners: ['broker'] },
  WriteShareGroupStateRequest,
  WriteShareGroupStateResponse,
);
