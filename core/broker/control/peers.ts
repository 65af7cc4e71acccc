/**
 * Calls to other nodes: the only place of a node that speaks to others. Whoever wants something of another node calls
 * `callPeer` and is told by `answerPeerCall` what came of it, exactly once, never from within the call.
 *
 * Theory of operation. A connection serves one purpose: an answer waits behind those that were asked before it, so that
 * a long poll must not stand before a vote. For each purpose there is a channel (`core/channel`), which keeps one
 * connection for each address. A call waits here until its connection is up and has room; a connection that cannot be
 * made fails all that wait for it, and the next attempt waits longer, so that a call in that time waits too. Calls of
 * one purpose to one address are sent and answered in order.
 *
 * Failures: 'refused' when nothing listens at the port, which proves that the process is dead; 'timedOut' when the time
 * of the call was over; 'closed' for all else. The last two do not say whether the peer acted on the call.
 *
 * Invariants: every call waits, flies or has its outcome. A crash loses all of it; peers see the connections end.
 */
import {
  type Channel,
  type ChannelEvent,
  callPeer as callOver,
  canCall,
  channelDeadlineMs,
  checkChannel,
  closePeer,
  createChannel,
  openPeer,
  peerKey,
  stepChannel,
  versionFor,
} from '../../channel/channel.ts';
import { assert } from '../../lib/assert.ts';
import { setDeadline, type Timed } from '../../lib/heap.ts';
import type { Ids } from '../../lib/ids.ts';
import { ProtocolError } from '../../lib/protocol-error.ts';
import type { Env, NetworkInput, Outbox } from '../../lib/world.ts';
import type { ClusterImage } from '../../metadata/image.ts';
import type { ApiKey, RequestInputOf } from '../../protocol/messages/index.ts';
import { type Address, brokerAddress, controllerAddress } from '../addresses.ts';
import type { Node, Request } from '../state.ts';
import { answerPeerCall } from './peer-answers.ts';

/**
 * What a connection is for. quorum: votes and the like. quorumFetch: the metadata log. heartbeat: that this broker
 * lives. controller: what else it asks of the active controller. envelope: what its clients ask. probe: whether a
 * broker lives. replica: the logs of a leader. voters: changes of the quorum, which take their time.
 */
const PURPOSES = [
  'quorum',
  'quorumFetch',
  'heartbeat',
  'controller',
  'envelope',
  'probe',
  'replica',
  'voters',
] as const;
/** One of them. */
export type Purpose = (typeof PURPOSES)[number];

/** Calls for one purpose that wait for connections at one time; one more fails. */
export const WAITING_MAX = 10_000;
/** Calls on one connection that are not answered yet. */
const IN_FLIGHT_MAX = 64;
/** A connection that is not made within this is given up, ms. */
const CONNECT_MS_MAX = 2_000;
/** Before a connection is tried again, ms: a node that has just died is soon found to refuse, */
const AGAIN_MS_MIN = 10;
/** and one that stays away costs little. */
const AGAIN_MS_MAX = 1_000;

/** One call. */
export interface PeerCall<K extends ApiKey> {
  /** `brokerAddress` or `controllerAddress` say; null when nobody knows where: the call fails. */
  readonly to: Address | null;
  readonly purpose: Purpose;
  readonly apiKey: K;
  /** The lowest version that will do; the highest that both sides speak is taken. */
  readonly versionMin?: number;
  readonly body: RequestInputOf<K>;
  readonly timeoutMs: number;
}

/** Who called, and what the answer is for. */
export type PeerCaller =
  /** The member of the quorum, by its ticket. */
  | { readonly kind: 'quorum'; readonly ticket: number }
  /** A request to a controller elsewhere, by the ticket of `controller-calls.ts`. */
  | { readonly kind: 'controller'; readonly ticket: number }
  /** A client wants to know of the quorum what only its leader knows. */
  | { readonly kind: 'describeQuorum'; readonly request: Request }
  /** A client wants to change who votes in the quorum. */
  | { readonly kind: 'voters'; readonly request: Request; readonly apiKey: 80 | 81 }
  /** The active controller asks after a broker. */
  | { readonly kind: 'probe'; readonly ticket: number }
  /** The fetcher of the partitions that a node leads. */
  | { readonly kind: 'fetcher'; readonly leaderId: number; readonly ticket: number };

