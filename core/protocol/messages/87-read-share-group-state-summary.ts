/**
 * ReadShareGroupStateSummary, API key 87.
 *
 * Reads the start offsets of a share group's partitions. Names, types and versions of the fields are those of
 * Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, type BodyOf, int16, int32, int64, message, string, uuid } from '../schema.ts';

/** The partitions. */
export const ReadShareGroupStateSummaryRequest = message(
  { name: 'ReadShareGroupStateSummaryRequest', versions: '0-1', flexible: '0+' },
  {
    groupId: string(),
    topics: array({ topicId: uuid(), partitions: array({ partition: int32(), leaderEpoch: int32() }) }),
  },
);
/** The request as it is read. */
export type ReadShareGroupStateSummaryRequest = BodyOf<typeof ReadShareGroupStateSummaryRequest>;

/** Their offsets and epochs. */
export const ReadShareGroupStateSummaryResponse = message(
  { name: 'ReadShareGroupStateSummaryResponse', versions: '0-1', flexible: '0+' },
  {
    results: array({
      topicId: uuid(),
      partitions: array({
        partition: int32(),
        errorCode: int16(),
        errorMessage: string('0+', { nullable: '0+', default: null }),
        stateEpoch: int32(),
        leaderEpoch: int32(),
        startOffset: int64(),
        deliveryCompleteCount: int32('1+', { default: -1, ignorable: true }),
      }),
    }),
  },
);
/** The response as it is read. */
export type ReadShareGroupStateSummaryResponse = BodyOf<typeof ReadShareGroupStateSummaryResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const ReadShareGroupStateSummary = api(
  { key: 87, name: 'ReadShareGroupStateSummary', advertised: '0-1', listeners: ['broker'] },
  ReadShareGroupStateSummaryRequest,
  ReadShareGroupStateSummaryResponse,
);
