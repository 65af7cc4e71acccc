/**
 * How a request ends: with an answer, without one, or with the end of its connection.
 *
 * An answer is encoded at once and charged to the connection's window and the node's budget; it leaves when all
 * requests before it have been answered, which `connections.ts` sees to before the step ends.
 *
 * What a client has written may come back to it in an error's message: messages are cut here, for all APIs. So is any
 * string that an old version cannot say (`protocol/fit.ts`). An answer that still cannot be written ends its connection
 * only.
 */
import { ProtocolError } from '../lib/protocol-error.ts';
import type { Env, Outbox } from '../lib/world.ts';
import { encodeResponse, fitResponse } from '../protocol/codec.ts';
import type { ApiKey, ResponseInputOf } from '../protocol/messages/index.ts';
import { complain } from './say.ts';
import type { Connection, Node, Request } from './state.ts';

/** The longest error message that leaves, characters; of what is longer the beginning is said. */
export const ERROR_MESSAGE_CHARS_MAX = 2_000;

/** The APIs whose error messages repeat names and values of the request. */
const REPEATING: ReadonlySet<number> = new Set([19, 20, 32, 33, 37, 44, 50, 57]);
const ELLIPSIS = '…';

/** Where the answers of these APIs keep messages: on top, and in the items of one list. */
interface Told {
  readonly errorMessage?: string | null;
  readonly topics?: readonly Told[];
  readonly responses?: readonly Told[];
  readonly results?: readonly Told[];
}

/** The answer to a request, in the version that was asked. */
export function answer<K extends ApiKey>(node: Node, request: Request, apiKey: K, body: ResponseInputOf<K>): void {
  answerAs(node, request, apiKey, request.version, body);
}

/** The answer in another version than the request's: for ApiVersions, whose clients guess. */
export function answerAs<K extends ApiKey>(
  node: Node,
  request: Request,
  apiKey: K,
  version: number,
  body: ResponseInputOf<K>,
): void {
  const { connection } = request;
  if (connection !== null) {
    request.parts = encode(connection, request, apiKey, version, body);
    let sizeBytes = 0;
    for (const part of request.parts ?? []) sizeBytes += part.length;
    connection.unsentBytes += sizeBytes;
    node.responseBytes += sizeBytes;
  }
  finish(node, request);
}

/** The answer's bytes; null when it cannot be written, and then the connection is to be ended. */
function encode<K extends ApiKey>(
  connection: Connection,
  request: Request,
  apiKey: K,
  version: number,
  body: ResponseInputOf<K>,
): Uint8Array[] | null {
  const parts = encodeAnswer(apiKey, version, request.correlationId, body);
  if (typeof parts !== 'string') return parts;
  connection.fault ??= `the answer of API ${apiKey}, version ${version} cannot be written: ${parts}`;
  return null;
}

/** The bytes of an answer, with its length in front and its texts cut as they must be; or why it has none. */
export function encodeAnswer<K extends ApiKey>(
  apiKey: K,
  version: number,
  correlationId: number,
  body: ResponseInputOf<K>,
): Uint8Array[] | string {
  const told = REPEATING.has(apiKey) ? (withShortMessages(body as Told) as ResponseInputOf<K>) : body;
  try {
    return encodeResponse(apiKey, version, correlationId, told);
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    const fitted = fitResponse(apiKey, version, told);
    return fitted === told ? error.message : encodeAnswer(apiKey, version, correlationId, fitted);
  }
}

function withShortMessages(told: Told): Told {
  const { errorMessage, topics, responses, results } = told;
  return {
    ...told,
    ...(typeof errorMessage === 'string' && { errorMessage: shorten(errorMessage) }),
    ...(topics !== undefined && { topics: topics.map(withShortMessages) }),
    ...(responses !== undefined && { responses: responses.map(withShortMessages) }),
    ...(results !== undefined && { results: results.map(withShortMessages) }),
  };
}

/** A text of at most ERROR_MESSAGE_CHARS_MAX characters; no surrogate pair is cut in half. */
function shorten(text: string): string {
  if (text.length <= ERROR_MESSAGE_CHARS_MAX) return text;
  const end = ERROR_MESSAGE_CHARS_MAX - ELLIPSIS.length;
  const last = text.charCodeAt(end - 1);
  const isHigh = last >= 0xd800 && last <= 0xdbff;
  return text.slice(0, isHigh ? end - 1 : end) + ELLIPSIS;
}

/** The request is done; without an answer (Produce with acks=0) unless one has been made. */
export function finish(node: Node, request: Request): void {
  request.state = 'done';
  request.fetch = null;
  release(node, request);
  if (request.connection !== null) pumpLater(node, request.connection);
}

/**
 * Closes a connection for its client's fault, with one line in the log. What is under way on it ends without an
 * answer once the world has confirmed the end.
 */
export function endConnection(node: Node, env: Env, connection: Connection, reason: string, out: Outbox): void {
  if (connection.isClosing) return;
  connection.isClosing = true;
  const peer = `${connection.peerHost}:${connection.peerPort}`;
  const fields = new Map([
    ['peer', peer],
    ['reason', reason],
  ]);
  complain(node, env, 'connection closed', fields, out);
  out.push({ kind: 'close', connection: connection.id, abort: false });
}

/** Marks that a connection has something to take up or to send; done before the step ends. */
export function pumpLater(node: Node, connection: Connection): void {
  if (connection.isPumping || connection.isClosing) return;
  connection.isPumping = true;
  node.pumping.push(connection);
}

/** The request holds its bytes no longer; connections that waited for the budget may be read again. */
export function release(node: Node, request: Request): void {
  node.requestBytes -= request.sizeBytes;
  request.sizeBytes = 0;
  request.frame = null;
  if (node.starved.length === 0 || node.requestBytes > node.config['queued.max.request.bytes'] / 2) return;
  for (const connection of node.starved.splice(0)) {
    connection.isStarved = false;
    pumpLater(node, connection);
  }
}
