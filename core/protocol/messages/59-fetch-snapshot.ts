/**
 * FetchSnapshot, API key 59.
 *
 * Reads a snapshot of the metadata log. Names, types and versions of the fields are those of Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, type BodyOf, int16, int32, int64, message, records, string, struct, uint16, uuid } from '../schema.ts';

/** The snapshot and the position in it. */
export const FetchSnapshotRequest = message(
  { name: 'FetchSnapshotRequest', versions: '0-1', flexible: '0+' },
  {
    clusterId: string('0+', { nullable: '0+', tag: 0, default: null }),
    replicaId: int32('0+', { default: -1 }),
    maxBytes: int32('0+', { default: 0x7fffffff }),
    topics: array({
      name: string(),
      partitions: array({
        partition: int32(),
        currentLeaderEpoch: int32(),
        snapshotId: struct({ endOffset: int64(), epoch: int32() }),
        position: int64(),
        replicaDirectoryId: uuid('1+', { tag: 0, ignorable: true }),
      }),
    }),
  },
);
/** The request as it is read. */
export type FetchSnapshotRequest = BodyOf<typeof FetchSnapshotRequest>;

/** A piece of the snapshot. */
export const FetchSnapshotResponse = message(
  { name: 'FetchSnapshotResponse', versions: '0-1', flexible: '0+' },
  {
    throttleTimeMs: int32('0+', { ignorable: true }),
    errorCode: int16(),
    topics: array({
      name: string(),
      partitions: array({
        index: int32(),
        errorCode: int16(),
        snapshotId: struct({ endOffset: int64(), epoch: int32() }),
        currentLeader: struct({ leaderId: int32(), leaderEpoch: int32() }, '0+', { tag: 0 }),
        size: int64(),
        position: int64(),
        unalignedRecords: records(),
      }),
    }),
    nodeEndpoints: array({ nodeId: int32('1+'), host: string('1+'), port: uint16('1+') }, '1+', { tag: 0 }),
  },
);
/** The response as it is read. */
export type FetchSnapshotResponse = BodyOf<typeof FetchSnapshotResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const FetchSnapshot = api(
  { key: 59, name: 'FetchSnapshot', advertised: '0-1', listeners: ['controller'] },
  FetchSnapshotRequest,
  FetchSnapshotResponse,
);
