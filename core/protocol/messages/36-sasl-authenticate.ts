/**
 * SaslAuthenticate, API key 36.
 *
 * Carries the bytes of a SASL exchange. Names, types and versions of the fields are those of Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import { type BodyOf, bytes, int16, int64, message, string } from '../schema.ts';

/** The client's bytes. */
export const SaslAuthenticateRequest = message(
  { name: 'SaslAuthenticateRequest', versions: '0-2', flexible: '2+' },
  { authBytes: bytes() },
);
/** The request as it is read. */
export type SaslAuthenticateRequest = BodyOf<typeof SaslAuthenticateRequest>;

/** The server's bytes. */
export const SaslAuthenticateResponse = message(
  { name: 'SaslAuthenticateResponse', versions: '0-2', flexible: '2+' },
  {
    errorCode: int16(),
    errorMessage: string('0+', { nullable: '0+' }),
    authBytes: bytes(),
    sessionLifetimeMs: int64('1+', { default: 0, ignorable: true }),
  },
);
/** The response as it is read. */
export type SaslAuthenticateResponse = BodyOf<typeof SaslAuthenticateResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const SaslAuthenticate = api(
  { key: 36, name: 'SaslAuthenticate', advertised: '0-2', listeners: ['broker', 'controller'] },
  SaslAuthenticateRequest,
  SaslAuthenticateResponse,
);
