/**
 * CreateDelegationToken, API key 38.
 *
 * Creates a delegation token. Names, types and versions of the fields are those of Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, type BodyOf, bytes, int16, int32, int64, message, string, timestamp } from '../schema.ts';

/** Who may use and renew it. */
export const CreateDelegationTokenRequest = message(
  { name: 'CreateDelegationTokenRequest', versions: '1-3', flexible: '2+' },
  {
    ownerPrincipalType: string('3+', { nullable: '3+' }),
    ownerPrincipalName: string('3+', { nullable: '3+' }),
    renewers: array({ principalType: string(), principalName: string() }),
    maxLifetimeMs: int64(),
  },
);
/** The request as it is read. */
export type CreateDelegationTokenRequest = BodyOf<typeof CreateDelegationTokenRequest>;

/** The token. */
export const CreateDelegationTokenResponse = message(
  { name: 'CreateDelegationTokenResponse', versions: '1-3', flexible: '2+' },
  {
    errorCode: int16(),
    principalType: string(),
    principalName: string(),
    tokenRequesterPrincipalType: string('3+'),
    tokenRequesterPrincipalName: string('3+'),
    issueTimestampMs: timestamp(),
    expiryTimestampMs: timestamp(),
    maxTimestampMs: timestamp(),
    tokenId: string(),
    hmac: bytes(),
    throttleTimeMs: int32(),
  },
);
/** The response as it is read. */
export type CreateDelegationTokenResponse = BodyOf<typeof CreateDelegationTokenResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const CreateDelegationToken = api(
  { key: 38, name: 'CreateDelegationToken', advertised: '1-3', listeners: ['broker', 'controller'] },
  CreateDelegationTokenRequest,
  CreateDelegationTokenResponse,
);
