/**
 * One socket of a real node: cuts what comes into frames, gathers what goes.
 *
 * Going: parts are queued, and everything that is queued for a connection when the turn of the event loop ends leaves
 * in one writev; one is under way at a time, and its end is told as one 'sent'. Coming: chunks go through the framing
 * machine of core. A peer can end, break or stall its socket at any moment; nothing that it does raises an error here.
 * A crash resets all sockets.
 */
import type net from 'node:net';
import type { CloseReason, ConnectionId, NetworkInput } from '../../core/lib/world.ts';
import { bytesHeld, createFramer, type Framer, push } from '../../core/protocol/frame.ts';
import { describeError } from '../disk/errors.ts';

/** What all connections of a node share. */
export interface Shared {
  readonly deliver: (input: NetworkInput) => void;
  /** Told of parts that have left: nothing here looks at them any more. */
  readonly released: (parts: readonly Uint8Array[]) => void;
  readonly connections: Map<ConnectionId, Connection>;
  /** Connections with queued parts, flushed when the turn ends. */
  dirty: Connection[];
  /** Sockets that the node has forgotten and that still send their last bytes. */
  readonly lingering: Set<net.Socket>;
  /** Bytes of half-received frames on all connections. */
  heldBytes: number;
  readonly frameBudgetBytes: number;
  /** Whether the node has not yet taken what it was given: then nothing more is cut. */
  readonly isBehind: () => boolean;
}

/** One socket. It is in `Shared.connections` until its 'closed' has been delivered. */
export interface Connection {
  readonly id: ConnectionId;
  readonly socket: net.Socket;
  readonly framer: Framer;
  /** Bytes of memory that a half-received frame holds. */
  heldBytes: number;
  /** Bytes that have come and are not cut yet; the socket is not read meanwhile. */
  rest: Uint8Array | null;
  /** A turn in which the rest will be cut is on its way. */
  goingOn: boolean;
  /** The node wants no more frames for now. */
  paused: boolean;
  /** When the frame began that has been half received; performance.now(). */
  heldSinceMs: number;
  queue: Uint8Array[];
  queuedBytes: number;
  /** So many queued parts are copied together where they are small. */
  gatherAt: number;
  /** A writev is under way. */
  flushing: boolean;
  /** False while an outgoing connection is being made. */
  connected: boolean;
  /** The node wants it closed once the queue is empty. */
  ending: boolean;
  closed: boolean;
}

/** How long a closed connection waits for its peer to read the last bytes and finish too. */
export const LINGER_MS = 2_000;
/** Frames of one connection in one turn: tiny ones weigh far more as requests than as bytes, and the node may pause. */
const FRAMES_PER_TURN_MAX = 128;
/** Smaller neighbours are copied together: cheaper than a buffer of their own in writev. Bytes. */
const SMALL_PART_BYTES = 1_024;
/** Parts that wait for a peer before they are copied together for the first time. */
const GATHER_PARTS = 1_024;

/** Takes a socket over. One that is being connected is given to the node by `connected`. */
export function createConnection(
  shared: Shared,
  id: ConnectionId,
  socket: net.Socket,
  frameBytesMax: number,
): Connection {
  const connection: Connection = {
    id,
    socket,
    framer: createFramer(frameBytesMax),
    heldBytes: 0,
    rest: null,
    goingOn: false,
    paused: false,
    heldSinceMs: 0,
    queue: [],
    queuedBytes: 0,
    gatherAt: GATHER_PARTS,
    flushing: false,
    connected: !socket.connecting,
    ending: false,
    closed: false,
  };
  shared.connections.set(id, connection);
  socket.on('data', (chunk: Buffer) => receive(shared, connection, chunk));
  socket.on('end', () => {
    while (connection.rest !== null && !connection.closed) cut(shared, connection, connection.rest);
    if (!connection.ending) finish(shared, connection, 'end', '');
  });
  socket.on('error', (error) => finish(shared, connection, 'reset', describeError(error)));
  socket.on('close', () => finish(shared, connection, connection.ending ? 'asked' : 'reset', ''));
  return connection;
}

