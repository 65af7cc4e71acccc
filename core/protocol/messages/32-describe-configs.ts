/**
 * DescribeConfigs, API key 32.
 *
 * Describes the configuration of topics, brokers, loggers and groups. Names, types and versions of the fields
 * are those of Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, arrayOf, type BodyOf, boolean, int8, int16, int32, message, string } from '../schema.ts';

/** The resources to describe. */
export const DescribeConfigsRequest = message(
  { name: 'DescribeConfigsRequest', versions: '1-4', flexible: '4+' },
  {
    resources: array({
      resourceType: int8(),
      resourceName: string(),
      configurationKeys: arrayOf(string(), '0+', { nullable: '0+' }),
    }),
    includeSynonyms: boolean('1+', { default: false }),
    includeDocumentation: boolean('3+', { default: false }),
  },
);
/** The request as it is read. */
export type DescribeConfigsRequest = BodyOf<typeof DescribeConfigsRequest>;

/** Their settings, and where each value comes from. */
export const DescribeConfigsResponse = message(
  { name: 'DescribeConfigsResponse', versions: '1-4', flexible: '4+' },
  {
    throttleTimeMs: int32(),
    results: array({
      errorCode: int16(),
      errorMessage: string('0+', { nullable: '0+' }),
      resourceType: int8(),
      resourceName: string(),
      configs: array({
        name: string(),
        value: string('0+', { nullable: '0+' }),
        readOnly: boolean(),
        configSource: int8('1+', { default: -1, ignorable: true }),
        isSensitive: boolean(),
        synonyms: array({ name: string('1+'), value: string('1+', { nullable: '0+' }), source: int8('1+') }, '1+', {
          ignorable: true,
        }),
        configType: int8('3+', { default: 0, ignorable: true }),
        documentation: string('3+', { nullable: '0+', ignorable: true }),
      }),
    }),
  },
);
/** The response as it is read. */
export type DescribeConfigsResponse = BodyOf<typeof DescribeConfigsResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const DescribeConfigs = api(
  { key: 32, name: 'DescribeConfigs', advertised: '1-4', listeners: ['broker', 'controller'] },
  DescribeConfigsRequest,
  DescribeConfigsResponse,
);
