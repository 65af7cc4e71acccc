/**
 * DescribeCluster, API key 60.
 *
 * Describes the nodes of the cluster. Names, types and versions of the fields are those of Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, type BodyOf, boolean, int8, int16, int32, message, string } from '../schema.ts';

/** Brokers or controllers. */
export const DescribeClusterRequest = message(
  { name: 'DescribeClusterRequest', versions: '0-2', flexible: '0+' },
  {
    includeClusterAuthorizedOperations: boolean(),
    /** 1 for brokers, 2 for controllers. */
    endpointType: int8('1+', { default: 1 }),
    includeFencedBrokers: boolean('2+'),
  },
);
/** The request as it is read. */
export type DescribeClusterRequest = BodyOf<typeof DescribeClusterRequest>;

/** The nodes. */
export const DescribeClusterResponse = message(
  { name: 'DescribeClusterResponse', versions: '0-2', flexible: '0+' },
  {
    throttleTimeMs: int32(),
    errorCode: int16(),
    errorMessage: string('0+', { nullable: '0+', default: null }),
    endpointType: int8('1+', { default: 1 }),
    clusterId: string(),
    controllerId: int32('0+', { default: -1 }),
    brokers: array({
      brokerId: int32(),
      host: string(),
      port: int32(),
      rack: string('0+', { nullable: '0+', default: null }),
      isFenced: boolean('2+'),
    }),
    /** Bits by operation; the smallest number if not asked for. */
    clusterAuthorizedOperations: int32('0+', { default: -2147483648 }),
  },
);
/** The response as it is read. */
export type DescribeClusterResponse = BodyOf<typeof DescribeClusterResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const DescribeCluster = api(
  { key: 60, name: 'DescribeCluster', advertised: '0-2', listeners: ['broker', 'controller'] },
  DescribeClusterRequest,
  DescribeClusterResponse,
);
