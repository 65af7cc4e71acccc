/**
 * Envelope, API key 58.
 *
 * Carries a client's request from a broker to the controller. Names, types and versions of the fields are those
 * of Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import { type BodyOf, bytes, int16, message } from '../schema.ts';

/** The request, its principal and its address. */
export const EnvelopeRequest = message(
  { name: 'EnvelopeRequest', versions: '0', flexible: '0+' },
  { requestData: bytes(), requestPrincipal: bytes('0+', { nullable: '0+' }), clientHostAddress: bytes() },
);
/** The request as it is read. */
export type EnvelopeRequest = BodyOf<typeof EnvelopeRequest>;

/** The response. */
export const EnvelopeResponse = message(
  { name: 'EnvelopeResponse', versions: '0', flexible: '0+' },
  { responseData: bytes('0+', { nullable: '0+', default: null }), errorCode: int16() },
);
/** The response as it is read. */
export type EnvelopeResponse = BodyOf<typeof EnvelopeResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const Envelope = api(
  { key: 58, name: 'Envelope', advertised: '0', listeners: ['controller'] },
  EnvelopeRequest,
  EnvelopeResponse,
);
