/**
 * Metadata, API key 3.
 *
 * Describes brokers, topics and partitions, and creates topics that are missing if asked to. Names, types and
 * versions of the fields are those of Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, arrayOf, type BodyOf, boolean, int16, int32, message, string, uuid } from '../schema.ts';

/** The topics to describe; null for all. */
export const MetadataRequest = message(
  { name: 'MetadataRequest', versions: '0-13', flexible: '9+' },
  {
    /** Null for all; in version 0 an empty list says so. */
    topics: array({ topicId: uuid('10+', { ignorable: true }), name: string('0+', { nullable: '10+' }) }, '0+', {
      nullable: '1+',
    }),
    /** Versions before 4 always allow it. */
    allowAutoTopicCreation: boolean('4+', { default: true }),
    includeClusterAuthorizedOperations: boolean('8-10'),
    includeTopicAuthorizedOperations: boolean('8+'),
  },
);
/** The request as it is read. */
export type MetadataRequest = BodyOf<typeof MetadataRequest>;

/** What the broker knows of the cluster. */
export const MetadataResponse = message(
  { name: 'MetadataResponse', versions: '0-13', flexible: '9+' },
  {
    throttleTimeMs: int32('3+', { ignorable: true }),
    brokers: array({
      nodeId: int32(),
      host: string(),
      port: int32(),
      rack: string('1+', { nullable: '1+', default: null, ignorable: true }),
    }),
    clusterId: string('2+', { nullable: '2+', default: null, ignorable: true }),
    controllerId: int32('1+', { default: -1, ignorable: true }),
    topics: array({
      errorCode: int16(),
      name: string('0+', { nullable: '12+' }),
      topicId: uuid('10+', { ignorable: true }),
      isInternal: boolean('1+', { default: false, ignorable: true }),
      partitions: array({
        errorCode: int16(),
        partitionIndex: int32(),
        leaderId: int32(),
        leaderEpoch: int32('7+', { default: -1, ignorable: true }),
        replicaNodes: arrayOf(int32()),
        isrNodes: arrayOf(int32()),
        offlineReplicas: arrayOf(int32(), '5+', { ignorable: true }),
      }),
      /** Bits by operation; the smallest number if not asked for. */
      topicAuthorizedOperations: int32('8+', { default: -2147483648 }),
    }),
    /** Bits by operation; the smallest number if not asked for. */
    clusterAuthorizedOperations: int32('8-10', { default: -2147483648 }),
    errorCode: int16('13+', { ignorable: true }),
  },
);
/** The response as it is read. */
export type MetadataResponse = BodyOf<typeof MetadataResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const Metadata = api(
  { key: 3, name: 'Metadata', advertised: '0-13', listeners: ['broker'] },
  MetadataRequest,
  MetadataResponse,
);
