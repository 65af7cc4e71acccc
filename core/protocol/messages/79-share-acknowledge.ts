/**
 * ShareAcknowledge, API key 79.
 *
 * Acknowledges records of a share group. Names, types and versions of the fields are those of Apache Kafka 4.4.
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
  string,
  struct,
  uuid,
} from '../schema.ts';

/** The records and what became of them. */
export const ShareAcknowledgeRequest = message(
  { name: 'ShareAcknowledgeRequest', versions: '1-2', flexible: '0+' },
  {
    groupId: string('0+', { nullable: '0+', default: null }),
    memberId: string('0+', { nullable: '0+' }),
    shareSessionEpoch: int32(),
    isRenewAck: boolean('2+', { default: false }),
    topics: array({
      topicId: uuid(),
      partitions: array({
        partitionIndex: int32(),
        acknowledgementBatches: array({ firstOffset: int64(), lastOffset: int64(), acknowledgeTypes: arrayOf(int8()) }),
      }),
    }),
  },
);
/** The request as it is read. */
export type ShareAcknowledgeRequest = BodyOf<typeof ShareAcknowledgeRequest>;

/** One error code a partition. */
export const ShareAcknowledgeResponse = message(
  { name: 'ShareAcknowledgeResponse', versions: '1-2', flexible: '0+' },
  {
    throttleTimeMs: int32(),
    errorCode: int16(),
    errorMessage: string('0+', { nullable: '0+', default: null }),
    acquisitionLockTimeoutMs: int32('2+', { ignorable: true }),
    responses: array({
      topicId: uuid(),
      partitions: array({
        partitionIndex: int32(),
        errorCode: int16(),
        errorMessage: string('0+', { nullable: '0+', default: null }),
        currentLeader: struct({ leaderId: int32(), leaderEpoch: int32() }),
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
export type ShareAcknowledgeResponse = BodyOf<typeof ShareAcknowledgeResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const ShareAcknowledge = api(
  { key: 79, name: 'ShareAcknowledge', advertised: '1-2', listeners: ['broker'] },
  ShareAcknowledgeRequest,
  ShareAcknowledgeResponse,
);
