/**
 * UpdateFeatures, API key 57.
 *
 * Changes the feature levels of the cluster. Names, types and versions of the fields are those of Apache Kafka
 * 4.4.
 */
import { api } from '../api.ts';
import { array, type BodyOf, boolean, int8, int16, int32, message, string } from '../schema.ts';

/** The levels wanted. */
export const UpdateFeaturesRequest = message(
  { name: 'UpdateFeaturesRequest', versions: '0-2', flexible: '0+' },
  {
    timeoutMs: int32('0+', { default: 60000 }),
    featureUpdates: array({
      feature: string(),
      maxVersionLevel: int16(),
      allowDowngrade: boolean('0'),
      upgradeType: int8('1+', { default: 1 }),
    }),
    validateOnly: boolean('1+', { default: false }),
  },
);
/** The request as it is read. */
export type UpdateFeaturesRequest = BodyOf<typeof UpdateFeaturesRequest>;

/** The outcome. */
export const UpdateFeaturesResponse = message(
  { name: 'UpdateFeaturesResponse', versions: '0-2', flexible: '0+' },
  {
    throttleTimeMs: int32(),
    errorCode: int16(),
    errorMessage: string('0+', { nullable: '0+' }),
    results: array({ feature: string(), errorCode: int16(), errorMessage: string('0+', { nullable: '0+' }) }, '0-1', {
      ignorable: true,
    }),
  },
);
/** The response as it is read. */
export type UpdateFeaturesResponse = BodyOf<typeof UpdateFeaturesResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const UpdateFeatures = api(
  { key: 57, name: 'UpdateFeatures', advertised: '0-2', listeners: ['broker', 'controller'] },
  UpdateFeaturesRequest,
  UpdateFeaturesResponse,
);
