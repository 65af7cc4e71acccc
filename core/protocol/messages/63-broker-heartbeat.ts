/**
 * BrokerHeartbeat, API key 63.
 *
 * Keeps a broker's registration alive and asks to fence, unfence or stop it. Names, types and versions of the
 * fields are those of Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import { arrayOf, type BodyOf, boolean, int16, int32, int64, message, uuid } from '../schema.ts';

/** How far the broker has come. */
export const BrokerHeartbeatRequest = message(
  { name: 'BrokerHeartbeatRequest', versions: '0-2', flexible: '0+' },
  {
    brokerId: int32(),
    brokerEpoch: int64('0+', { default: -1 }),
    currentMetadataOffset: int64(),
    wantFence: boolean(),
    wantShutDown: boolean(),
    offlineLogDirs: arrayOf(uuid(), '1+', { tag: 0 }),
    cordonedLogDirs: arrayOf(uuid(), '2+', { nullable: '2+', tag: 1, default: null }),
  },
);
/** The request as it is read. */
export type BrokerHeartbeatRequest = BodyOf<typeof BrokerHeartbeatRequest>;

/** What the controller wants of it. */
export const BrokerHeartbeatResponse = message(
  { name: 'BrokerHeartbeatResponse', versions: '0-2', flexible: '0+' },
  {
    throttleTimeMs: int32(),
    errorCode: int16(),
    isCaughtUp: boolean('0+', { default: false }),
    isFenced: boolean('0+', { default: true }),
    shouldShutDown: boolean(),
  },
);
/** The response as it is read. */
export type BrokerHeartbeatResponse = BodyOf<typeof BrokerHeartbeatResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const BrokerHeartbeat = api(
  { key: 63, name: 'BrokerHeartbeat', advertised: '0-2', listeners: ['controller'] },
  BrokerHeartbeatRequest,
  BrokerHeartbeatResponse,
);
