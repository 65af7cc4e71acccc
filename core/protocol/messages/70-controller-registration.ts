/**
 * ControllerRegistration, API key 70.
 *
 * Registers a controller. Names, types and versions of the fields are those of Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, type BodyOf, boolean, int16, int32, message, string, uint16, uuid } from '../schema.ts';

/** The controller, its listeners and features. */
export const ControllerRegistrationRequest = message(
  { name: 'ControllerRegistrationRequest', versions: '0', flexible: '0+' },
  {
    controllerId: int32(),
    incarnationId: uuid(),
    zkMigrationReady: boolean(),
    listeners: array({ name: string(), host: string(), port: uint16(), securityProtocol: int16() }),
    features: array({ name: string(), minSupportedVersion: int16(), maxSupportedVersion: int16() }),
  },
);
/** The request as it is read. */
export type ControllerRegistrationRequest = BodyOf<typeof ControllerRegistrationRequest>;

/** The outcome. */
export const ControllerRegistrationResponse = message(
  { name: 'ControllerRegistrationResponse', versions: '0', flexible: '0+' },
  { throttleTimeMs: int32(), errorCode: int16(), errorMessage: string('0+', { nullable: '0+' }) },
);
/** The response as it is read. */
export type ControllerRegistrationResponse = BodyOf<typeof ControllerRegistrationResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const ControllerRegistration = api(
  { key: 70, name: 'ControllerRegistration', advertised: '0', listeners: ['controller'] },
  ControllerRegistrationRequest,
  ControllerRegistrationResponse,
);
