/**
 * UnregisterController, API key 94.
 *
 * Takes a controller out of the cluster's metadata. Names, types and versions of the fields are those of Apache
 * Kafka 4.4.
 */
import { api } from '../api.ts';
import { type BodyOf, int16, int32, message, string } from '../schema.ts';

/** The controller. */
export const UnregisterControllerRequest = message(
  { name: 'UnregisterControllerRequest', versions: '0', flexible: '0+' },
  { controllerId: int32() },
);
/** The request as it is read. */
export type UnregisterControllerRequest = BodyOf<typeof UnregisterControllerRequest>;

/** The outcome. */
export const UnregisterControllerResponse = message(
  { name: 'UnregisterControllerResponse', versions: '0', flexible: '0+' },
  { throttleTimeMs: int32(), errorCode: int16(), errorMessage: string('0+', { nullable: '0+' }) },
);
/** The response as it is read. */
export type UnregisterControllerResponse = BodyOf<typeof UnregisterControllerResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const UnregisterController = api(
  { key: 94, name: 'UnregisterController', advertised: '0', listeners: ['broker', 'controller'] },
  UnregisterControllerRequest,
  UnregisterControllerResponse,
);
