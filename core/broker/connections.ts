/**
 * Connections: requests come in as frames, are taken up in order, and their answers leave in that order.
 *
 * Requests behind a long poll are worked on meanwhile; their answers wait for their turn. Four limits keep clients
 * from filling the memory: IN_FLIGHT_MAX requests, RESPONSE_WINDOW_BYTES of answers that one has not read, and the
 * node's budgets for requests and for responses. At a limit the connection is not read until it is below again, so
 * that a client that does not read its answers cannot hold the budget for requests with what it has sent behind them.
 *
 * This is the one place where a client's fault is caught: a frame that cannot be decoded ends its connection with
 * one line in the log. An AssertionError is our own fault and ends the node. A crash ends every connection.
 */
import { ProtocolError } from '../lib/protocol-error.ts';
import { createQueue, dequeue, enqueue, peek, queueAt } from '../lib/queue.ts';
import type { ConnectionId, Env, NetworkInput, Outbox } from '../lib/world.ts';
import { isServed } from '../protocol/api.ts';
import { decodeRequest, peekRequest } from '../protocol/codec.ts';
import { isForControllers } from './addresses.ts';
import { endConnection, finish, pumpLater, release } from './answers.ts';
import { answerUnknownVersion } from './api/18-api-versions.ts';
import { type Handler, servedApi } from './api/table.ts';
import { cancelGather } from './groups/calls.ts';
import { budgetLeft, cancelFetch } from './partitions/fetch.ts';
import type { Connection, Node, Request } from './state.ts';

/** Requests of one connection that are not answered yet. */
export const IN_FLIGHT_MAX = 128;
/**
 * Bytes of answers that a connection's peer has not taken, or that are being read for it; beyond it no further
 * request is taken up.
 */
export const RESPONSE_WINDOW_BYTES = 8 * 1024 * 1024;

/** What a request costs beside its bytes, as charged to the budget: a small one is not for nothing. */
export const REQUEST_OVERHEAD_BYTES = 512;

type Accepted = Extract<NetworkInput, { kind: 'accepted' }>;

/** A client has connected. */
export function acceptConnection(node: Node, input: Accepted, out: Outbox): void {
  if (!mayAccept(node, input.listener) || node.connections.size >= node.config['max.connections']) {
    out.push({ kind: 'close', connection: input.connection, abort: true });
    return;
  }
  node.connections.set(input.connection, {
    id: input.connection,
    listener: input.listener,
    peerHost: input.peerHost,
    peerPort: input.peerPort,
    localHost: input.localHost,
    requests: createQueue(),
    taken: 0,
    unsentBytes: 0,
    readingBytes: 0,
    fault: null,
    isPaused: false,
    isStarved: false,
    isPumping: false,
    isClosing: false,
  });
}

/** Members of the quorum are heard from its opening on, and to the end; clients while they are served. */
function mayAccept(node: Node, listener: number): boolean {
  return node.listeners[listener]?.isForControllers === true ? node.controller !== null : node.stage === 'serving';
}

/** A frame has come. It is queued, and handled as soon as the limits allow. */
export function takeFrame(node: Node, env: Env, id: ConnectionId, frame: Uint8Array, out: Outbox): void {
  const connection = node.connections.get(id);
  if (connection === undefined || connection.isClosing) return;
  const head = peekRequest(frame);
  if (head === null) {
    endConnection(node, env, connection, 'a frame is too short for a request', out);
    return;
  }
  const sizeBytes = frame.length + REQUEST_OVERHEAD_BYTES;
  enqueue(connection.requests, {
    connection,
    frame,
    sizeBytes,
    state: 'received',
    apiKey: head.apiKey,
    version: head.apiVersion,
    correlationId: head.correlationId,
    clientId: null,
    parts: null,
    fetch: null,
    gather: null,
  });
  node.requestBytes += sizeBytes;
  pumpLater(node, connection);
}

/** Bytes have left for the network. */
export function noteSent(node: Node, id: ConnectionId, sizeBytes: number): void {
  const connection = node.connections.get(id);
  if (connection === undefined) return;
  const count = Math.min(sizeBytes, connection.unsentBytes);
  connection.unsentBytes -= count;
  node.responseBytes -= count;
  if (connection.isPaused) pumpLater(node, connection);
}

/** The connection is gone: what nobody has begun is dropped, what is under way ends without an answer. */
export function dropConnection(node: Node, id: ConnectionId): void {
  const connection = node.connections.get(id);
  if (connection === undefined) return;
  node.connections.delete(id);
  connection.isClosing = true;
  node.responseBytes -= connection.unsentBytes;
  connection.unsentBytes = 0;
  for (let request = dequeue(connection.requests); request !== undefined; request = dequeue(connection.requests)) {
    request.connection = null;
    if (request.state === 'received') release(node, request);
    else if (request.fetch !== null) cancelFetch(node, request.fetch);
    else if (request.gather !== null) cancelGather(node, request.gather);
  }
  connection.taken = 0;
}

