/**
 * DescribeClientQuotas, API key 48.
 *
 * Describes client quotas. Names, types and versions of the fields are those of Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, type BodyOf, boolean, float64, int8, int16, int32, message, string } from '../schema.ts';

/** Filters. */
export const DescribeClientQuotasRequest = message(
  { name: 'DescribeClientQuotasRequest', versions: '0-1', flexible: '1+' },
  {
    components: array({ entityType: string(), matchType: int8(), match: string('0+', { nullable: '0+' }) }),
    strict: boolean(),
  },
);
/** The request as it is read. */
export type DescribeClientQuotasRequest = BodyOf<typeof DescribeClientQuotasRequest>;

/** The quotas that match. */
export const DescribeClientQuotasResponse = message(
  { name: 'DescribeClientQuotasResponse', versions: '0-1', flexible: '1+' },
  {
    throttleTimeMs: int32(),
    errorCode: int16(),
    errorMessage: string('0+', { nullable: '0+' }),
    entries: array(
      {
        entity: array({ entityType: string(), entityName: string('0+', { nullable: '0+' }) }),
        values: array({ key: string(), value: float64() }),
      },
      '0+',
      { nullable: '0+' },
    ),
  },
);
/** The response as it is read. */
export type DescribeClientQuotasResponse = BodyOf<typeof DescribeClientQuotasResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const DescribeClientQuotas = api(
  { key: 48, name: 'DescribeClientQuotas', advertised: '0-1', listeners: ['broker'] },
  DescribeClientQuotasRequest,
  DescribeClientQuotasResponse,
);
