/**
 * CreatePartitions, API key 37.
 *
 * Adds partitions to topics. Names, types and versions of the fields are those of Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, arrayOf, type BodyOf, boolean, int16, int32, message, string } from '../schema.ts';

/** The number of partitions each topic should have. */
export const CreatePartitionsRequest = message(
  { name: 'CreatePartitionsRequest', versions: '0-3', flexible: '2+' },
  {
    topics: array({
      name: string(),
      count: int32(),
      assignments: array({ brokerIds: arrayOf(int32()) }, '0+', { nullable: '0+' }),
    }),
    timeoutMs: int32(),
    validateOnly: boolean(),
  },
);
/** The request as it is read. */
export type CreatePartitionsRequest = BodyOf<typeof CreatePartitionsRequest>;

/** One error code a topic. */
export const CreatePartitionsResponse = message(
  { name: 'CreatePartitionsResponse', versions: '0-3', flexible: '2+' },
  {
    throttleTimeMs: int32(),
    results: array({
      name: string(),
      errorCode: int16(),
      errorMessage: string('0+', { nullable: '0+', default: null }),
    }),
  },
);
/** The response as it is read. */
export type CreatePartitionsResponse = BodyOf<typeof CreatePartitionsResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const CreatePartitions = api(
  { key: 37, name: 'CreatePartitions', advertised: '0-3', listeners: ['broker', 'controller'] },
  CreatePartitionsRequest,
  CreatePartitionsResponse,
);