/** What came of a call; a response is that of the API that was called. */
export type PeerOutcome = { readonly response: unknown } | { readonly failure: 'refused' | 'timedOut' | 'closed' };

/** A call that has no outcome yet. */
interface Pending {
  readonly apiKey: ApiKey;
  readonly versionMin: number;
  readonly body: RequestInputOf<ApiKey>;
  readonly deadlineMs: number;
  readonly caller: PeerCaller;
}

/** All connections of one purpose. */
interface Line {
  readonly channel: Channel;
  /** Calls that are not sent yet, by the key of their peer, oldest first. */
  readonly waiting: Map<string, Pending[]>;
  waitingCount: number;
  /** Calls that are not answered yet, by ticket. */
  readonly flying: Map<number, Pending>;
}

/** The state. */
export interface Peers extends Timed {
  readonly kind: 'peers';
  readonly lines: ReadonlyMap<Purpose, Line>;
  /** What is to be told before the step ends. */
  outcomes: { readonly caller: PeerCaller; readonly outcome: PeerOutcome }[];
}

/** Speaks to nobody yet. */
export function createPeers(ids: Ids, nodeId: number, frameBytesMax: number): Peers {
  const lines = new Map<Purpose, Line>();
  for (const purpose of PURPOSES) {
    const channel = createChannel({
      clientId: `tidemark-${nodeId}-${purpose}`,
      ids,
      requestTimeoutMs: CONNECT_MS_MAX,
      connectTimeoutMs: CONNECT_MS_MAX,
      reconnectBackoffMs: AGAIN_MS_MIN,
      reconnectBackoffMaxMs: AGAIN_MS_MAX,
      inFlightMax: IN_FLIGHT_MAX,
      frameBytesMax,
      seed: 1,
    });
    lines.set(purpose, { channel, waiting: new Map(), waitingCount: 0, flying: new Map() });
  }
  return { kind: 'peers', deadlineMs: Number.POSITIVE_INFINITY, heapIndex: -1, lines, outcomes: [] };
}

/** The dice of this life. */
export function seedPeers({ lines }: Peers, seed: number): void {
  let at = seed;
  for (const { channel } of lines.values()) {
    at = (at + 1) >>> 0;
    channel.dice = at;
  }
}

/** Calls another node. The outcome goes to `answerPeerCall`, at the end of this step or later. */
export function callPeer<K extends ApiKey>(
  node: Node,
  env: Env,
  call: PeerCall<K>,
  caller: PeerCaller,
  out: Outbox,
): void {
  const { peers } = node;
  const { to, purpose, apiKey, versionMin, body, timeoutMs } = call;
  const line = lineOf(peers, purpose);
  if (to === null || line.waitingCount >= WAITING_MAX) {
    peers.outcomes.push({ caller, outcome: { failure: 'closed' } });
    return;
  }
  const key = peerKey(to);
  const pending = { apiKey, versionMin: versionMin ?? 0, body, deadlineMs: env.nowMs + timeoutMs, caller };
  const waiting = line.waiting.get(key);
  if (waiting === undefined) line.waiting.set(key, [pending]);
  else waiting.push(pending);
  line.waitingCount += 1;
  openPeer(line.channel, env, to, out);
  pump(peers, line, env, key, out);
  remind(node);
}

function lineOf({ lines }: Peers, purpose: Purpose): Line {
  const line = lines.get(purpose);
  assert(line !== undefined, 'there is a line for each purpose');
  return line;
}

