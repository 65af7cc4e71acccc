/**
 * DescribeDelegationToken, API key 41.
 *
 * Describes delegation tokens. Names, types and versions of the fields are those of Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, type BodyOf, bytes, int16, int32, message, string, timestamp } from '../schema.ts';

/** The owners whose tokens are wanted. */
export const DescribeDelegationTokenRequest = message(
  { name: 'DescribeDelegationTokenRequest', versions: '1-3', flexible: '2+' },
  { owners: array({ principalType: string(), principalName: string() }, '0+', { nullable: '0+' }) },
);
/** The request as it is read. */
export type DescribeDelegationTokenRequest = BodyOf<typeof DescribeDelegationTokenRequest>;

/** The tokens. */
export const DescribeDelegationTokenResponse = message(
  { name: 'DescribeDelegationTokenResponse', versions: '1-3', flexible: '2+' },
  {
    errorCode: int16(),
    tokens: array({
      principalType: string(),
      principalName: string(),
      tokenRequesterPrincipalType: string('3+'),
      tokenRequesterPrincipalName: string('3+'),
      issueTimestamp: timestamp(),
      expiryTimestamp: timestamp(),
      maxTimestamp: timestamp(),
      tokenId: string(),
      hmac: bytes(),
      renewers: array({ principalType: string(), principalName: string() }),
    }),
    throttleTimeMs: int32(),
  },
);
/** The response as it is read. */
export type DescribeDelegationTokenResponse = BodyOf<typeof DescribeDelegationTokenResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const DescribeDelegationToken = api(
  { key: 41, name: 'DescribeDelegationToken', advertised: '1-3', listeners: ['broker', 'controller'] },
  DescribeDelegationTokenRequest,
  DescribeDelegationTokenResponse,
);
