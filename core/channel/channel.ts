/**
 * Outgoing RPC: one connection a peer, versions negotiated first, answers matched strictly in order.
 *
 * The owner asks for a connection with `openPeer`, is told 'up', and then calls. Nothing queues in here: a call needs
 * a peer that is up and has room (`canCall`), so that the owner alone decides what is sent, when, and in what order.
 * Every call that expects an answer ends in exactly one event, 'answered' or 'lost'; 'lost' never says that the peer
 * did not act on it. A call that is not answered in time costs the connection, because later answers could not be
 * told apart from it otherwise. After a failure the next connection waits, longer each time, with jitter.
 *
 * Invariants: a peer has a connection exactly while it is connecting, negotiating or up; only a peer with a connection
 * has calls in flight; correlation ids in flight ascend. A crash loses all of it; peers see the connections end.
 */
import { assert } from '../lib/assert.ts';
import { type Ids, nextConnection, nextTicket } from '../lib/ids.ts';
import type { Env, NetworkInput, Outbox } from '../lib/world.ts';
import { encodeRequest, peekResponse } from '../protocol/codec.ts';
import type { ApiKey, RequestInputOf, ResponseOf } from '../protocol/messages/index.ts';
import type { Range } from '../protocol/schema.ts';
import { backoffMs, type Dice } from './backoff.ts';
import {
  API_VERSIONS,
  firstVersion,
  highestCommon,
  ownRange,
  readVersions,
  tryDecode,
  versionsRequest,
} from './negotiation.ts';

/** Where a peer listens. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** How a channel behaves; plain data. Times in milliseconds, sizes in bytes. */
export interface ChannelOptions {
  readonly clientId: string;
  readonly ids: Ids;
  /** A call that is given no time of its own is lost after this. */
  readonly requestTimeoutMs: number;
  readonly connectTimeoutMs: number;
  readonly reconnectBackoffMs: number;
  readonly reconnectBackoffMaxMs: number;
  /** Calls on one connection that are not answered yet. */
  readonly inFlightMax: number;
  /** The longest answer that is accepted. */
  readonly frameBytesMax: number;
  /** An unsigned 32-bit integer. */
  readonly seed: number;
}

/** Peers that one channel knows at a time, at most. */
export const PEERS_MAX = 4096;
/** Bytes handed to one connection that have not left this node, at most, before it has no room for a call. */
export const UNSENT_BYTES_MAX = 8 * 1024 * 1024;
const CORRELATION_MAX = 0x7fffffff;

/** A call that waits for its answer. Ticket 0 is the channel's own negotiation. */
interface Flight {
  readonly ticket: number;
  readonly apiKey: ApiKey;
  readonly version: number;
  readonly correlationId: number;
  readonly deadlineMs: number;
}

/** idle: no connection and none wanted. waiting: wanted, but not before `notBeforeMs`. */
export type PeerState = 'idle' | 'waiting' | 'connecting' | 'negotiating' | 'up';

/** One peer, plain data. */
export interface Peer {
  readonly key: string;
  readonly host: string;
  readonly port: number;
  state: PeerState;
  /** 0 for none. */
  connection: number;
  /** Failures since it was last up. */
  failures: number;
  /** No connection is tried before this. */
  notBeforeMs: number;
  /** When it last kept silent, on a call or to a connection; -Infinity if it has been up since. */
  silentMs: number;
  /** What it speaks, by API key; of the last negotiation. */
  ranges: ReadonlyMap<number, Range>;
  /** Oldest first. */
  inFlight: Flight[];
  unsentBytes: number;
}

/** The state of a channel, plain data. */
export interface Channel extends Dice {
  readonly options: ChannelOptions;
  /** By `peerKey`. */
  readonly peers: Map<string, Peer>;
  /** Which peer a connection belongs to; a connection that is not here is over for us. */
  readonly connections: Map<number, string>;
  correlationId: number;
}

