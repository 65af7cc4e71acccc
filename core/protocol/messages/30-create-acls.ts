/**
 * CreateAcls, API key 30.
 *
 * Creates access rules. Names, types and versions of the fields are those of Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, type BodyOf, int8, int16, int32, message, string } from '../schema.ts';

/** The rules to create. */
export const CreateAclsRequest = message(
  { name: 'CreateAclsRequest', versions: '1-3', flexible: '2+' },
  {
    creations: array({
      resourceType: int8(),
      resourceName: string(),
      resourcePatternType: int8('1+', { default: 3 }),
      principal: string(),
      host: string(),
      operation: int8(),
      permissionType: int8(),
    }),
  },
);
/** The request as it is read. */
export type CreateAclsRequest = BodyOf<typeof CreateAclsRequest>;

/** One error code a rule. */
export const CreateAclsResponse = message(
  { name: 'CreateAclsResponse', versions: '1-3', flexible: '2+' },
  { throttleTimeMs: int32(), results: array({ errorCode: int16(), errorMessage: string('0+', { nullable: '0+' }) }) },
);
/** The response as it is read. */
export type CreateAclsResponse = BodyOf<typeof CreateAclsResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const CreateAcls = api(
  { key: 30, name: 'CreateAcls', advertised: '1-3', listeners: ['broker', 'controller'] },
  CreateAclsRequest,
  CreateAclsResponse,
);
