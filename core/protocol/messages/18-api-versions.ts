/**
 * ApiVersions, API key 18.
 *
 * Lists what a broker can do: its APIs and versions, its features. The one API whose response head stays at
 * version 0, so that any client can read it. Names, types and versions of the fields are those of Apache Kafka
 * 4.4.
 */
import { api } from '../api.ts';
import { array, type BodyOf, boolean, int16, int32, int64, message, string } from '../schema.ts';

/** Who asks. */
export const ApiVersionsRequest = message(
  { name: 'ApiVersionsRequest', versions: '0-5', flexible: '3+' },
  {
    clientSoftwareName: string('3+', { ignorable: true }),
    clientSoftwareVersion: string('3+', { ignorable: true }),
    /** The cluster and node that the client believes to talk to (KIP-1242). */
    clusterId: string('5+', { nullable: '5+', default: null, ignorable: true }),
    nodeId: int32('5+', { default: -1, ignorable: true }),
  },
);
/** The request as it is read. */
export type ApiVersionsRequest = BodyOf<typeof ApiVersionsRequest>;

/** The APIs, the features supported and those in force. */
export const ApiVersionsResponse = message(
  { name: 'ApiVersionsResponse', versions: '0-5', flexible: '3+' },
  {
    errorCode: int16(),
    apiKeys: array({ apiKey: int16(), minVersion: int16(), maxVersion: int16() }),
    throttleTimeMs: int32('1+', { ignorable: true }),
    supportedFeatures: array({ name: string('3+'), minVersion: int16('3+'), maxVersion: int16('3+') }, '3+', {
      tag: 0,
      ignorable: true,
    }),
    /** Counts the changes of features; -1 if unknown. */
    finalizedFeaturesEpoch: int64('3+', { tag: 1, default: -1, ignorable: true }),
    finalizedFeatures: array({ name: string('3+'), maxVersionLevel: int16('3+'), minVersionLevel: int16('3+') }, '3+', {
      tag: 2,
      ignorable: true,
    }),
    zkMigrationReady: boolean('3+', { tag: 3, default: false, ignorable: true }),
  },
);
/** The response as it is read. */
export type ApiVersionsResponse = BodyOf<typeof ApiVersionsResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const ApiVersions = api(
  { key: 18, name: 'ApiVersions', advertised: '0-5', listeners: ['broker', 'controller'] },
  ApiVersionsRequest,
  ApiVersionsResponse,
);
