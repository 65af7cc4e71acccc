/**
 * ListOffsets, API key 2.
 *
 * Finds offsets by timestamp. Timestamps below zero are special: -1 the end, -2 the start, -3 the largest
 * timestamp, -4 the local start, -5 the end of what is tiered. Names, types and versions of the fields are those
 * of Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, type BodyOf, int8, int16, int32, int64, message, string, timestamp } from '../schema.ts';

/** The timestamps to look for. */
export const ListOffsetsRequest = message(
  { name: 'ListOffsetsRequest', versions: '1-11', flexible: '6+' },
  {
    /** -1 for a client. */
    replicaId: int32(),
    isolationLevel: int8('2+'),
    topics: array({
      name: string(),
      partitions: array({
        partitionIndex: int32(),
        currentLeaderEpoch: int32('4+', { default: -1, ignorable: true }),
        /** Ms since 1970, or one of the special values. */
        timestamp: timestamp(),
      }),
    }),
    /** How long to wait for offsets in remote storage. */
    timeoutMs: int32('10+', { ignorable: true }),
  },
);
/** The request as it is read. */
export type ListOffsetsRequest = BodyOf<typeof ListOffsetsRequest>;

/** The offsets found, or -1. */
export const ListOffsetsResponse = message(
  { name: 'ListOffsetsResponse', versions: '1-11', flexible: '6+' },
  {
    throttleTimeMs: int32('2+', { ignorable: true }),
    topics: array({
      name: string(),
      partitions: array({
        partitionIndex: int32(),
        errorCode: int16(),
        /** Of the record found; -1 if there is none. */
        timestamp: timestamp('1+', { default: -1 }),
        offset: int64('1+', { default: -1 }),
        leaderEpoch: int32('4+', { default: -1 }),
      }),
    }),
  },
);
/** The response as it is read. */
export type ListOffsetsResponse = BodyOf<typeof ListOffsetsResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const ListOffsets = api(
  { key: 2, name: 'ListOffsets', advertised: '1-11', listeners: ['broker'] },
  ListOffsetsRequest,
  ListOffsetsResponse,
);
