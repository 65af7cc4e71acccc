/**
 * OffsetCommit, API key 8.
 *
 * Stores the offsets up to which a group has read. Names, types and versions of the fields are those of Apache
 * Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, type BodyOf, int16, int32, int64, message, string, timestamp, uuid } from '../schema.ts';

/** Offsets to store. */
export const OffsetCommitRequest = message(
  { name: 'OffsetCommitRequest', versions: '2-10', flexible: '8+' },
  {
    groupId: string(),
    generationIdOrMemberEpoch: int32('1+', { default: -1, ignorable: true }),
    memberId: string('1+', { ignorable: true }),
    groupInstanceId: string('7+', { nullable: '7+', default: null }),
    retentionTimeMs: timestamp('2-4', { default: -1, ignorable: true }),
    topics: array({
      name: string('0-9', { ignorable: true }),
      topicId: uuid('10+', { ignorable: true }),
      partitions: array({
        partitionIndex: int32(),
        committedOffset: int64(),
        committedLeaderEpoch: int32('6+', { default: -1, ignorable: true }),
        committedMetadata: string('0+', { nullable: '0+' }),
      }),
    }),
  },
);
/** The request as it is read. */
export type OffsetCommitRequest = BodyOf<typeof OffsetCommitRequest>;

/** One error code a partition. */
export const OffsetCommitResponse = message(
  { name: 'OffsetCommitResponse', versions: '2-10', flexible: '8+' },
  {
    throttleTimeMs: int32('3+', { ignorable: true }),
    topics: array({
      name: string('0-9', { ignorable: true }),
      topicId: uuid('10+', { ignorable: true }),
      partitions: array({ partitionIndex: int32(), errorCode: int16() }),
    }),
  },
);
/** The response as it is read. */
export type OffsetCommitResponse = BodyOf<typeof OffsetCommitResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const OffsetCommit = api(
  { key: 8, name: 'OffsetCommit', advertised: '2-10', listeners: ['broker'] },
  OffsetCommitRequest,
  OffsetCommitResponse,
);
