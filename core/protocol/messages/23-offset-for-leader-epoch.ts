/**
 * OffsetForLeaderEpoch, API key 23.
 *
 * Asks where a leader epoch ended, which tells a reader where its log parted from the leader's (KIP-320). Names,
 * types and versions of the fields are those of Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, type BodyOf, int16, int32, int64, message, string } from '../schema.ts';

/** The epochs to look up. */
export const OffsetForLeaderEpochRequest = message(
  { name: 'OffsetForLeaderEpochRequest', versions: '2-4', flexible: '4+' },
  {
    /** -1 for a consumer, -2 for a tool. */
    replicaId: int32('3+', { default: -2, ignorable: true }),
    topics: array({
      topic: string(),
      partitions: array({
        partition: int32(),
        currentLeaderEpoch: int32('2+', { default: -1, ignorable: true }),
        leaderEpoch: int32(),
      }),
    }),
  },
);
/** The request as it is read. */
export type OffsetForLeaderEpochRequest = BodyOf<typeof OffsetForLeaderEpochRequest>;

/** Where each ended. */
export const OffsetForLeaderEpochResponse = message(
  { name: 'OffsetForLeaderEpochResponse', versions: '2-4', flexible: '4+' },
  {
    throttleTimeMs: int32('2+', { ignorable: true }),
    topics: array({
      topic: string(),
      partitions: array({
        errorCode: int16(),
        partition: int32(),
        /** The largest epoch that is not larger than the one asked for. */
        leaderEpoch: int32('1+', { default: -1, ignorable: true }),
        /** Where that epoch ended; -1 if unknown. */
        endOffset: int64('0+', { default: -1 }),
      }),
    }),
  },
);
/** The response as it is read. */
export type OffsetForLeaderEpochResponse = BodyOf<typeof OffsetForLeaderEpochResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const OffsetForLeaderEpoch = api(
  { key: 23, name: 'OffsetForLeaderEpoch', advertised: '2-4', listeners: ['broker'] },
  OffsetForLeaderEpochRequest,
  OffsetForLeaderEpochResponse,
);
