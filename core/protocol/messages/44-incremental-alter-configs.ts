/**
 * IncrementalAlterConfigs, API key 44.
 *
 * Changes single settings of topics, brokers, loggers and groups. Names, types and versions of the fields are
 * those of Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, type BodyOf, boolean, int8, int16, int32, message, string } from '../schema.ts';

/** The changes: set, delete, append, subtract. */
export const IncrementalAlterConfigsRequest = message(
  { name: 'IncrementalAlterConfigsRequest', versions: '0-1', flexible: '1+' },
  {
    resources: array({
      resourceType: int8(),
      resourceName: string(),
      configs: array({ name: string(), configOperation: int8(), value: string('0+', { nullable: '0+' }) }),
    }),
    validateOnly: boolean(),
  },
);
/** The request as it is read. */
export type IncrementalAlterConfigsRequest = BodyOf<typeof IncrementalAlterConfigsRequest>;

/** One error code a resource. */
export const IncrementalAlterConfigsResponse = message(
  { name: 'IncrementalAlterConfigsResponse', versions: '0-1', flexible: '1+' },
  {
    throttleTimeMs: int32(),
    responses: array({
      errorCode: int16(),
      errorMessage: string('0+', { nullable: '0+' }),
      resourceType: int8(),
      resourceName: string(),
    }),
  },
);
/** The response as it is read. */
export type IncrementalAlterConfigsResponse = BodyOf<typeof IncrementalAlterConfigsResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const IncrementalAlterConfigs = api(
  { key: 44, name: 'IncrementalAlterConfigs', advertised: '0-1', listeners: ['broker', 'controller'] },
  IncrementalAlterConfigsRequest,
  IncrementalAlterConfigsResponse,
);
