/**
 * DescribeUserScramCredentials, API key 50.
 *
 * Describes SCRAM credentials, without the secrets. Names, types and versions of the fields are those of Apache
 * Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, type BodyOf, int8, int16, int32, message, string } from '../schema.ts';

/** The users; null for all. */
export const DescribeUserScramCredentialsRequest = message(
  { name: 'DescribeUserScramCredentialsRequest', versions: '0', flexible: '0+' },
  { users: array({ name: string() }, '0+', { nullable: '0+' }) },
);
/** The request as it is read. */
export type DescribeUserScramCredentialsRequest = BodyOf<typeof DescribeUserScramCredentialsRequest>;

/** Mechanisms and iterations. */
export const DescribeUserScramCredentialsResponse = message(
  { name: 'DescribeUserScramCredentialsResponse', versions: '0', flexible: '0+' },
  {
    throttleTimeMs: int32(),
    errorCode: int16(),
    errorMessage: string('0+', { nullable: '0+' }),
    results: array({
      user: string(),
      errorCode: int16(),
      errorMessage: string('0+', { nullable: '0+' }),
      credentialInfos: array({ mechanism: int8(), iterations: int32() }),
    }),
  },
);
/** The response as it is read. */
export type DescribeUserScramCredentialsResponse = BodyOf<typeof DescribeUserScramCredentialsResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const DescribeUserScramCredentials = api(
  { key: 50, name: 'DescribeUserScramCredentials', advertised: '0', listeners: ['broker', 'controller'] },
  DescribeUserScramCredentialsRequest,
  DescribeUserScramCredentialsResponse,
);
