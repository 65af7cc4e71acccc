/**
 * AlterUserScramCredentials, API key 51.
 *
 * Changes SCRAM credentials. Names, types and versions of the fields are those of Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, type BodyOf, bytes, int8, int16, int32, message, string } from '../schema.ts';

/** What to delete and what to set. */
export const AlterUserScramCredentialsRequest = message(
  { name: 'AlterUserScramCredentialsRequest', versions: '0', flexible: '0+' },
  {
    deletions: array({ name: string(), mechanism: int8() }),
    upsertions: array({
      name: string(),
      mechanism: int8(),
      iterations: int32(),
      salt: bytes(),
      saltedPassword: bytes(),
    }),
  },
);
/** The request as it is read. */
export type AlterUserScramCredentialsRequest = BodyOf<typeof AlterUserScramCredentialsRequest>;

/** One error code a user. */
export const AlterUserScramCredentialsResponse = message(
  { name: 'AlterUserScramCredentialsResponse', versions: '0', flexible: '0+' },
  {
    throttleTimeMs: int32(),
    results: array({ user: string(), errorCode: int16(), errorMessage: string('0+', { nullable: '0+' }) }),
  },
);
/** The response as it is read. */
export type AlterUserScramCredentialsResponse = BodyOf<typeof AlterUserScramCredentialsResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const AlterUserScramCredentials = api(
  { key: 51, name: 'AlterUserScramCredentials', advertised: '0', listeners: ['broker', 'controller'] },
  AlterUserScramCredentialsRequest,
  AlterUserScramCredentialsResponse,
);