/** Sends the answers whose turn has come, takes up what the limits allow, and pauses or resumes reading. */
export function pumpConnection(node: Node, env: Env, connection: Connection, out: Outbox): void {
  connection.isPumping = false;
  endFaulty(node, env, connection, out);
  sendReady(connection, out);
  const { requests } = connection;
  while (!connection.isClosing && connection.taken < requests.size && mayTake(node, connection)) {
    const request = queueAt(requests, connection.taken);
    connection.taken += 1;
    takeUp(node, env, connection, request, out);
    endFaulty(node, env, connection, out);
    sendReady(connection, out);
  }
  if (!connection.isClosing) regulate(node, connection, out);
}

/** Without one of its answers a connection is of no use: the next would be taken for it. */
function endFaulty(node: Node, env: Env, connection: Connection, out: Outbox): void {
  if (connection.fault !== null) endConnection(node, env, connection, connection.fault, out);
}

/** A node that stops takes up nothing new: its clients ask another one, or again. */
function mayTake(node: Node, connection: Connection): boolean {
  const isServing = node.stage === 'serving' || isForControllers(node, connection);
  return isServing && !isWindowFull(node, connection);
}

/**
 * Whether the peer has to read first, or our disk. With the node's budget spent each connection may still have one
 * answer, so that it always moves: what keeps it from more is its own, and ends.
 */
function isWindowFull(node: Node, connection: Connection): boolean {
  const ownBytes = connection.unsentBytes + connection.readingBytes;
  if (ownBytes >= RESPONSE_WINDOW_BYTES) return true;
  return ownBytes > 0 && budgetLeft(node) <= 0;
}

function takeUp(node: Node, env: Env, connection: Connection, request: Request, out: Outbox): void {
  const frame = request.frame as Uint8Array;
  request.state = 'working';
  request.frame = null;
  const served = servedApi(request.apiKey, isForControllers(node, connection));
  if (served === undefined) {
    refuse(node, env, request, `API ${request.apiKey} is not served`, out);
  } else if (isServed(served.api, request.version)) {
    const body = decode(node, env, request, frame, out);
    if (body !== null) (served.handle as Handler)(node, env, request, body, out);
  } else if (!answerUnknownVersion(node, request)) {
    const reason = `version ${request.version} of ${served.api.name} is not served`;
    refuse(node, env, request, reason, out);
  }
}

/** The request ends with its connection. */
function refuse(node: Node, env: Env, request: Request, reason: string, out: Outbox): void {
  if (request.connection !== null) endConnection(node, env, request.connection, reason, out);
  finish(node, request);
}

/** The request's body; null when it makes no sense, and then the connection is ended. */
function decode(node: Node, env: Env, request: Request, frame: Uint8Array, out: Outbox): unknown {
  try {
    const { header, body } = decodeRequest(request.apiKey as 0, request.version, frame);
    request.clientId = header.clientId;
    return body;
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    const reason = `a request of API ${request.apiKey}, version ${request.version} makes no sense: ${error.message}`;
    refuse(node, env, request, reason, out);
    return null;
  }
}

/** One 'send' for all answers at the front of the queue that are ready. */
function sendReady(connection: Connection, out: Outbox): void {
  const { requests } = connection;
  let parts: Uint8Array[] | null = null;
  for (let first = peek(requests); first !== undefined && first.state === 'done'; first = peek(requests)) {
    dequeue(requests);
    connection.taken -= 1;
    if (first.parts !== null && parts === null) parts = first.parts;
    else if (first.parts !== null) parts?.push(...first.parts);
    first.parts = null;
  }
  if (parts !== null && !connection.isClosing) out.push({ kind: 'send', connection: connection.id, parts });
}

function regulate(node: Node, connection: Connection, out: Outbox): void {
  const isOverBudget = node.requestBytes > node.config['queued.max.request.bytes'];
  const isBehind = connection.taken < connection.requests.size;
  const isWaiting = isBehind || isWindowFull(node, connection);
  const isFull = isOverBudget || isWaiting || connection.requests.size >= IN_FLIGHT_MAX;
  if (isFull && !connection.isPaused) {
    connection.isPaused = true;
    out.push({ kind: 'pause', connection: connection.id });
  } else if (!isFull && connection.isPaused) {
    connection.isPaused = false;
    out.push({ kind: 'resume', connection: connection.id });
  }
  if (isOverBudget && !connection.isStarved) {
    connection.isStarved = true;
    node.starved.push(connection);
  }
}
