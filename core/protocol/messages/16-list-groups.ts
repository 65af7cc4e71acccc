/**
 * ListGroups, API key 16.
 *
 * Lists the groups that a broker coordinates. Names, types and versions of the fields are those of Apache Kafka
 * 4.4.
 */
import { api } from '../api.ts';
import { array, arrayOf, type BodyOf, int16, int32, message, string } from '../schema.ts';

/** Filters by state and type. */
export const ListGroupsRequest = message(
  { name: 'ListGroupsRequest', versions: '0-5', flexible: '3+' },
  { statesFilter: arrayOf(string(), '4+'), typesFilter: arrayOf(string(), '5+') },
);
/** The request as it is read. */
export type ListGroupsRequest = BodyOf<typeof ListGroupsRequest>;

/** The groups. */
export const ListGroupsResponse = message(
  { name: 'ListGroupsResponse', versions: '0-5', flexible: '3+' },
  {
    throttleTimeMs: int32('1+', { ignorable: true }),
    errorCode: int16(),
    groups: array({
      groupId: string(),
      protocolType: string(),
      groupState: string('4+', { ignorable: true }),
      groupType: string('5+', { ignorable: true }),
    }),
  },
);
/** The response as it is read. */
export type ListGroupsResponse = BodyOf<typeof ListGroupsResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const ListGroups = api(
  { key: 16, name: 'ListGroups', advertised: '0-5', listeners: ['broker'] },
  ListGroupsRequest,
  ListGroupsResponse,
);
