/**
 * AlterReplicaLogDirs, API key 34.
 *
 * Moves replicas between the log directories of one broker. Names, types and versions of the fields are those of
 * Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, arrayOf, type BodyOf, int16, int32, message, string } from '../schema.ts';

/** Where replicas should go. */
export const AlterReplicaLogDirsRequest = message(
  { name: 'AlterReplicaLogDirsRequest', versions: '1-2', flexible: '2+' },
  { dirs: array({ path: string(), topics: array({ name: string(), partitions: arrayOf(int32()) }) }) },
);
/** The request as it is read. */
export type AlterReplicaLogDirsRequest = BodyOf<typeof AlterReplicaLogDirsRequest>;

/** One error code a partition. */
export const AlterReplicaLogDirsResponse = message(
  { name: 'AlterReplicaLogDirsResponse', versions: '1-2', flexible: '2+' },
  {
    throttleTimeMs: int32(),
    results: array({ topicName: string(), partitions: array({ partitionIndex: int32(), errorCode: int16() }) }),
  },
);
/** The response as it is read. */
export type AlterReplicaLogDirsResponse = BodyOf<typeof AlterReplicaLogDirsResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const AlterReplicaLogDirs = api(
  { key: 34, name: 'AlterReplicaLogDirs', advertised: '1-2', listeners: ['broker'] },
  AlterReplicaLogDirsRequest,
  AlterReplicaLogDirsResponse,
);
