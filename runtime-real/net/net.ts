/**
 * The network of a real node, on TCP sockets. One socket is `connection.ts`.
 *
 * Inputs are handed to `deliver`, which must only put them into a queue. Connections that are accepted are numbered
 * 1, 2, …; numbers are never used again. A crash closes everything.
 */
import net from 'node:net';
import { unreachable } from '../../core/lib/assert.ts';
import type { ConnectionId, NetworkEffect, NetworkInput } from '../../core/lib/world.ts';
import { describeError, errorCode } from '../disk/errors.ts';
import {
  type Connection,
  close,
  connected,
  createConnection,
  finish,
  letGo,
  type Shared,
  send,
  setPaused,
} from './connection.ts';

/** A network as a host drives it. */
export interface Net {
  /** Carries out one effect; its answers come through `deliver`. */
  execute(effect: NetworkEffect): void;
  /**
   * Closes everything: what was sent still leaves for SHUT_MS at the most, unless `abruptly`. Resolves when the system
   * has let go of all sockets. Nothing is delivered any more.
   */
  shut(abruptly: boolean): Promise<void>;
}

/** Limits of a network. */
export interface NetOptions {
  /** Bytes of half-received frames on all connections; above it the slowest of them is closed. */
  readonly frameBudgetBytes: number;
  /** Accepted connections at one time; one more is closed at once. */
  readonly connectionsMax: number;
  /** Whether whoever takes the inputs is behind: then tiny frames that have come wait as bytes. */
  readonly isBehind?: () => boolean;
  /** Told of parts that have left for the system. */
  readonly released?: (parts: readonly Uint8Array[]) => void;
  /** Whether open sockets keep the process running. */
  readonly keepsProcessAlive: boolean;
  /** Told about what concerns no connection: the system refuses to accept more. */
  readonly trouble: (text: string) => void;
}

/** How long the last bytes may take when everything is closed. */
export const SHUT_MS = 500;
/** The longest time that a timer of Node can wait. */
const TIMER_MS_MAX = 2 ** 31 - 1;

interface State extends Shared {
  readonly options: NetOptions;
  readonly servers: Map<number, net.Server>;
  accepted: ConnectionId;
}

/** A network whose inputs go to `deliver`. */
export function createNet(deliver: (input: NetworkInput) => void, options: NetOptions): Net {
  const state: State = {
    deliver,
    released: options.released ?? (() => {}),
    options,
    servers: new Map(),
    connections: new Map(),
    dirty: [],
    lingering: new Set(),
    heldBytes: 0,
    frameBudgetBytes: options.frameBudgetBytes,
    isBehind: options.isBehind ?? (() => false),
    accepted: 0,
  };
  return { execute: (effect) => execute(state, effect), shut: (abruptly) => shut(state, abruptly) };
}

function execute(state: State, effect: NetworkEffect): void {
  switch (effect.kind) {
    case 'listen':
      listen(state, effect);
      return;
    case 'unlisten':
      state.servers.get(effect.listener)?.close();
      state.servers.delete(effect.listener);
      return;
    case 'connect':
      connect(state, effect);
      return;
    case 'send':
    case 'pause':
    case 'resume':
    case 'close': {
      const connection = state.connections.get(effect.connection);
      if (connection === undefined) return; // It has ended meanwhile.
      if (effect.kind === 'send') send(state, connection, effect.parts);
      else if (effect.kind === 'close') close(state, connection, effect.abort);
      else setPaused(state, connection, effect.kind === 'pause');
      return;
    }
    default:
      unreachable(effect);
  }
}

function listen(state: State, effect: Extract<NetworkEffect, { kind: 'listen' }>): void {
  const { listener, host, port } = effect;
  const server = net.createServer({ noDelay: true, allowHalfOpen: true });
  state.servers.set(listener, server);
  if (!state.options.keepsProcessAlive) server.unref();
  server.maxConnections = state.options.connectionsMax;
  let listening = false;
  server.on('error', (error) => {
    if (listening) {
      state.options.trouble(`a connection could not be accepted: ${describeError(error)}`);
      return;
    }
    state.servers.delete(listener);
    state.deliver({ kind: 'listenFailed', listener, reason: listenReason(error), detail: describeError(error) });
  });
  server.on('connection', (socket) => accept(state, effect, socket));
  server.listen({ port, ...(host === '' ? {} : { host }) }, () => {
    listening = true;
    const bound = server.address() as net.AddressInfo;
    state.deliver({ kind: 'listening', listener, host, port: bound.port });
  });
}

