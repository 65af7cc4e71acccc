/**
 * AssignReplicasToDirs, API key 73.
 *
 * Tells the controller which log directory holds which replica. Names, types and versions of the fields are
 * those of Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, type BodyOf, int16, int32, int64, message, uuid } from '../schema.ts';

/** The directories and replicas. */
export const AssignReplicasToDirsRequest = message(
  { name: 'AssignReplicasToDirsRequest', versions: '0', flexible: '0+' },
  {
    brokerId: int32(),
    brokerEpoch: int64('0+', { default: -1 }),
    directories: array({
      id: uuid(),
      topics: array({ topicId: uuid(), partitions: array({ partitionIndex: int32() }) }),
    }),
  },
);
/** The request as it is read. */
export type AssignReplicasToDirsRequest = BodyOf<typeof AssignReplicasToDirsRequest>;

/** One error code a partition. */
export const AssignReplicasToDirsResponse = message(
  { name: 'AssignReplicasToDirsResponse', versions: '0', flexible: '0+' },
  {
    throttleTimeMs: int32(),
    errorCode: int16(),
    directories: array({
      id: uuid(),
      topics: array({ topicId: uuid(), partitions: array({ partitionIndex: int32(), errorCode: int16() }) }),
    }),
  },
);
/** The response as it is read. */
export type AssignReplicasToDirsResponse = BodyOf<typeof AssignReplicasToDirsResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const AssignReplicasToDirs = api(
  { key: 73, name: 'AssignReplicasToDirs', advertised: '0', listeners: ['controller'] },
  AssignReplicasToDirsRequest,
  AssignReplicasToDirsResponse,
);
