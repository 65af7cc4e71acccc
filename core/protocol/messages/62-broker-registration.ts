/**
 * BrokerRegistration, API key 62.
 *
 * Registers a broker with the controller. Names, types and versions of the fields are those of Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, arrayOf, type BodyOf, boolean, int16, int32, int64, message, string, uint16, uuid } from '../schema.ts';

/** The broker, its listeners, features and log directories. */
export const BrokerRegistrationRequest = message(
  { name: 'BrokerRegistrationRequest', versions: '0-4', flexible: '0+' },
  {
    brokerId: int32(),
    clusterId: string(),
    incarnationId: uuid(),
    listeners: array({ name: string(), host: string(), port: uint16(), securityProtocol: int16() }),
    features: array({ name: string(), minSupportedVersion: int16(), maxSupportedVersion: int16() }),
    rack: string('0+', { nullable: '0+' }),
    isMigratingZkBroker: boolean('1+', { default: false }),
    logDirs: arrayOf(uuid(), '2+', { ignorable: true }),
    previousBrokerEpoch: int64('3+', { default: -1, ignorable: true }),
  },
);
/** The request as it is read. */
export type BrokerRegistrationRequest = BodyOf<typeof BrokerRegistrationRequest>;

/** Its epoch. */
export const BrokerRegistrationResponse = message(
  { name: 'BrokerRegistrationResponse', versions: '0-4', flexible: '0+' },
  { throttleTimeMs: int32(), errorCode: int16(), brokerEpoch: int64('0+', { default: -1 }) },
);
/** The response as it is read. */
export type BrokerRegistrationResponse = BodyOf<typeof BrokerRegistrationResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const BrokerRegistration = api(
  { key: 62, name: 'BrokerRegistration', advertised: '0-4', listeners: ['controller'] },
  BrokerRegistrationRequest,
  BrokerRegistrationResponse,
);
