/**
 * A simulated network of byte streams: keeps the promises of `core/lib/world.ts` and no more.
 *
 * A connection has two ends. What one end sends waits in its queue until there is room in the window, then goes on the
 * wire, where it may be cut into pieces anywhere; pieces arrive in order, each after a drawn latency, and are put
 * together to frames by the same code that serves production. An end that is paused takes no more bytes from the wire,
 * which fills the window and lets the other end's queue grow: back-pressure as in a real kernel.
 *
 * Troubles:
 * - Cut: bytes are kept on the wire of one direction, or of both, until the cut is healed; nobody is told. A connection
 *   that is tried meanwhile times out.
 * - Reset: both ends break off, each at its own time; of what is on the wire a prefix may still arrive, cut anywhere.
 * - A process dies: as a reset, the peers hear of it. A machine loses power: the peers hear nothing until they send
 *   something to the machine that has come back.
 * - Cut by API key: a request of that key, and what follows it on its connection, is kept on the wire of one direction.
 * - Clog: what goes one way between two machines takes longer, each piece by itself.
 * - Narrow: what goes one way between two machines passes at so many bytes a ms, on each connection by itself.
 * - Half close: one end hears that the other sends no more and is gone; that one learns it when it sends something.
 * - Long tail: now and then something takes many times as long as usual.
 * - Flip: one bit of what one machine sends to another is another one (`flip.ts`). Never while nobody arms it.
 * - A process is paused: its kernel accepts connections and takes bytes until the window is full; nobody reads them.
 *
 * Bytes are immutable and shared. Never duplicated and never reordered: TCP does not do that. A request is carried
 * out twice all the same where its client gave it up, asked again elsewhere, and the first is let go then; and where
 * somebody between them repeats it (`workload/repeating.ts`).
 */
import type { CloseReason, ConnectionId, NetworkInput } from '../../core/lib/world.ts';
import { createFramer, type Framer } from '../../core/protocol/frame.ts';
import { around, below, chance, type Dice, SITE } from '../dice.ts';
import type { Flip, FlipPlace } from './flip.ts';

/** What travels in one direction of a connection. */
export type WireItem =
  | {
      readonly kind: 'bytes';
      readonly parts: readonly Uint8Array[];
      readonly sizeBytes: number;
      /** Of the request among these bytes that was cut off by its key; absent for none. */
      readonly apiKey?: number;
    }
  | { readonly kind: 'end' }
  | { readonly kind: 'reset' };

/** One end of a connection. */
export interface End {
  readonly end: number;
  readonly actor: number;
  readonly life: number;
  readonly connection: ConnectionId;
  /** The other end's number; 0 until there is one. */
  peer: number;
  /** Who is there, or was: what it has sent stays on the wire when it is gone. -1 until there is somebody. */
  peerActor: number;
  /** leaving: no more is read, what was queued is still sent. dying: broken off, not yet told. gone: told. */
  state: 'connecting' | 'open' | 'leaving' | 'dying' | 'gone';
  readonly framer: Framer;
  /** Not yet on the wire. */
  queue: Uint8Array[];
  queueBytes: number;
  /** On the wire towards this end, or arrived while it was paused; the window counts both. */
  readonly wire: WireItem[];
  wireBytes: number;
  /** The latest time at which something arrives at this end. */
  arrivesUs: number;
  /** Left the queue since the last 'sent'. */
  sentBytes: number;
  isSentDue: boolean;
  /** The actor of a machine that has lost its power and with it the other end; -1 for none. */
  forgottenBy: number;
  /** The key of a request in the queue that is cut off by it; -1 for none. */
  cutKey: number;
  /** Of the listener that was dialled; -1 where nobody was. */
  port: number;
  isPaused: boolean;
  /** Items of the wire that arrived while paused: the first so many of `wire`. */
  held: number;
  readonly idleMs: number;
  movedUs: number;
  /** Base latency of what travels to this end, microseconds. */
  readonly latencyUs: number;
}

/** Something of the network that is to be finished at a time. */
export type NetworkEvent =
  | { readonly what: 'dial'; readonly end: number; readonly host: string; readonly port: number }
  | { readonly what: 'dialled'; readonly end: number; readonly isRefused: boolean }
  | { readonly what: 'dialTimeOut'; readonly end: number }
  | { readonly what: 'arrive'; readonly end: number }
  | { readonly what: 'sent'; readonly end: number }
  | { readonly what: 'gone'; readonly end: number; readonly reason: CloseReason }
  | { readonly what: 'idle'; readonly end: number }
  | { readonly what: 'tell'; readonly actor: number; readonly life: number; readonly input: NetworkInput };

/** An event and its time. */
export interface NetworkDue {
  readonly atUs: number;
  readonly event: NetworkEvent;
}

/** An input for an actor, valid for one life of it. */
export interface Delivery {
  readonly actor: number;
  readonly life: number;
  readonly input: NetworkInput;
}

