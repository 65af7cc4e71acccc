/**
 * AlterClientQuotas, API key 49.
 *
 * Changes client quotas. Names, types and versions of the fields are those of Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, type BodyOf, boolean, float64, int16, int32, message, string } from '../schema.ts';

/** The changes. */
export const AlterClientQuotasRequest = message(
  { name: 'AlterClientQuotasRequest', versions: '0-1', flexible: '1+' },
  {
    entries: array({
      entity: array({ entityType: string(), entityName: string('0+', { nullable: '0+' }) }),
      ops: array({ key: string(), value: float64(), remove: boolean() }),
    }),
    validateOnly: boolean(),
  },
);
/** The request as it is read. */
export type AlterClientQuotasRequest = BodyOf<typeof AlterClientQuotasRequest>;

/** One error code an entity. */
export const AlterClientQuotasResponse = message(
  { name: 'AlterClientQuotasResponse', versions: '0-1', flexible: '1+' },
  {
    throttleTimeMs: int32(),
    entries: array({
      errorCode: int16(),
      errorMessage: string('0+', { nullable: '0+' }),
      entity: array({ entityType: string(), entityName: string('0+', { nullable: '0+' }) }),
    }),
  },
);
/** The response as it is read. */
export type AlterClientQuotasResponse = BodyOf<typeof AlterClientQuotasResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const AlterClientQuotas = api(
  { key: 49, name: 'AlterClientQuotas', advertised: '0-1', listeners: ['broker', 'controller'] },
  AlterClientQuotasRequest,
  AlterClientQuotasResponse,
);
