/**
 * DeleteAcls, API key 31.
 *
 * Deletes access rules. Names, types and versions of the fields are those of Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, type BodyOf, int8, int16, int32, message, string } from '../schema.ts';

/** Filters. */
export const DeleteAclsRequest = message(
  { name: 'DeleteAclsRequest', versions: '1-3', flexible: '2+' },
  {
    filters: array({
      resourceTypeFilter: int8(),
      resourceNameFilter: string('0+', { nullable: '0+' }),
      patternTypeFilter: int8('1+', { default: 3 }),
      principalFilter: string('0+', { nullable: '0+' }),
      hostFilter: string('0+', { nullable: '0+' }),
      operation: int8(),
      permissionType: int8(),
    }),
  },
);
/** The request as it is read. */
export type DeleteAclsRequest = BodyOf<typeof DeleteAclsRequest>;

/** The rules that matched. */
export const DeleteAclsResponse = message(
  { name: 'DeleteAclsResponse', versions: '1-3', flexible: '2+' },
  {
    throttleTimeMs: int32(),
    filterResults: array({
      errorCode: int16(),
      errorMessage: string('0+', { nullable: '0+' }),
      matchingAcls: array({
        errorCode: int16(),
        errorMessage: string('0+', { nullable: '0+' }),
        resourceType: int8(),
        resourceName: string(),
        patternType: int8('1+', { default: 3 }),
        principal: string(),
        host: string(),
        operation: int8(),
        permissionType: int8(),
      }),
    }),
  },
);
/** The response as it is read. */
export type DeleteAclsResponse = BodyOf<typeof DeleteAclsResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const DeleteAcls = api(
  { key: 31, name: 'DeleteAcls', advertised: '1-3', listeners: ['broker', 'controller'] },
  DeleteAclsRequest,
  DeleteAclsResponse,
);