/** Somebody listens. */
export interface Listening {
  readonly listener: number;
  readonly life: number;
  readonly frameBytesMax: number;
  readonly idleMs: number;
}

/** A machine on the network. */
export interface Host {
  readonly name: string;
  life: number;
  /** False while its machine has no power: what comes vanishes. */
  isPowered: boolean;
  /** Arrivals that wait while its process is paused; null while it runs. */
  frozen: NetworkEvent[] | null;
  readonly listening: Map<number, Listening>;
  readonly connections: Map<ConnectionId, End>;
  accepted: number;
  /** What half-received frames may hold together. Bytes. */
  frameBudgetBytes: number;
}

/** How the network behaves at the moment. */
export interface NetworkMood {
  /** Mean of the drawn part of a latency, microseconds. */
  jitterUs: number;
  /** What everything takes on top while the network is congested, on average, microseconds; 0 while it is not. */
  congestionUs: number;
  /** How often a send is cut into pieces, in a million. */
  chunkPpm: number;
  /** How often something takes many times as long, in a million. */
  tailPpm: number;
}

/** What happened, in numbers. */
export interface NetworkFigures {
  connections: number;
  resets: number;
  chunks: number;
  framesDelivered: number;
  bytesSent: number;
}

/** Requests of one key that do not get through in one direction. */
export interface KeyCut {
  /** See `directionKey`. */
  readonly direction: number;
  readonly apiKey: number;
}

/** A request between nodes that is to come once more. */
export interface KeptRequest {
  readonly host: string;
  readonly port: number;
  readonly apiKey: number;
  readonly bytes: Uint8Array;
}

/** The network of one run. Actors are indexes of `hosts`. */
export interface Network {
  readonly hosts: Host[];
  readonly names: Map<string, number>;
  readonly ends: Map<number, End>;
  made: number;
  /** Directions that are cut: `directionKey`. */
  readonly cut: Set<number>;
  /** Requests that are cut off by their key. */
  keyCuts: KeyCut[];
  /** By direction: the mean of what a clog adds to each latency, microseconds. */
  readonly clogs: Map<number, number>;
  /** By direction: how many bytes of one connection get through in a ms. */
  readonly narrows: Map<number, number>;
  /** What nodes have asked each other, as far as somebody wants to repeat it; null where nobody does. */
  kept: KeptRequest[] | null;
  /** The keys of those that are. */
  keptKeys: readonly number[];
  /** What arrived at a cut, to be tried again when it is healed. */
  stalled: NetworkEvent[];
  /** Bits that are to flip. */
  readonly flips: Flip[];
  /** Those that did, in the order of happening. */
  readonly flipped: FlipPlace[];
  readonly mood: NetworkMood;
  readonly figures: NetworkFigures;
}

/** RemoveRaftVoter. */
export const REMOVE_VOTER_KEY = 81;
/**
 * Requests of nodes that may come late: Vote, BeginQuorumEpoch, EndQuorumEpoch, AlterPartition, BrokerHeartbeat, and
 * AddRaftVoter, RemoveRaftVoter, UpdateRaftVoter, a member's own or an operator's that a broker passes on.
 */
const REPEATED_KEYS: readonly number[] = [52, 53, 54, 56, 63, 80, REMOVE_VOTER_KEY, 82];

/** On the wire and not yet taken by the reader, at most, in one direction of a connection. Bytes. */
export const WINDOW_BYTES = 128 * 1024;

/** No hosts yet. */
export function createNetwork(): Network {
  return {
    hosts: [],
    names: new Map(),
    ends: new Map(),
    made: 0,
    cut: new Set(),
    keyCuts: [],
    clogs: new Map(),
    narrows: new Map(),
    kept: null,
    keptKeys: REPEATED_KEYS,
    stalled: [],
    flips: [],
    flipped: [],
    mood: { jitterUs: 120, congestionUs: 0, chunkPpm: 100_000, tailPpm: 0 },
    figures: { connections: 0, resets: 0, chunks: 0, framesDelivered: 0, bytesSent: 0 },
  };
}

/**
 * Removals of voters come late no more. Of all that is kept they alone are done whenever they come, the leader's own
 * too, and rightly so: an operator may want a voter out that has come in again. The rest is of its epoch, or is so
 * already.
 */
export function forgetRemovals(network: Network): void {
  const { kept } = network;
  network.keptKeys = network.keptKeys.filter((apiKey) => apiKey !== REMOVE_VOTER_KEY);
  kept?.splice(0, kept.length, ...kept.filter(({ apiKey }) => apiKey !== REMOVE_VOTER_KEY));
}

