/**
 * DeleteGroups, API key 42.
 *
 * Deletes groups. Names, types and versions of the fields are those of Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, arrayOf, type BodyOf, int16, int32, message, string } from '../schema.ts';

/** The groups to delete. */
export const DeleteGroupsRequest = message(
  { name: 'DeleteGroupsRequest', versions: '0-3', flexible: '2+' },
  { groupsNames: arrayOf(string()) },
);
/** The request as it is read. */
export type DeleteGroupsRequest = BodyOf<typeof DeleteGroupsRequest>;

/** One error code a group. */
export const DeleteGroupsResponse = message(
  { name: 'DeleteGroupsResponse', versions: '0-3', flexible: '2+' },
  {
    throttleTimeMs: int32(),
    results: array({
      groupId: string(),
      errorCode: int16(),
      errorMessage: string('3+', { nullable: '3+', default: null, ignorable: true }),
    }),
  },
);
/** The response as it is read. */
export type DeleteGroupsResponse = BodyOf<typeof DeleteGroupsResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const DeleteGroups = api(
  { key: 42, name: 'DeleteGroups', advertised: '0-3', listeners: ['broker'] },
  DeleteGroupsRequest,
  DeleteGroupsResponse,
);