/** What the owner is told. `peer` is a key. */
export type ChannelEvent =
  | { readonly kind: 'up'; readonly peer: string }
  /** The connection ended or never came to be; its calls have been reported as lost before this. */
  | { readonly kind: 'down'; readonly peer: string; readonly reason: DownReason }
  /** `answerBody` gives the body its type. */
  | {
      readonly kind: 'answered';
      readonly peer: string;
      readonly ticket: number;
      readonly apiKey: ApiKey;
      readonly version: number;
      readonly body: unknown;
    }
  /** Whether the peer acted on the call is not known. */
  | { readonly kind: 'lost'; readonly peer: string; readonly ticket: number; readonly apiKey: ApiKey };

/** An answer, as the channel reports it. */
export type Answer = Extract<ChannelEvent, { readonly kind: 'answered' }>;

/** The body of an answer of an API; the owner knows by its ticket which one it called. */
export function answerBody<K extends ApiKey>(answer: Answer, apiKey: K): ResponseOf<K> {
  assert(answer.apiKey === apiKey, 'an answer is read as one of another API');
  return answer.body as ResponseOf<K>;
}

/**
 * refused, timedOut, unreachable: no connection. ended: the peer closed. silent: a call was not answered in time.
 * malformed: an answer that makes no sense. unsupported: negotiation failed.
 */
export type DownReason = 'refused' | 'timedOut' | 'unreachable' | 'ended' | 'silent' | 'malformed' | 'unsupported';

/** A channel without peers. */
export function createChannel(options: ChannelOptions): Channel {
  assert(options.inFlightMax >= 1, 'a channel needs room for a call');
  return { options, peers: new Map(), connections: new Map(), correlationId: 0, dice: options.seed >>> 0 };
}

/** The key of the peer at an address. */
export function peerKey(address: Address): string {
  return `${address.host}:${address.port}`;
}

/** Asks for a connection, now or once its back-off is over. Answered by 'up' or 'down'. */
export function openPeer(channel: Channel, env: Env, address: Address, out: Outbox): void {
  const key = peerKey(address);
  let peer = channel.peers.get(key);
  if (peer === undefined) {
    assert(channel.peers.size < PEERS_MAX, 'a channel has too many peers');
    peer = newPeer(key, address);
    channel.peers.set(key, peer);
  }
  if (peer.state !== 'idle') return;
  peer.state = 'waiting';
  if (peer.notBeforeMs <= env.nowMs) connect(channel, peer, out);
}

function newPeer(key: string, { host, port }: Address): Peer {
  const never = { connection: 0, failures: 0, notBeforeMs: 0, silentMs: Number.NEGATIVE_INFINITY };
  return { key, host, port, state: 'idle', ...never, ranges: new Map(), inFlight: [], unsentBytes: 0 };
}

function connect(channel: Channel, peer: Peer, out: Outbox): void {
  assert(peer.connection === 0, 'a peer has one connection');
  const { connectTimeoutMs, frameBytesMax, ids } = channel.options;
  peer.connection = nextConnection(ids);
  peer.state = 'connecting';
  channel.connections.set(peer.connection, peer.key);
  const { connection, host, port } = peer;
  out.push({ kind: 'connect', connection, host, port, timeoutMs: connectTimeoutMs, frameBytesMax });
}

/** Whether the peer is up and has room for a call. */
export function canCall(channel: Channel, key: string): boolean {
  const peer = channel.peers.get(key);
  if (peer === undefined || peer.state !== 'up') return false;
  return peer.inFlight.length < channel.options.inFlightMax && peer.unsentBytes < UNSENT_BYTES_MAX;
}

/** The highest version of an API that both sides speak and that is not above `versionMax`; -1 if there is none. */
export function versionFor(channel: Channel, key: string, apiKey: ApiKey, versionMax = 0x7fff): number {
  const theirs = channel.peers.get(key)?.ranges.get(apiKey);
  const ours = ownRange(apiKey);
  return theirs === undefined || ours === null ? -1 : highestCommon(ours, theirs, versionMax);
}

/** A call: its API, a version that `versionFor` gave, and its request's body. */
export interface Call<K extends ApiKey> {
  readonly apiKey: K;
  readonly version: number;
  readonly body: RequestInputOf<K>;
  /** Milliseconds until the connection is given up; the channel's own time-out if absent. */
  readonly timeoutMs?: number;
  /** True for a request that the peer never answers (Produce with acks 0): no event follows. */
  readonly isOneWay?: boolean;
}

