/**
 * Records of the metadata log about brokers and controllers.
 *
 * Names, types and versions of the fields are those of Apache Kafka 4.4. `metadata-records.ts` frames them.
 */
import {
  array,
  arrayOf,
  type BodyOf,
  boolean,
  int8,
  int16,
  int32,
  int64,
  message,
  string,
  uint16,
  uuid,
} from '../schema.ts';

/** A broker has registered; it is fenced until it has caught up. */
export const RegisterBrokerRecord = message(
  { name: 'RegisterBrokerRecord', versions: '0-4', flexible: '0+' },
  {
    brokerId: int32(),
    isMigratingZkBroker: boolean('2+', { default: false }),
    incarnationId: uuid(),
    brokerEpoch: int64(),
    endPoints: array({ name: string(), host: string(), port: uint16(), securityProtocol: int16() }),
    features: array({ name: string(), minSupportedVersion: int16(), maxSupportedVersion: int16() }),
    rack: string('0+', { nullable: '0+' }),
    fenced: boolean('0+', { default: true }),
    inControlledShutdown: boolean('1+', { default: false }),
    logDirs: arrayOf(uuid(), '3+', { tag: 0 }),
    cordonedLogDirs: arrayOf(uuid(), '4+', { nullable: '4+', tag: 1, default: null }),
  },
);
/** The record as it is read. */
export type RegisterBrokerRecord = BodyOf<typeof RegisterBrokerRecord>;

/** A broker is gone for good. */
export const UnregisterBrokerRecord = message(
  { name: 'UnregisterBrokerRecord', versions: '0', flexible: '0+' },
  { brokerId: int32(), brokerEpoch: int64() },
);
/** The record as it is read. */
export type UnregisterBrokerRecord = BodyOf<typeof UnregisterBrokerRecord>;

/** A broker may lead nothing until it is unfenced. Written no more, still read. */
export const FenceBrokerRecord = message(
  { name: 'FenceBrokerRecord', versions: '0', flexible: '0+' },
  { id: int32(), epoch: int64() },
);
/** The record as it is read. */
export type FenceBrokerRecord = BodyOf<typeof FenceBrokerRecord>;

/** A broker may lead again. Written no more, still read. */
export const UnfenceBrokerRecord = message(
  { name: 'UnfenceBrokerRecord', versions: '0', flexible: '0+' },
  { id: int32(), epoch: int64() },
);
/** The record as it is read. */
export type UnfenceBrokerRecord = BodyOf<typeof UnfenceBrokerRecord>;

/** A broker was fenced, unfenced or is shutting down, or its directories changed. */
export const BrokerRegistrationChangeRecord = message(
  { name: 'BrokerRegistrationChangeRecord', versions: '0-3', flexible: '0+' },
  {
    brokerId: int32(),
    brokerEpoch: int64(),
    fenced: int8('0+', { tag: 0 }),
    inControlledShutdown: int8('1+', { tag: 1 }),
    logDirs: arrayOf(uuid(), '2+', { tag: 2 }),
    cordonedLogDirs: arrayOf(uuid(), '3+', { nullable: '3+', tag: 3, default: null }),
  },
);
/** The record as it is read. */
export type BrokerRegistrationChangeRecord = BodyOf<typeof BrokerRegistrationChangeRecord>;

/** A controller has registered. */
export const RegisterControllerRecord = message(
  { name: 'RegisterControllerRecord', versions: '0', flexible: '0+' },
  {
    controllerId: int32(),
    incarnationId: uuid(),
    zkMigrationReady: boolean(),
    endPoints: array({ name: string(), host: string(), port: uint16(), securityProtocol: int16() }),
    features: array({ name: string(), minSupportedVersion: int16(), maxSupportedVersion: int16() }),
  },
);
/** The record as it is read. */
export type RegisterControllerRecord = BodyOf<typeof RegisterControllerRecord>;

/** A controller is gone for good. */
export const UnregisterControllerRecord = message(
  { name: 'UnregisterControllerRecord', versions: '0', flexible: '0+' },
  { controllerId: int32() },
);
/** The record as it is read. */
export type UnregisterControllerRecord = BodyOf<typeof UnregisterControllerRecord>;
