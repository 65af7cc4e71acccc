/**
 * How a request ends: with an answer, without one, or with the end of its connection.
 *
 * An answer is encoded at once and charged to the connection's window and the node's budget; it leaves when all
 * requests before it have been answered, which `connections.ts` sees to before the step ends.
 */
import type { Env, Outbox } from '../lib/world.ts';
import { encodeResponse } from '../protocol/codec.ts';
import type { ApiKey, ResponseInputOf } from '../protocol/messages/index.ts';
import { complain } from './say.ts';
import type { Connection, Node, Request } from './state.ts';

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
    request.parts = encodeResponse(apiKey, version, request.correlationId, body);
    let sizeBytes = 0;
    for (const part of request.parts) sizeBytes += part.length;
    connection.unsentBytes += sizeBytes;
    node.responseBytes += sizeBytes;
  }
  finish(node, request);
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