/** Sends a call to a peer for which `canCall` holds; returns its ticket. ProtocolError for a body with no bytes. */
export function callPeer<K extends ApiKey>(
  channel: Channel,
  env: Env,
  key: string,
  call: Call<K>,
  out: Outbox,
): number {
  assert(canCall(channel, key), 'a call needs a peer that is up and has room');
  const peer = channel.peers.get(key) as Peer;
  const ticket = nextTicket(channel.options.ids);
  sendCall(channel, env, peer, ticket, call, out);
  return ticket;
}

function sendCall<K extends ApiKey>(
  channel: Channel,
  env: Env,
  peer: Peer,
  ticket: number,
  call: Call<K>,
  out: Outbox,
): void {
  const correlationId = channel.correlationId;
  const { apiKey, version, body } = call;
  const parts = encodeRequest(apiKey, version, correlationId, channel.options.clientId, body);
  channel.correlationId = correlationId === CORRELATION_MAX ? 0 : correlationId + 1;
  for (const part of parts) peer.unsentBytes += part.length;
  if (call.isOneWay !== true) {
    const deadlineMs = env.nowMs + (call.timeoutMs ?? channel.options.requestTimeoutMs);
    peer.inFlight.push({ ticket, apiKey, version, correlationId, deadlineMs });
  }
  out.push({ kind: 'send', connection: peer.connection, parts });
}

/** What one step works with. */
interface Turn {
  readonly env: Env;
  readonly out: Outbox;
  readonly events: ChannelEvent[];
}

/** Handles what the network says of our connections, and 'wake'. All else is ignored. */
export function stepChannel(
  channel: Channel,
  env: Env,
  input: NetworkInput | { readonly kind: 'wake' },
  out: Outbox,
  events: ChannelEvent[],
): void {
  const turn: Turn = { env, out, events };
  if (input.kind === 'wake') wake(channel, turn);
  if (!('connection' in input)) return;
  const key = channel.connections.get(input.connection);
  const peer = key === undefined ? undefined : channel.peers.get(key);
  if (peer === undefined || peer.connection !== input.connection) return;
  if (input.kind === 'connected') negotiate(channel, turn, peer);
  else if (input.kind === 'frame') receive(channel, turn, peer, input.bytes);
  else if (input.kind === 'sent') peer.unsentBytes = Math.max(0, peer.unsentBytes - input.sizeBytes);
  else if (input.kind === 'connectFailed') fail(channel, turn, peer, input.reason);
  else if (input.kind === 'closed') fail(channel, turn, peer, 'ended');
}

function wake(channel: Channel, turn: Turn): void {
  const { nowMs } = turn.env;
  for (const peer of channel.peers.values()) {
    if (peer.state === 'waiting' && peer.notBeforeMs <= nowMs) {
      connect(channel, peer, turn.out);
    } else if (flightDeadlineMs(peer) <= nowMs) {
      turn.env.reached('channel.silent');
      abandon(channel, turn, peer, 'silent');
    }
  }
}

function negotiate(channel: Channel, turn: Turn, peer: Peer): void {
  assert(peer.state === 'connecting', 'only a connection under way can be connected');
  peer.state = 'negotiating';
  askVersions(channel, turn, peer, firstVersion());
}

function askVersions(channel: Channel, turn: Turn, peer: Peer, version: number): void {
  const call = { apiKey: API_VERSIONS, version, body: versionsRequest() } as const;
  sendCall(channel, turn.env, peer, 0, call, turn.out);
}

function receive(channel: Channel, turn: Turn, peer: Peer, bytes: Uint8Array): void {
  const flight = peer.inFlight[0];
  if (flight === undefined || peekResponse(bytes) !== flight.correlationId) {
    turn.env.reached('channel.mismatch');
    abandon(channel, turn, peer, 'malformed');
    return;
  }
  const { ticket, apiKey, version } = flight;
  if (ticket === 0) {
    negotiated(channel, turn, peer, version, bytes);
    return;
  }
  const body = tryDecode(apiKey, version, bytes);
  if (body === null) {
    turn.env.reached('channel.malformed');
    abandon(channel, turn, peer, 'malformed');
    return;
  }
  peer.inFlight.shift();
  turn.events.push({ kind: 'answered', peer: peer.key, ticket, apiKey, version, body });
}

