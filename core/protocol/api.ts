/**
 * An API: its key, its name, its two messages, and where and in which versions it is offered.
 *
 * A version can be known and yet not be advertised (not stable), or advertised and yet not be known: Produce 0 to
 * 2, because old librdkafka looks for them (KAFKA-18659). Only versions that are known can be decoded.
 */
import { type AnyMessage, inRange, parseVersions, type Range, type Versions } from './schema.ts';

/** The kind of listener that offers an API. */
export type Listener = 'broker' | 'controller';

/** One API, `K` its key as a literal. */
export interface Api<K extends number, Q extends AnyMessage, R extends AnyMessage> {
  readonly key: K;
  readonly name: string;
  readonly request: Q;
  readonly response: R;
  /** What Apache Kafka 4.4 answers to ApiVersions; we advertise these versions or none. */
  readonly advertised: Range;
  readonly listeners: readonly Listener[];
}

/** An API whose messages are not known to the type checker. */
export type AnyApi = Api<number, AnyMessage, AnyMessage>;

/** Declares an API. */
export function api<const K extends number, Q extends AnyMessage, R extends AnyMessage>(
  head: {
    readonly key: K;
    readonly name: string;
    readonly advertised: Versions;
    readonly listeners: readonly Listener[];
  },
  request: Q,
  response: R,
): Api<K, Q, R> {
  const { key, name, listeners } = head;
  return { key, name, request, response, advertised: parseVersions(head.advertised), listeners };
}

/** Whether requests of a version can be decoded and are offered. */
export function isServed(item: AnyApi, version: number): boolean {
  return inRange(version, item.advertised) && inRange(version, item.request.versions);
}

const API_VERSIONS_KEY = 18;

/** The version of the request's head: 2 where the API's version is flexible. */
export function requestHeaderVersion(item: AnyApi, version: number): 1 | 2 {
  return inRange(version, item.request.flexible) ? 2 : 1;
}

/** The version of the response's head: 1 where flexible, but always 0 for ApiVersions, which older clients read. */
export function responseHeaderVersion(item: AnyApi, version: number): 0 | 1 {
  return item.key !== API_VERSIONS_KEY && inRange(version, item.response.flexible) ? 1 : 0;
}
