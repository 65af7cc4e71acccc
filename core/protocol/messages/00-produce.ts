/**
 * Produce, API key 0.
 *
 * Appends batches to partitions. From version 13 topics go by id; the records are views of the frame. Names,
 * types and versions of the fields are those of Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import {
  array,
  type BodyOf,
  int16,
  int32,
  int64,
  message,
  records,
  string,
  struct,
  timestamp,
  uuid,
} from '../schema.ts';

/** Batches to append, at most one a partition. */
export const ProduceRequest = message(
  { name: 'ProduceRequest', versions: '3-13', flexible: '9+' },
  {
    /** Null unless the batches belong to a transaction. */
    transactionalId: string('3+', { nullable: '3+', default: null }),
    /** How many replicas must hold the batches: -1 every one in sync, 1 the leader, 0 no answer at all. */
    acks: int16(),
    /** How long the leader waits for the others. */
    timeoutMs: int32(),
    topicData: array({
      /** Empty from version 13 on, where the id stands for it. */
      name: string('0-12', { ignorable: true }),
      topicId: uuid('13+', { ignorable: true }),
      partitionData: array({ index: int32(), records: records('0+', { nullable: '0+' }) }),
    }),
  },
);
/** The request as it is read. */
export type ProduceRequest = BodyOf<typeof ProduceRequest>;

/** Where each batch went, or why not. */
export const ProduceResponse = message(
  { name: 'ProduceResponse', versions: '3-13', flexible: '9+' },
  {
    responses: array({
      name: string('0-12', { ignorable: true }),
      topicId: uuid('13+', { ignorable: true }),
      partitionResponses: array({
        index: int32(),
        errorCode: int16(),
        /** Offset of the first record; -1 with an error. */
        baseOffset: int64(),
        /** The broker's time if the topic is stamped with it, else -1. */
        logAppendTimeMs: timestamp('2+', { default: -1, ignorable: true }),
        /** Offset of the first record that the partition still has. */
        logStartOffset: int64('5+', { default: -1, ignorable: true }),
        /** Which records made the broker refuse the batch. */
        recordErrors: array(
          { batchIndex: int32('8+'), batchIndexErrorMessage: string('8+', { nullable: '8+', default: null }) },
          '8+',
          { ignorable: true },
        ),
        errorMessage: string('8+', { nullable: '8+', default: null, ignorable: true }),
        /** Where to go instead, with NOT_LEADER_OR_FOLLOWER (KIP-951). */
        currentLeader: struct(
          { leaderId: int32('10+', { default: -1 }), leaderEpoch: int32('10+', { default: -1 }) },
          '10+',
          { tag: 0 },
        ),
      }),
    }),
    /** How long the client should be silent, or was kept waiting. */
    throttleTimeMs: int32('1+', { default: 0, ignorable: true }),
    /** Addresses of all leaders named above. */
    nodeEndpoints: array(
      {
        nodeId: int32('10+'),
        host: string('10+'),
        port: int32('10+'),
        rack: string('10+', { nullable: '10+', default: null }),
      },
      '10+',
      { tag: 0 },
    ),
  },
);
/** The response as it is read. */
export type ProduceResponse = BodyOf<typeof ProduceResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const Produce = api(
  { key: 0, name: 'Produce', advertised: '0-13', listeners: ['broker'] },
  ProduceRequest,
  ProduceResponse,
);
