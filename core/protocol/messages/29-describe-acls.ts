/**
 * DescribeAcls, API key 29.
 *
 * Describes access rules. Names, types and versions of the fields are those of Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, type BodyOf, int8, int16, int32, message, string } from '../schema.ts';

/** A filter. */
export const DescribeAclsRequest = message(
  { name: 'DescribeAclsRequest', versions: '1-3', flexible: '2+' },
  {
    resourceTypeFilter: int8(),
    resourceNameFilter: string('0+', { nullable: '0+' }),
    patternTypeFilter: int8('1+', { default: 3 }),
    principalFilter: string('0+', { nullable: '0+' }),
    hostFilter: string('0+', { nullable: '0+' }),
    operation: int8(),
    permissionType: int8(),
  },
);
/** The request as it is read. */
export type DescribeAclsRequest = BodyOf<typeof DescribeAclsRequest>;

/** The rules that match. */
export const DescribeAclsResponse = message(
  { name: 'DescribeAclsResponse', versions: '1-3', flexible: '2+' },
  {
    throttleTimeMs: int32(),
    errorCode: int16(),
    errorMessage: string('0+', { nullable: '0+' }),
    resources: array({
      resourceType: int8(),
      resourceName: string(),
      patternType: int8('1+', { default: 3 }),
      acls: array({ principal: string(), host: string(), operation: int8(), permissionType: int8() }),
    }),
  },
);
/** The response as it is read. */
export type DescribeAclsResponse = BodyOf<typeof DescribeAclsResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const DescribeAcls = api(
  { key: 29, name: 'DescribeAcls', advertised: '1-3', listeners: ['broker', 'controller'] },
  DescribeAclsRequest,
  DescribeAclsResponse,
);
