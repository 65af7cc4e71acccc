/**
 * TxnOffsetCommit, API key 28.
 *
 * Stores offsets of a group as part of a transaction. Names, types and versions of the fields are those of
 * Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, type BodyOf, int16, int32, int64, message, string, uuid } from '../schema.ts';

/** Offsets to store. */
export const TxnOffsetCommitRequest = message(
  { name: 'TxnOffsetCommitRequest', versions: '0-6', flexible: '3+' },
  {
    transactionalId: string(),
    groupId: string(),
    producerId: int64(),
    producerEpoch: int16(),
    generationIdOrMemberEpoch: int32('3+', { default: -1 }),
    memberId: string('3+', { default: '' }),
    groupInstanceId: string('3+', { nullable: '3+', default: null }),
    topics: array({
      name: string('0-5', { ignorable: true }),
      topicId: uuid('6+', { ignorable: true }),
      partitions: array({
        partitionIndex: int32(),
        committedOffset: int64(),
        committedLeaderEpoch: int32('2+', { default: -1, ignorable: true }),
        committedMetadata: string('0+', { nullable: '0+' }),
      }),
    }),
  },
);
/** The request as it is read. */
export type TxnOffsetCommitRequest = BodyOf<typeof TxnOffsetCommitRequest>;

/** One error code a partition. */
export const TxnOffsetCommitResponse = message(
  { name: 'TxnOffsetCommitResponse', versions: '0-6', flexible: '3+' },
  {
    throttleTimeMs: int32(),
    topics: array({
      name: string('0-5', { ignorable: true }),
      topicId: uuid('6+', { ignorable: true }),
      partitions: array({ partitionIndex: int32(), errorCode: int16() }),
    }),
  },
);
/** The response as it is read. */
export type TxnOffsetCommitResponse = BodyOf<typeof TxnOffsetCommitResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const TxnOffsetCommit = api(
  { key: 28, name: 'TxnOffsetCommit', advertised: '0-6', listeners: ['broker'] },
  TxnOffsetCommitRequest,
  TxnOffsetCommitResponse,
);
