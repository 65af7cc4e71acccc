/**
 * UnregisterBroker, API key 64.
 *
 * Takes a broker out of the cluster's metadata. Names, types and versions of the fields are those of Apache
 * Kafka 4.4.
 */
import { api } from '../api.ts';
import { type BodyOf, int16, int32, message, string } from '../schema.ts';

/** The broker. */
export const UnregisterBrokerRequest = message(
  { name: 'UnregisterBrokerRequest', versions: '0', flexible: '0+' },
  { brokerId: int32() },
);
/** The request as it is read. */
export type UnregisterBrokerRequest = BodyOf<typeof UnregisterBrokerRequest>;

/** The outcome. */
export const UnregisterBrokerResponse = message(
  { name: 'UnregisterBrokerResponse', versions: '0', flexible: '0+' },
  { throttleTimeMs: int32(), errorCode: int16(), errorMessage: string('0+', { nullable: '0+' }) },
);
/** The response as it is read. */
export type UnregisterBrokerResponse = BodyOf<typeof UnregisterBrokerResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const UnregisterBroker = api(
  { key: 64, name: 'UnregisterBroker', advertised: '0', listeners: ['broker', 'controller'] },
  UnregisterBrokerRequest,
  UnregisterBrokerResponse,
);
