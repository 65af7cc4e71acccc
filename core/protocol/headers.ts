/**
 * Heads of requests and responses. `codec.ts` writes and reads them without these schemas, for speed; tests compare.
 *
 * Field names, types and versions are those of Apache Kafka 4.4's message definitions.
 */
import { type BodyOf, int16, int32, message, string } from './schema.ts';

/** Before every request. Version 2 goes with flexible versions of an API; the client id keeps its old form. */
export const RequestHeader = message(
  { name: 'RequestHeader', versions: '1-2', flexible: '2+' },
  {
    requestApiKey: int16(),
    requestApiVersion: int16(),
    correlationId: int32(),
    clientId: string('1+', { nullable: '1+', flexible: 'none' }),
  },
);
/** Before every request, as it is read. */
export type RequestHeader = BodyOf<typeof RequestHeader>;

/** Before every response. Version 1 goes with flexible versions of an API, but for ApiVersions. */
export const ResponseHeader = message(
  { name: 'ResponseHeader', versions: '0-1', flexible: '1+' },
  { correlationId: int32() },
);
/** Before every response, as it is read. */
export type ResponseHeader = BodyOf<typeof ResponseHeader>;
