/**
 * ListPartitionReassignments, API key 46.
 *
 * Lists the moves of partitions that are under way. Names, types and versions of the fields are those of Apache
 * Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, arrayOf, type BodyOf, int16, int32, message, string } from '../schema.ts';

/** The partitions to look at; null for all. */
export const ListPartitionReassignmentsRequest = message(
  { name: 'ListPartitionReassignmentsRequest', versions: '0', flexible: '0+' },
  {
    timeoutMs: int32('0+', { default: 60000 }),
    topics: array({ name: string(), partitionIndexes: arrayOf(int32()) }, '0+', { nullable: '0+', default: null }),
  },
);
/** The request as it is read. */
export type ListPartitionReassignmentsRequest = BodyOf<typeof ListPartitionReassignmentsRequest>;

/** The replicas that come and go. */
export const ListPartitionReassignmentsResponse = message(
  { name: 'ListPartitionReassignmentsResponse', versions: '0', flexible: '0+' },
  {
    throttleTimeMs: int32(),
    errorCode: int16(),
    errorMessage: string('0+', { nullable: '0+' }),
    topics: array({
      name: string(),
      partitions: array({
        partitionIndex: int32(),
        replicas: arrayOf(int32()),
        addingReplicas: arrayOf(int32()),
        removingReplicas: arrayOf(int32()),
      }),
    }),
  },
);
/** The response as it is read. */
export type ListPartitionReassignmentsResponse = BodyOf<typeof ListPartitionReassignmentsResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const ListPartitionReassignments = api(
  { key: 46, name: 'ListPartitionReassignments', advertised: '0', listeners: ['broker', 'controller'] },
  ListPartitionReassignmentsRequest,
  ListPartitionReassignmentsResponse,
);