/** Sends what waits for a peer, as far as there is room. */
function pump(peers: Peers, line: Line, env: Env, key: string, out: Outbox): void {
  const waiting = line.waiting.get(key);
  if (waiting === undefined) return;
  while (waiting.length > 0 && canCall(line.channel, key)) {
    const pending = waiting.shift() as Pending;
    line.waitingCount -= 1;
    send(peers, line, env, key, pending, out);
  }
  if (waiting.length === 0) line.waiting.delete(key);
}

function send(peers: Peers, line: Line, env: Env, key: string, pending: Pending, out: Outbox): void {
  const { apiKey, versionMin, body, deadlineMs, caller } = pending;
  const version = versionFor(line.channel, key, apiKey);
  if (version < versionMin) {
    env.reached('peers.versions');
    peers.outcomes.push({ caller, outcome: { failure: 'closed' } });
    return;
  }
  try {
    const timeoutMs = Math.max(deadlineMs - env.nowMs, 1);
    const ticket = callOver(line.channel, env, key, { apiKey, version, body, timeoutMs }, out);
    line.flying.set(ticket, pending);
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    // An older peer cannot be told this.
    peers.outcomes.push({ caller, outcome: { failure: 'closed' } });
  }
}

/** The world tells of one of our own connections. */
export function stepPeers(node: Node, env: Env, input: NetworkInput, out: Outbox): void {
  if (!('connection' in input)) return;
  for (const line of node.peers.lines.values()) {
    if (!line.channel.connections.has(input.connection)) continue;
    const events: ChannelEvent[] = [];
    stepChannel(line.channel, env, input, out, events);
    takeEvents(node.peers, line, env, events, out);
    // What has left makes room.
    if (input.kind === 'sent') for (const key of [...line.waiting.keys()]) pump(node.peers, line, env, key, out);
    break;
  }
  remind(node);
}

/** The deadline has come, or might have. */
export function wakePeers(node: Node, env: Env, out: Outbox): void {
  for (const line of node.peers.lines.values()) {
    expire(node.peers, line, env);
    const events: ChannelEvent[] = [];
    stepChannel(line.channel, env, { kind: 'wake' }, out, events);
    takeEvents(node.peers, line, env, events, out);
  }
  remind(node);
}

/** Calls that waited too long for a connection. */
function expire(peers: Peers, line: Line, env: Env): void {
  for (const [key, waiting] of line.waiting) {
    const left = waiting.filter(({ deadlineMs }) => deadlineMs > env.nowMs);
    if (left.length === waiting.length) continue;
    for (const { deadlineMs, caller } of waiting) {
      if (deadlineMs <= env.nowMs) peers.outcomes.push({ caller, outcome: { failure: 'timedOut' } });
    }
    line.waitingCount -= waiting.length - left.length;
    if (left.length === 0) line.waiting.delete(key);
    else line.waiting.set(key, left);
  }
}

function takeEvents(peers: Peers, line: Line, env: Env, events: readonly ChannelEvent[], out: Outbox): void {
  for (const event of events) {
    switch (event.kind) {
      case 'up':
        pump(peers, line, env, event.peer, out);
        break;
      case 'answered':
        settle(peers, line, event.ticket, { response: event.body });
        pump(peers, line, env, event.peer, out);
        break;
      case 'lost': {
        const isLate = (line.flying.get(event.ticket)?.deadlineMs ?? env.nowMs) <= env.nowMs;
        settle(peers, line, event.ticket, { failure: isLate ? 'timedOut' : 'closed' });
        break;
      }
      case 'down':
        failWaiting(peers, line, event.peer, event.reason);
        break;
    }
  }
}

function settle(peers: Peers, line: Line, ticket: number, outcome: PeerOutcome): void {
  const pending = line.flying.get(ticket);
  line.flying.delete(ticket);
  if (pending !== undefined) peers.outcomes.push({ caller: pending.caller, outcome });
}

