/**
 * InitProducerId, API key 22.
 *
 * Gives a producer its id and epoch. Names, types and versions of the fields are those of Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import { type BodyOf, boolean, int16, int32, int64, message, string } from '../schema.ts';

/** The transactional id, if any, and what the producer had before. */
export const InitProducerIdRequest = message(
  { name: 'InitProducerIdRequest', versions: '0-6', flexible: '2+' },
  {
    /** Null for a producer that is only idempotent. */
    transactionalId: string('0+', { nullable: '0+' }),
    transactionTimeoutMs: int32(),
    /** What the producer has, if it only wants a new epoch; else -1. */
    producerId: int64('3+', { default: -1 }),
    producerEpoch: int16('3+', { default: -1 }),
    enable2Pc: boolean('6+', { default: false }),
    keepPreparedTxn: boolean('6+', { default: false }),
  },
);
/** The request as it is read. */
export type InitProducerIdRequest = BodyOf<typeof InitProducerIdRequest>;

/** The id and the epoch. */
export const InitProducerIdResponse = message(
  { name: 'InitProducerIdResponse', versions: '0-6', flexible: '2+' },
  {
    throttleTimeMs: int32('0+', { ignorable: true }),
    errorCode: int16(),
    producerId: int64('0+', { default: -1 }),
    producerEpoch: int16(),
    ongoingTxnProducerId: int64('6+', { default: -1 }),
    ongoingTxnProducerEpoch: int16('6+', { default: -1 }),
  },
);
/** The response as it is read. */
export type InitProducerIdResponse = BodyOf<typeof InitProducerIdResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const InitProducerId = api(
  { key: 22, name: 'InitProducerId', advertised: '0-5', listeners: ['broker'] },
  InitProducerIdRequest,
  InitProducerIdResponse,
);
