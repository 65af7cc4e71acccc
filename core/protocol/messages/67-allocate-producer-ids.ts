/**
 * AllocateProducerIds, API key 67.
 *
 * Gives a broker a block of producer ids. Names, types and versions of the fields are those of Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import { type BodyOf, int16, int32, int64, message } from '../schema.ts';

/** The broker that asks. */
export const AllocateProducerIdsRequest = message(
  { name: 'AllocateProducerIdsRequest', versions: '0', flexible: '0+' },
  { brokerId: int32(), brokerEpoch: int64('0+', { default: -1 }) },
);
/** The request as it is read. */
export type AllocateProducerIdsRequest = BodyOf<typeof AllocateProducerIdsRequest>;

/** The block. */
export const AllocateProducerIdsResponse = message(
  { name: 'AllocateProducerIdsResponse', versions: '0', flexible: '0+' },
  { throttleTimeMs: int32(), errorCode: int16(), producerIdStart: int64(), producerIdLen: int32() },
);
/** The response as it is read. */
export type AllocateProducerIdsResponse = BodyOf<typeof AllocateProducerIdsResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const AllocateProducerIds = api(
  { key: 67, name: 'AllocateProducerIds', advertised: '0', listeners: ['controller'] },
  AllocateProducerIdsRequest,
  AllocateProducerIdsResponse,
);