function failWaiting(peers: Peers, line: Line, key: string, reason: string): void {
  const waiting = line.waiting.get(key) ?? [];
  line.waiting.delete(key);
  line.waitingCount -= waiting.length;
  const failure = reason === 'refused' || reason === 'timedOut' ? reason : 'closed';
  for (const { caller } of waiting) peers.outcomes.push({ caller, outcome: { failure } });
}

/** Tells the callers what came of their calls. Whether there was something to tell. */
export function settlePeers(node: Node, env: Env, out: Outbox): boolean {
  const { outcomes } = node.peers;
  if (outcomes.length === 0) return false;
  node.peers.outcomes = [];
  for (const { caller, outcome } of outcomes) answerPeerCall(node, env, caller, outcome, out);
  return true;
}

/**
 * Nodes have begun another life, as the images say. A connection on which nothing is asked may be of the life before,
 * whose end nobody heard of where the power was lost: the next call would be lost with it. It is made anew instead.
 */
export function renewPeers(node: Node, before: ClusterImage, after: ClusterImage, out: Outbox): void {
  const renewed = (ids: Lives, was: Lives): number[] =>
    [...ids.values()].filter(({ id, incarnationId }) => isOtherLife(was.get(id), incarnationId)).map(({ id }) => id);
  const addresses = [
    ...renewed(after.brokers, before.brokers).map((id) => brokerAddress(node, id)),
    ...renewed(after.brokers, before.brokers).map((id) => controllerAddress(node, id)),
    ...renewed(after.controllers, before.controllers).map((id) => controllerAddress(node, id)),
  ];
  for (const address of addresses) if (address !== null) closeIdle(node.peers, peerKey(address), out);
  if (addresses.length > 0) remind(node);
}

type Lives = ReadonlyMap<number, { readonly id: number; readonly incarnationId: string }>;

function isOtherLife(was: { readonly incarnationId: string } | undefined, incarnationId: string): boolean {
  return was !== undefined && was.incarnationId !== incarnationId;
}

function closeIdle({ lines }: Peers, key: string, out: Outbox): void {
  for (const { channel, waiting } of lines.values()) {
    const peer = channel.peers.get(key);
    if (peer === undefined || peer.inFlight.length > 0 || waiting.has(key)) continue;
    closePeer(channel, key, out, []);
  }
}

/** Closes all connections, once what was handed to them is sent: the node stops. */
export function closePeers(node: Node, out: Outbox): void {
  for (const line of node.peers.lines.values()) {
    const events: ChannelEvent[] = [];
    for (const key of [...line.channel.peers.keys()]) closePeer(line.channel, key, out, events);
    for (const key of [...line.waiting.keys()]) failWaiting(node.peers, line, key, 'ended');
    for (const ticket of [...line.flying.keys()]) settle(node.peers, line, ticket, { failure: 'closed' });
  }
  remind(node);
}

function remind(node: Node): void {
  const { peers } = node;
  let deadlineMs = Number.POSITIVE_INFINITY;
  for (const { channel, waiting } of peers.lines.values()) {
    if (channel.peers.size > 0) deadlineMs = Math.min(deadlineMs, channelDeadlineMs(channel));
    for (const calls of waiting.values()) {
      for (const call of calls) deadlineMs = Math.min(deadlineMs, call.deadlineMs);
    }
  }
  setDeadline(node.deadlines, peers, deadlineMs);
}

/** Throws AssertionError if an invariant is broken; true between any two steps. */
export function checkPeers({ lines, outcomes }: Peers): void {
  assert(outcomes.length === 0, 'an outcome was not told');
  for (const { channel, waiting, waitingCount, flying } of lines.values()) {
    checkChannel(channel);
    let count = 0;
    for (const calls of waiting.values()) {
      assert(calls.length > 0, 'a peer for which nothing waits is kept');
      count += calls.length;
    }
    assert(count === waitingCount, 'the calls that wait do not add up');
    let flights = 0;
    for (const { inFlight } of channel.peers.values())
      for (const { ticket } of inFlight) if (ticket !== 0) flights += 1;
    assert(flights === flying.size, 'a call flies that nobody waits for');
  }
}
