/**
 * CreateTopics, API key 19.
 *
 * Creates topics. Names, types and versions of the fields are those of Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, arrayOf, type BodyOf, boolean, int8, int16, int32, message, string, uuid } from '../schema.ts';

/** The topics to create. */
export const CreateTopicsRequest = message(
  { name: 'CreateTopicsRequest', versions: '2-7', flexible: '5+' },
  {
    topics: array({
      name: string(),
      numPartitions: int32(),
      replicationFactor: int16(),
      assignments: array({ partitionIndex: int32(), brokerIds: arrayOf(int32()) }),
      configs: array({ name: string(), value: string('0+', { nullable: '0+' }) }),
    }),
    timeoutMs: int32('0+', { default: 60000 }),
    validateOnly: boolean('1+', { default: false }),
  },
);
/** The request as it is read. */
export type CreateTopicsRequest = BodyOf<typeof CreateTopicsRequest>;

/** The topics created. */
export const CreateTopicsResponse = message(
  { name: 'CreateTopicsResponse', versions: '2-7', flexible: '5+' },
  {
    throttleTimeMs: int32('2+', { ignorable: true }),
    topics: array({
      name: string(),
      topicId: uuid('7+', { ignorable: true }),
      errorCode: int16(),
      errorMessage: string('1+', { nullable: '0+', ignorable: true }),
      topicConfigErrorCode: int16('5+', { tag: 0, ignorable: true }),
      numPartitions: int32('5+', { default: -1, ignorable: true }),
      replicationFactor: int16('5+', { default: -1, ignorable: true }),
      configs: array(
        {
          name: string('5+'),
          value: string('5+', { nullable: '5+' }),
          readOnly: boolean('5+'),
          configSource: int8('5+', { default: -1, ignorable: true }),
          isSensitive: boolean('5+'),
        },
        '5+',
        { nullable: '5+', ignorable: true },
      ),
    }),
  },
);
/** The response as it is read. */
export type CreateTopicsResponse = BodyOf<typeof CreateTopicsResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const CreateTopics = api(
  { key: 19, name: 'CreateTopics', advertised: '2-7', listeners: ['broker', 'controller'] },
  CreateTopicsRequest,
  CreateTopicsResponse,
);
