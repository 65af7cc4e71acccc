/**
 * DeleteTopics, API key 20.
 *
 * Deletes topics, by name or, from version 6, by id. Names, types and versions of the fields are those of Apache
 * Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, arrayOf, type BodyOf, int16, int32, message, string, uuid } from '../schema.ts';

/** The topics to delete. */
export const DeleteTopicsRequest = message(
  { name: 'DeleteTopicsRequest', versions: '1-6', flexible: '4+' },
  {
    topics: array({ name: string('6+', { nullable: '6+', default: null }), topicId: uuid('6+') }, '6+'),
    topicNames: arrayOf(string(), '0-5', { ignorable: true }),
    timeoutMs: int32(),
  },
);
/** The request as it is read. */
export type DeleteTopicsRequest = BodyOf<typeof DeleteTopicsRequest>;

/** One error code a topic. */
export const DeleteTopicsResponse = message(
  { name: 'DeleteTopicsResponse', versions: '1-6', flexible: '4+' },
  {
    throttleTimeMs: int32('1+', { ignorable: true }),
    responses: array({
      name: string('0+', { nullable: '6+' }),
      topicId: uuid('6+', { ignorable: true }),
      errorCode: int16(),
      errorMessage: string('5+', { nullable: '5+', default: null, ignorable: true }),
    }),
  },
);
/** The response as it is read. */
export type DeleteTopicsResponse = BodyOf<typeof DeleteTopicsResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const DeleteTopics = api(
  { key: 20, name: 'DeleteTopics', advertised: '1-6', listeners: ['broker', 'controller'] },
  DeleteTopicsRequest,
  DeleteTopicsResponse,
);
