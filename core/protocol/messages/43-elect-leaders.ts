/**
 * ElectLeaders, API key 43.
 *
 * Elects leaders for partitions. Names, types and versions of the fields are those of Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, arrayOf, type BodyOf, int8, int16, int32, message, string } from '../schema.ts';

/** The kind of election and the partitions. */
export const ElectLeadersRequest = message(
  { name: 'ElectLeadersRequest', versions: '0-2', flexible: '2+' },
  {
    electionType: int8('1+'),
    topicPartitions: array({ topic: string(), partitions: arrayOf(int32()) }, '0+', { nullable: '0+' }),
    timeoutMs: int32('0+', { default: 60000 }),
  },
);
/** The request as it is read. */
export type ElectLeadersRequest = BodyOf<typeof ElectLeadersRequest>;

/** One error code a partition. */
export const ElectLeadersResponse = message(
  { name: 'ElectLeadersResponse', versions: '0-2', flexible: '2+' },
  {
    throttleTimeMs: int32(),
    errorCode: int16('1+'),
    replicaElectionResults: array({
      topic: string(),
      partitionResult: array({
        partitionId: int32(),
        errorCode: int16(),
        errorMessage: string('0+', { nullable: '0+' }),
      }),
    }),
  },
);
/** The response as it is read. */
export type ElectLeadersResponse = BodyOf<typeof ElectLeadersResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const ElectLeaders = api(
  { key: 43, name: 'ElectLeaders', advertised: '0-2', listeners: ['broker', 'controller'] },
  ElectLeadersRequest,
  ElectLeadersResponse,
);
