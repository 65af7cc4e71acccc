/**
 * ListConfigResources, API key 74.
 *
 * Lists the resources that have a configuration. Names, types and versions of the fields are those of Apache
 * Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, arrayOf, type BodyOf, int8, int16, int32, message, string } from '../schema.ts';

/** The types of resource, from version 1. */
export const ListConfigResourcesRequest = message(
  { name: 'ListConfigResourcesRequest', versions: '0-1', flexible: '0+' },
  { resourceTypes: arrayOf(int8(), '1+') },
);
/** The request as it is read. */
export type ListConfigResourcesRequest = BodyOf<typeof ListConfigResourcesRequest>;

/** The resources. */
export const ListConfigResourcesResponse = message(
  { name: 'ListConfigResourcesResponse', versions: '0-1', flexible: '0+' },
  {
    throttleTimeMs: int32(),
    errorCode: int16(),
    configResources: array({ resourceName: string(), resourceType: int8('1+', { default: 16, ignorable: true }) }),
  },
);
/** The response as it is read. */
export type ListConfigResourcesResponse = BodyOf<typeof ListConfigResourcesResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const ListConfigResources = api(
  { key: 74, name: 'ListConfigResources', advertised: '0-1', listeners: ['broker'] },
  ListConfigResourcesRequest,
  ListConfigResourcesResponse,
);