function negotiated(channel: Channel, turn: Turn, peer: Peer, version: number, bytes: Uint8Array): void {
  const found = readVersions(version, bytes);
  if (found.kind === 'failed') {
    abandon(channel, turn, peer, found.reason);
    return;
  }
  peer.inFlight.shift();
  if (found.kind === 'again') {
    turn.env.reached('channel.olderVersions');
    askVersions(channel, turn, peer, found.version);
    return;
  }
  peer.ranges = found.ranges;
  peer.state = 'up';
  peer.failures = 0;
  peer.silentMs = Number.NEGATIVE_INFINITY;
  turn.events.push({ kind: 'up', peer: peer.key });
}

/** Closes the connection from our side and reports as `fail` does. */
function abandon(channel: Channel, turn: Turn, peer: Peer, reason: DownReason): void {
  turn.out.push({ kind: 'close', connection: peer.connection, abort: true });
  fail(channel, turn, peer, reason);
}

/** Forgets the connection, reports its calls as lost, oldest first, and sets the back-off. */
function fail(channel: Channel, turn: Turn, peer: Peer, reason: DownReason): void {
  const { reconnectBackoffMs, reconnectBackoffMaxMs } = channel.options;
  channel.connections.delete(peer.connection);
  const lost = peer.inFlight;
  peer.inFlight = [];
  peer.connection = 0;
  peer.unsentBytes = 0;
  peer.state = 'idle';
  peer.failures += 1;
  if (reason === 'silent' || reason === 'timedOut') peer.silentMs = turn.env.nowMs;
  peer.notBeforeMs = turn.env.nowMs + backoffMs(channel, peer.failures, reconnectBackoffMs, reconnectBackoffMaxMs);
  for (const { ticket, apiKey } of lost) {
    if (ticket !== 0) turn.events.push({ kind: 'lost', peer: peer.key, ticket, apiKey });
  }
  turn.events.push({ kind: 'down', peer: peer.key, reason });
}

/** Closes a peer's connection on purpose and forgets the peer. Its calls are reported as lost, without a 'down'. */
export function closePeer(channel: Channel, key: string, out: Outbox, events: ChannelEvent[]): void {
  const peer = channel.peers.get(key);
  if (peer === undefined) return;
  channel.peers.delete(key);
  if (peer.connection === 0) return;
  channel.connections.delete(peer.connection);
  out.push({ kind: 'close', connection: peer.connection, abort: false });
  for (const { ticket, apiKey } of peer.inFlight) {
    if (ticket !== 0) events.push({ kind: 'lost', peer: key, ticket, apiKey });
  }
}

function flightDeadlineMs(peer: Peer): number {
  let deadlineMs = Number.POSITIVE_INFINITY;
  for (const flight of peer.inFlight) deadlineMs = Math.min(deadlineMs, flight.deadlineMs);
  return deadlineMs;
}

/** When the channel next wants a 'wake'; Infinity for never. */
export function channelDeadlineMs(channel: Channel): number {
  let deadlineMs = Number.POSITIVE_INFINITY;
  for (const peer of channel.peers.values()) {
    deadlineMs = Math.min(deadlineMs, peer.state === 'waiting' ? peer.notBeforeMs : flightDeadlineMs(peer));
  }
  return deadlineMs;
}

/** True between any two steps. */
export function checkChannel(channel: Channel): void {
  let connected = 0;
  for (const [key, peer] of channel.peers) {
    assert(peer.key === key, 'a peer is filed under another key');
    const isConnected = peer.state !== 'idle' && peer.state !== 'waiting';
    assert((peer.connection !== 0) === isConnected, 'a connection and the state of its peer disagree');
    assert(isConnected || peer.inFlight.length === 0, 'a call is in flight without a connection');
    assert(peer.inFlight.length <= channel.options.inFlightMax, 'too many calls are in flight');
    if (isConnected) {
      connected += 1;
      assert(channel.connections.get(peer.connection) === key, 'a connection leads to another peer');
    }
  }
  assert(channel.connections.size === connected, 'a connection without a peer is kept');
}
