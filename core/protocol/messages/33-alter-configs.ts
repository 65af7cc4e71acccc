/**
 * AlterConfigs, API key 33.
 *
 * Replaces the configuration of topics and brokers as a whole. Names, types and versions of the fields are those
 * of Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, type BodyOf, boolean, int8, int16, int32, message, string } from '../schema.ts';

/** The settings; what is not named goes back to its default. */
export const AlterConfigsRequest = message(
  { name: 'AlterConfigsRequest', versions: '0-2', flexible: '2+' },
  {
    resources: array({
      resourceType: int8(),
      resourceName: string(),
      configs: array({ name: string(), value: string('0+', { nullable: '0+' }) }),
    }),
    validateOnly: boolean(),
  },
);
/** The request as it is read. */
export type AlterConfigsRequest = BodyOf<typeof AlterConfigsRequest>;

/** One error code a resource. */
export const AlterConfigsResponse = message(
  { name: 'AlterConfigsResponse', versions: '0-2', flexible: '2+' },
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
export type AlterConfigsResponse = BodyOf<typeof AlterConfigsResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const AlterConfigs = api(
  { key: 33, name: 'AlterConfigs', advertised: '0-2', listeners: ['broker', 'controller'] },
  AlterConfigsRequest,
  AlterConfigsResponse,
);