function listenReason(error: unknown): 'inUse' | 'denied' | 'noAddress' | 'other' {
  switch (errorCode(error)) {
    case 'EADDRINUSE':
      return 'inUse';
    case 'EACCES':
    case 'EPERM':
      return 'denied';
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
    case 'EAFNOSUPPORT':
      return 'noAddress';
    default:
      return 'other';
  }
}

function accept(state: State, effect: Extract<NetworkEffect, { kind: 'listen' }>, socket: net.Socket): void {
  const { remoteAddress, remotePort, localAddress, localPort } = socket;
  if (remoteAddress === undefined || localAddress === undefined) {
    socket.on('error', () => {});
    socket.destroy(); // It was reset before we looked.
    return;
  }
  state.accepted += 1;
  const id = state.accepted;
  const connection = createConnection(state, id, socket, effect.frameBytesMax);
  if (!state.options.keepsProcessAlive) socket.unref();
  watchIdle(state, connection, effect.idleMs);
  state.deliver({
    kind: 'accepted',
    connection: id,
    listener: effect.listener,
    peerHost: plainAddress(remoteAddress),
    peerPort: remotePort ?? 0,
    localHost: plainAddress(localAddress),
    localPort: localPort ?? 0,
  });
}

function watchIdle(state: State, connection: Connection, idleMs: number): void {
  if (idleMs > TIMER_MS_MAX) return;
  connection.socket.setTimeout(idleMs);
  connection.socket.on('timeout', () => finish(state, connection, 'idle', `nothing moved for ${idleMs} ms`));
}

/** An IPv4 address that reached an IPv6 socket, as people write it. */
function plainAddress(address: string): string {
  return address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address;
}

function connect(state: State, effect: Extract<NetworkEffect, { kind: 'connect' }>): void {
  const id = effect.connection;
  const socket = net.connect({ host: effect.host, port: effect.port, noDelay: true, allowHalfOpen: true });
  const fail = (reason: 'refused' | 'timedOut' | 'unreachable'): void => {
    clearTimeout(timer);
    const connection = state.connections.get(id);
    if (connection === undefined || connection.connected) return;
    connection.closed = true; // Nothing more is told of it.
    state.connections.delete(id);
    socket.destroy();
    state.deliver({ kind: 'connectFailed', connection: id, reason });
  };
  const timer = setTimeout(() => fail('timedOut'), Math.min(effect.timeoutMs, TIMER_MS_MAX));
  socket.once('error', (error) => fail(connectReason(error)));
  socket.once('close', () => clearTimeout(timer));
  const connection = createConnection(state, id, socket, effect.frameBytesMax);
  socket.once('connect', () => {
    clearTimeout(timer);
    if (!connection.closed) connected(state, connection);
  });
}

function connectReason(error: unknown): 'refused' | 'timedOut' | 'unreachable' {
  const code = errorCode(error);
  if (code === 'ECONNREFUSED' || code === 'ECONNRESET') return 'refused';
  return code === 'ETIMEDOUT' ? 'timedOut' : 'unreachable';
}

async function shut(state: State, abruptly: boolean): Promise<void> {
  const closing: Promise<unknown>[] = [];
  for (const server of state.servers.values()) closing.push(new Promise((resolve) => server.close(resolve)));
  state.servers.clear();
  const sockets = [...state.lingering];
  for (const connection of [...state.connections.values()]) {
    letGo(state, connection, abruptly ? 'reset' : 'end');
    connection.closed = true;
    sockets.push(connection.socket);
  }
  state.connections.clear();
  const open = sockets.filter((socket) => !socket.closed);
  const timer = setTimeout(() => {
    for (const socket of open) socket.destroy();
  }, SHUT_MS);
  for (const socket of open) {
    if (abruptly) socket.destroy();
    closing.push(new Promise((resolve) => socket.once('close', resolve)));
  }
  await Promise.all(closing);
  clearTimeout(timer);
}