/** An outgoing connection has been made: what was queued meanwhile leaves. */
export function connected(shared: Shared, connection: Connection): void {
  connection.connected = true;
  shared.deliver({ kind: 'connected', connection: connection.id });
  if (connection.queue.length > 0 || connection.ending) markDirty(shared, connection);
}

/** Queues parts; they leave when the turn ends. */
export function send(shared: Shared, connection: Connection, parts: readonly Uint8Array[]): void {
  if (connection.closed || connection.ending) return;
  for (const part of parts) {
    connection.queue.push(part);
    connection.queuedBytes += part.length;
  }
  if (connection.queue.length >= connection.gatherAt) {
    // Behind a peer that does not read, small parts would weigh many times their bytes.
    connection.queue = gather(connection.queue);
    connection.gatherAt = Math.max(GATHER_PARTS, connection.queue.length * 2);
  }
  markDirty(shared, connection);
}

/** Ends it once all that was queued is sent, or at once. */
export function close(shared: Shared, connection: Connection, abort: boolean): void {
  if (connection.closed) return;
  if (abort || !connection.connected) {
    finish(shared, connection, 'asked', '');
    return;
  }
  connection.ending = true;
  markDirty(shared, connection);
}

/** Tells the node that it is over and lets go of the socket; a second time it does nothing. */
export function finish(shared: Shared, connection: Connection, reason: CloseReason, detail: string): void {
  if (connection.closed) return;
  connection.closed = true;
  shared.heldBytes -= connection.heldBytes;
  connection.heldBytes = 0;
  connection.rest = null;
  shared.connections.delete(connection.id);
  letGo(shared, connection, reason);
  shared.deliver({ kind: 'closed', connection: connection.id, reason, detail });
}

/** Closes the socket of a connection that is over. A peer that only finished still gets what was on its way to it. */
export function letGo(shared: Shared, connection: Connection, reason: CloseReason): void {
  const { socket, queue } = connection;
  connection.queue = [];
  if (reason === 'end') {
    for (const part of queue) socket.write(part);
    socket.destroySoon();
    linger(shared, socket);
  } else if (!socket.destroyed) {
    socket.resetAndDestroy();
  }
}

function receive(shared: Shared, connection: Connection, chunk: Buffer): void {
  if (connection.closed || connection.ending) return;
  if (connection.rest === null) cut(shared, connection, chunk);
  else connection.rest = Buffer.concat([connection.rest, chunk]);
}

/** Stops or goes on reading, as the node wants. */
export function setPaused(shared: Shared, connection: Connection, paused: boolean): void {
  connection.paused = paused;
  if (paused) connection.socket.pause();
  else if (connection.rest === null) connection.socket.resume();
  else goOnSoon(shared, connection);
}

function goOnSoon(shared: Shared, connection: Connection): void {
  if (connection.goingOn) return;
  connection.goingOn = true;
  setImmediate(() => {
    connection.goingOn = false;
    const { rest } = connection;
    if (rest === null || connection.paused || connection.closed || connection.ending) return;
    if (shared.isBehind()) {
      goOnSoon(shared, connection);
      return;
    }
    cut(shared, connection, rest);
    if (connection.rest === null && !connection.paused && !connection.closed) connection.socket.resume();
  });
}