/** Adds a machine; its actor number is its index. */
export function addHost(network: Network, name: string): number {
  const actor = network.hosts.length;
  network.hosts.push({
    name,
    life: 0,
    isPowered: true,
    frozen: null,
    listening: new Map(),
    connections: new Map(),
    accepted: 0,
    frameBudgetBytes: Number.POSITIVE_INFINITY,
  });
  network.names.set(name, actor);
  return actor;
}

/** Names the direction from one actor to another. */
export function directionKey(from: number, to: number): number {
  return from * 65_536 + to;
}

/** Whether nothing gets through in this direction. */
export function isCut(network: Network, from: number, to: number): boolean {
  return network.cut.size > 0 && network.cut.has(directionKey(from, to));
}

/** What is cut off in the place of requests of a key where it is the answers to them, on their way back. */
export function answersTo(apiKey: number): number {
  return ANSWERS + apiKey;
}

/** Above every key. */
const ANSWERS = 65_536;

/** Whether requests of this key, or `answersTo` it, do not get through in this direction. */
export function isKeyCut({ keyCuts }: Network, from: number, to: number, apiKey: number): boolean {
  const direction = directionKey(from, to);
  return keyCuts.some((one) => one.direction === direction && one.apiKey === apiKey);
}

/** A new end of a connection for an actor; `connection` is its own name for it. */
export function makeEnd(
  network: Network,
  dice: Dice,
  nowUs: number,
  options: { actor: number; connection: ConnectionId; frameBytesMax: number; idleMs: number; isOpen: boolean },
): End {
  network.made += 1;
  const host = hostOf(network, options.actor);
  const end: End = {
    end: network.made,
    actor: options.actor,
    life: host.life,
    connection: options.connection,
    peer: 0,
    peerActor: -1,
    state: options.isOpen ? 'open' : 'connecting',
    framer: createFramer(options.frameBytesMax),
    queue: [],
    queueBytes: 0,
    wire: [],
    wireBytes: 0,
    arrivesUs: 0,
    sentBytes: 0,
    isSentDue: false,
    forgottenBy: -1,
    cutKey: -1,
    port: -1,
    isPaused: false,
    held: 0,
    idleMs: options.idleMs,
    movedUs: nowUs,
    latencyUs: 40 + below(dice, SITE.netLatency, network.made, 200),
  };
  network.ends.set(end.end, end);
  host.connections.set(end.connection, end);
  return end;
}

/** The machine of an actor. */
export function hostOf(network: Network, actor: number): Host {
  const host = network.hosts[actor];
  if (host === undefined) throw new Error('no such actor on the network');
  return host;
}

/** What takes long takes this on average, microseconds. */
const TAIL_US = 60_000;

/** A drawn time for something to travel to this end. */
export function travelUs(network: Network, dice: Dice, end: End): number {
  const { mood, clogs } = network;
  let us = end.latencyUs + around(dice, SITE.netLatency, end.end, mood.jitterUs);
  if (mood.congestionUs > 0) us += around(dice, SITE.netTail, end.end, mood.congestionUs);
  if (chance(dice, SITE.netTail, end.end, mood.tailPpm)) us += around(dice, SITE.netTail, end.end, TAIL_US);
  const peer = clogs.size === 0 ? undefined : network.ends.get(end.peer);
  const clogUs = peer === undefined ? undefined : clogs.get(directionKey(peer.actor, end.actor));
  return clogUs === undefined ? us : us + around(dice, SITE.netTail, end.end, clogUs);
}

/** Puts something on the wire towards `end`, to arrive after all that is there already. */
export function putOnWire(
  network: Network,
  dice: Dice,
  nowUs: number,
  end: End,
  item: WireItem,
  due: NetworkDue[],
): void {
  end.wire.push(item);
  if (item.kind === 'bytes') end.wireBytes += item.sizeBytes;
  const atUs = Math.max(end.arrivesUs, nowUs + travelUs(network, dice, end)) + passUs(network, end, item);
  end.arrivesUs = atUs;
  due.push({ atUs, event: { what: 'arrive', end: end.end } });
}

/** How long it takes for all of something to pass where it is narrow. */
function passUs({ narrows, ends }: Network, end: End, item: WireItem): number {
  if (narrows.size === 0 || item.kind !== 'bytes') return 0;
  const bytesPerMs = narrows.get(directionKey(ends.get(end.peer)?.actor ?? -1, end.actor));
  return bytesPerMs === undefined ? 0 : Math.floor((item.sizeBytes * 1000) / bytesPerMs);
}

/** Forgets an end; nothing more is told of it. */
export function dropEnd(network: Network, end: End): void {
  end.state = 'gone';
  end.queue = [];
  end.queueBytes = 0;
  network.ends.delete(end.end);
  const { connections } = hostOf(network, end.actor);
  if (connections.get(end.connection) === end) connections.delete(end.connection);
}

/** Tells the actor of an end something. */
export function deliverTo(end: End, input: NetworkInput, deliveries: Delivery[]): void {
  deliveries.push({ actor: end.actor, life: end.life, input });
}
