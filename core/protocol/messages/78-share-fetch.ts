/**
 * ShareFetch, API key 78.
 *
 * Acquires records for a member of a share group. Names, types and versions of the fields are those of Apache
 * Kafka 4.4.
 */
import { api } from '../api.ts';
import {
  array,
  arrayOf,
  type BodyOf,
  boolean,
  int8,
  int16,
  int32,
  int64,
  message,
  records,
  string,
  struct,
  uuid,
} from '../schema.ts';

/** What to read and what to acknowledge with it. */
export const ShareFetchRequest = message(
  { name: 'ShareFetchRequest', versions: '1-2', flexible: '0+' },
  {
    groupId: string('0+', { nullable: '0+', default: null }),
    memberId: string('0+', { nullable: '0+' }),
    shareSessionEpoch: int32(),
    maxWaitMs: int32(),
    minBytes: int32(),
    maxBytes: int32('0+', { default: 0x7fffffff }),
    maxRecords: int32('1+'),
    batchSize: int32('1+'),
    shareAcquireMode: int8('2+', { default: 0, ignorable: true }),
    isRenewAck: boolean('2+', { default: false }),
    topics: array({
      topicId: uuid(),
      partitions: array({
        partitionIndex: int32(),
        partitionMaxBytes: int32('0'),
        acknowledgementBatches: array({ firstOffset: int64(), lastOffset: int64(), acknowledgeTypes: arrayOf(int8()) }),
      }),
    }),
    forgottenTopicsData: array({ topicId: uuid(), partitions: arrayOf(int32()) }),
  },
);
/** The request as it is read. */
export type ShareFetchRequest = BodyOf<typeof ShareFetchRequest>;

/** Batches, and which records were acquired. */
export const ShareFetchResponse = message(
  { name: 'ShareFetchResponse', versions: '1-2', flexible: '0+' },
  {
    throttleTimeMs: int32(),
    errorCode: int16(),
    errorMessage: string('0+', { nullable: '0+', default: null }),
    acquisitionLockTimeoutMs: int32('1+'),
    responses: array({
      topicId: uuid(),
      partitions: array({
        partitionIndex: int32(),
        errorCode: int16(),
        errorMessage: string('0+', { nullable: '0+', default: null }),
        acknowledgeErrorCode: int16(),
        acknowledgeErrorMessage: string('0+', { nullable: '0+', default: null }),
        currentLeader: struct({ leaderId: int32(), leaderEpoch: int32() }),
        records: records('0+', { nullable: '0' }),
        acquiredRecords: array({ firstOffset: int64(), lastOffset: int64(), deliveryCount: int16() }),
      }),
    }),
    nodeEndpoints: array({
      nodeId: int32(),
      host: string(),
      port: int32(),
      rack: string('0+', { nullable: '0+', default: null }),
    }),
  },
);
/** The response as it is read. */
export type ShareFetchResponse = BodyOf<typeof ShareFetchResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const ShareFetch = api(
  { key: 78, name: 'ShareFetch', advertised: '1-2', listeners: ['broker'] },
  ShareFetchRequest,
  ShareFetchResponse,
);
