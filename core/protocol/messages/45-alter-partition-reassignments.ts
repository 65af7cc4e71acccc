/**
 * AlterPartitionReassignments, API key 45.
 *
 * Moves partitions to other replicas. Names, types and versions of the fields are those of Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, arrayOf, type BodyOf, boolean, int16, int32, message, string } from '../schema.ts';

/** The target replicas; null cancels a move. */
export const AlterPartitionReassignmentsRequest = message(
  { name: 'AlterPartitionReassignmentsRequest', versions: '0-1', flexible: '0+' },
  {
    timeoutMs: int32('0+', { default: 60000 }),
    allowReplicationFactorChange: boolean('1+', { default: true }),
    topics: array({
      name: string(),
      partitions: array({
        partitionIndex: int32(),
        replicas: arrayOf(int32(), '0+', { nullable: '0+', default: null }),
      }),
    }),
  },
);
/** The request as it is read. */
export type AlterPartitionReassignmentsRequest = BodyOf<typeof AlterPartitionReassignmentsRequest>;

/** One error code a partition. */
export const AlterPartitionReassignmentsResponse = message(
  { name: 'AlterPartitionReassignmentsResponse', versions: '0-1', flexible: '0+' },
  {
    throttleTimeMs: int32(),
    allowReplicationFactorChange: boolean('1+', { default: true, ignorable: true }),
    errorCode: int16(),
    errorMessage: string('0+', { nullable: '0+' }),
    responses: array({
      name: string(),
      partitions: array({
        partitionIndex: int32(),
        errorCode: int16(),
        errorMessage: string('0+', { nullable: '0+' }),
      }),
    }),
  },
);
/** The response as it is read. */
export type AlterPartitionReassignmentsResponse = BodyOf<typeof AlterPartitionReassignmentsResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const AlterPartitionReassignments = api(
  { key: 45, name: 'AlterPartitionReassignments', advertised: '0-1', listeners: ['broker', 'controller'] },
  AlterPartitionReassignmentsRequest,
  AlterPartitionReassignmentsResponse,
);
