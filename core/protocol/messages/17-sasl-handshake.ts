/**
 * SaslHandshake, API key 17.
 *
 * Picks a SASL mechanism. Names, types and versions of the fields are those of Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import { arrayOf, type BodyOf, int16, message, string } from '../schema.ts';

/** The mechanism wanted. */
export const SaslHandshakeRequest = message(
  { name: 'SaslHandshakeRequest', versions: '0-1', flexible: 'none' },
  { mechanism: string() },
);
/** The request as it is read. */
export type SaslHandshakeRequest = BodyOf<typeof SaslHandshakeRequest>;

/** The mechanisms offered. */
export const SaslHandshakeResponse = message(
  { name: 'SaslHandshakeResponse', versions: '0-1', flexible: 'none' },
  { errorCode: int16(), mechanisms: arrayOf(string()) },
);
/** The response as it is read. */
export type SaslHandshakeResponse = BodyOf<typeof SaslHandshakeResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const SaslHandshake = api(
  { key: 17, name: 'SaslHandshake', advertised: '0-1', listeners: ['broker', 'controller'] },
  SaslHandshakeRequest,
  SaslHandshakeResponse,
);
