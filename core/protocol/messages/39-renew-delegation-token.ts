/**
 * RenewDelegationToken, API key 39.
 *
 * Extends the life of a delegation token. Names, types and versions of the fields are those of Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import { type BodyOf, bytes, int16, int32, int64, message, timestamp } from '../schema.ts';

/** The token. */
export const RenewDelegationTokenRequest = message(
  { name: 'RenewDelegationTokenRequest', versions: '1-2', flexible: '2+' },
  { hmac: bytes(), renewPeriodMs: int64() },
);
/** The request as it is read. */
export type RenewDelegationTokenRequest = BodyOf<typeof RenewDelegationTokenRequest>;

/** When it expires now. */
export const RenewDelegationTokenResponse = message(
  { name: 'RenewDelegationTokenResponse', versions: '1-2', flexible: '2+' },
  { errorCode: int16(), expiryTimestampMs: timestamp(), throttleTimeMs: int32() },
);
/** The response as it is read. */
export type RenewDelegationTokenResponse = BodyOf<typeof RenewDelegationTokenResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const RenewDelegationToken = api(
  { key: 39, name: 'RenewDelegationToken', advertised: '1-2', listeners: ['broker', 'controller'] },
  RenewDelegationTokenRequest,
  RenewDelegationTokenResponse,
);