/** Cuts frames off a chunk, so many at most; the rest waits for another turn. */
function cut(shared: Shared, connection: Connection, chunk: Uint8Array): void {
  const frames: Uint8Array[] = [];
  const verdict = push(connection.framer, chunk, frames, FRAMES_PER_TURN_MAX);
  connection.rest = verdict === 'more' ? chunk.subarray(connection.framer.at) : null;
  if (connection.rest !== null) {
    connection.socket.pause();
    goOnSoon(shared, connection);
  }
  for (const bytes of frames) shared.deliver({ kind: 'frame', connection: connection.id, bytes });
  if (verdict === 'badLength') {
    finish(shared, connection, 'badFrame', `a frame of ${connection.framer.length} bytes was announced`);
    return;
  }
  const heldBytes = bytesHeld(connection.framer);
  if (heldBytes > 0 && (connection.heldBytes === 0 || frames.length > 0)) connection.heldSinceMs = performance.now();
  shared.heldBytes += heldBytes - connection.heldBytes;
  connection.heldBytes = heldBytes;
  if (shared.heldBytes > shared.frameBudgetBytes) closeSlowest(shared);
}

/** Frees memory: the peer that has sent its frame the slowest has to go. */
function closeSlowest(shared: Shared): void {
  const nowMs = performance.now();
  let slowest: Connection | null = null;
  let lowestRate = Number.POSITIVE_INFINITY;
  for (const connection of shared.connections.values()) {
    if (connection.heldBytes === 0) continue;
    const rate = connection.heldBytes / Math.max(1, nowMs - connection.heldSinceMs);
    if (rate >= lowestRate) continue;
    lowestRate = rate;
    slowest = connection;
  }
  if (slowest === null) return;
  const detail = `${slowest.heldBytes} bytes of a frame were held while ${shared.heldBytes} were in all`;
  finish(shared, slowest, 'budget', detail);
}

function markDirty(shared: Shared, connection: Connection): void {
  if (connection.flushing || !connection.connected) return;
  connection.flushing = true;
  if (shared.dirty.length === 0) process.nextTick(flushAll, shared);
  shared.dirty.push(connection);
}

function flushAll(shared: Shared): void {
  const { dirty } = shared;
  shared.dirty = [];
  for (const connection of dirty) flush(shared, connection);
}

function flush(shared: Shared, connection: Connection): void {
  if (connection.closed) return;
  if (connection.queue.length === 0) {
    connection.flushing = false;
    if (connection.ending) {
      connection.socket.end();
      connection.socket.resume();
      linger(shared, connection.socket);
    }
    return;
  }
  const { queue, queuedBytes, socket } = connection;
  connection.queue = [];
  connection.queuedBytes = 0;
  const parts = gather(queue);
  socket.cork();
  for (let i = 0; i < parts.length - 1; i++) socket.write(parts[i] as Uint8Array);
  socket.write(parts[parts.length - 1] as Uint8Array, (error) => {
    if (error || connection.closed) return; // The socket's own events tell.
    shared.released(queue);
    shared.deliver({ kind: 'sent', connection: connection.id, sizeBytes: queuedBytes });
    flush(shared, connection);
  });
  socket.uncork();
}

/** Copies runs of small parts together. */
function gather(queue: Uint8Array[]): Uint8Array[] {
  if (queue.length === 1) return queue;
  const parts: Uint8Array[] = [];
  for (let i = 0; i < queue.length; ) {
    let end = i;
    let sizeBytes = 0;
    while (end < queue.length && (queue[end] as Uint8Array).length < SMALL_PART_BYTES) {
      sizeBytes += (queue[end] as Uint8Array).length;
      end += 1;
    }
    if (end - i < 2) {
      parts.push(queue[i] as Uint8Array);
      i += 1;
      continue;
    }
    const together = Buffer.allocUnsafe(sizeBytes);
    for (let at = 0; i < end; i++) {
      together.set(queue[i] as Uint8Array, at);
      at += (queue[i] as Uint8Array).length;
    }
    parts.push(together);
  }
  return parts;
}

/** Waits a little for the peer: closing at once would reset it under the last bytes. */
function linger(shared: Shared, socket: net.Socket): void {
  if (socket.destroyed) return;
  shared.lingering.add(socket);
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => {
    clearTimeout(timer);
    shared.lingering.delete(socket);
  });
}
