/**
 * FindCoordinator, API key 10.
 *
 * Finds the coordinator of a group, a transaction or a share partition. From version 4 many at once. Names,
 * types and versions of the fields are those of Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, arrayOf, type BodyOf, int8, int16, int32, message, string } from '../schema.ts';

/** The keys to look up. */
export const FindCoordinatorRequest = message(
  { name: 'FindCoordinatorRequest', versions: '0-6', flexible: '3+' },
  { key: string('0-3'), keyType: int8('1+', { default: 0 }), coordinatorKeys: arrayOf(string(), '4+') },
);
/** The request as it is read. */
export type FindCoordinatorRequest = BodyOf<typeof FindCoordinatorRequest>;

/** The coordinators. */
export const FindCoordinatorResponse = message(
  { name: 'FindCoordinatorResponse', versions: '0-6', flexible: '3+' },
  {
    throttleTimeMs: int32('1+', { ignorable: true }),
    errorCode: int16('0-3'),
    errorMessage: string('1-3', { nullable: '1-3', ignorable: true }),
    nodeId: int32('0-3'),
    host: string('0-3'),
    port: int32('0-3'),
    coordinators: array(
      {
        key: string('4+'),
        nodeId: int32('4+'),
        host: string('4+'),
        port: int32('4+'),
        errorCode: int16('4+'),
        errorMessage: string('4+', { nullable: '4+', ignorable: true }),
      },
      '4+',
    ),
  },
);
/** The response as it is read. */
export type FindCoordinatorResponse = BodyOf<typeof FindCoordinatorResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const FindCoordinator = api(
  { key: 10, name: 'FindCoordinator', advertised: '0-6', listeners: ['broker'] },
  FindCoordinatorRequest,
  FindCoordinatorResponse,
);
