/**
 * ExpireDelegationToken, API key 40.
 *
 * Ends a delegation token. Names, types and versions of the fields are those of Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import { type BodyOf, bytes, int16, int32, int64, message, timestamp } from '../schema.ts';

/** The token. */
export const ExpireDelegationTokenRequest = message(
  { name: 'ExpireDelegationTokenRequest', versions: '1-2', flexible: '2+' },
  { hmac: bytes(), expiryTimePeriodMs: int64() },
);
/** The request as it is read. */
export type ExpireDelegationTokenRequest = BodyOf<typeof ExpireDelegationTokenRequest>;

/** When it expires now. */
export const ExpireDelegationTokenResponse = message(
  { name: 'ExpireDelegationTokenResponse', versions: '1-2', flexible: '2+' },
  { errorCode: int16(), expiryTimestampMs: timestamp(), throttleTimeMs: int32() },
);
/** The response as it is read. */
export type ExpireDelegationTokenResponse = BodyOf<typeof ExpireDelegationTokenResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const ExpireDelegationToken = api(
  { key: 40, name: 'ExpireDelegationToken', advertised: '1-2', listeners: ['broker', 'controller'] },
  ExpireDelegationTokenRequest,
  ExpireDelegationTokenResponse,
);
