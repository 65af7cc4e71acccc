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
    transactionalId: string('3+', { nullable: '3+', default: null }),
    acks: int16(),
    timeoutMs: int32(),
    topicData: array({
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
        baseOffset: int64(),
        logAppendTimeMs: timestamp('2+', { default: -1, ignorable: true }),
        logStartOffset: int64('5+', { default: -1, ignorable: true }),
        recordErrors: array(
          { batchIndex: int32('8+'), batchIndexErrorMessage: string('8+', { nullable: '8+', default: null }) },
          '8+',
          { ignorable: true },
        ),
        errorMessage: string('8+', { nullable: '8+', default: null, ignorable: true }),
        currentLeader: struct(
          { leaderId: int32('10+', { default: -1 }), leaderEpoch: int32('10+', { default: -1 }) },
          '10+',
          { tag: 0 },
        ),
      }),
    }),
    throttleTimeMs: int32('1+', { default: 0, ignorable: true }),
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
