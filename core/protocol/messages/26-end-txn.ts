/**
 * EndTxn, API key 26.
 *
 * Ends a transaction. Names, types and versions of the fields are those of Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import { type BodyOf, boolean, int16, int32, int64, message, string } from '../schema.ts';

/** Commit or abort. */
export const EndTxnRequest = message(
  { name: 'EndTxnRequest', versions: '0-5', flexible: '3+' },
  { transactionalId: string(), producerId: int64(), producerEpoch: int16(), committed: boolean() },
);
/** The request as it is read. */
export type EndTxnRequest = BodyOf<typeof EndTxnRequest>;

/** The producer's epoch for the next transaction, from version 5. */
export const EndTxnResponse = message(
  { name: 'EndTxnResponse', versions: '0-5', flexible: '3+' },
  {
    throttleTimeMs: int32(),
    errorCode: int16(),
    producerId: int64('5+', { default: -1, ignorable: true }),
    producerEpoch: int16('5+', { default: -1, ignorable: true }),
  },
);
/** The response as it is read. */
export type EndTxnResponse = BodyOf<typeof EndTxnResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const EndTxn = api(
  { key: 26, name: 'EndTxn', advertised: '0-5', listeners: ['broker'] },
  EndTxnRequest,
  EndTxnResponse,
);
