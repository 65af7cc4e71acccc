/**
 * AddOffsetsToTxn, API key 25.
 *
 * Adds the offsets of a group to a transaction. Names, types and versions of the fields are those of Apache
 * Kafka 4.4.
 */
import { api } from '../api.ts';
import { type BodyOf, int16, int32, int64, message, string } from '../schema.ts';

/** The group to add. */
export const AddOffsetsToTxnRequest = message(
  { name: 'AddOffsetsToTxnRequest', versions: '0-4', flexible: '3+' },
  { transactionalId: string(), producerId: int64(), producerEpoch: int16(), groupId: string() },
);
/** The request as it is read. */
export type AddOffsetsToTxnRequest = BodyOf<typeof AddOffsetsToTxnRequest>;

/** Whether it was added. */
export const AddOffsetsToTxnResponse = message(
  { name: 'AddOffsetsToTxnResponse', versions: '0-4', flexible: '3+' },
  { throttleTimeMs: int32(), errorCode: int16() },
);
/** The response as it is read. */
export type AddOffsetsToTxnResponse = BodyOf<typeof AddOffsetsToTxnResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const AddOffsetsToTxn = api(
  { key: 25, name: 'AddOffsetsToTxn', advertised: '0-4', listeners: ['broker'] },
  AddOffsetsToTxnRequest,
  AddOffsetsToTxnResponse,
);
