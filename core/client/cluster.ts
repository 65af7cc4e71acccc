/**
 * A channel and a view of the cluster, kept fresh: the ground on which producers, readers and groups stand.
 *
 * Metadata is asked for at the start, when a topic is added, when a leader is missing or doubted, when any connection
 * breaks, and every METADATA_MAX_AGE_MS. At most one such call is out. It goes to the peer that is up with the fewest
 * calls, of equals to each in turn; if none is up, one after another is tried, and whoever kept silent after all
 * others: so one broker that keeps silent for good costs a client one request, not two (`silenceMs`). A broker that is
 * cut off from its cluster answers and is of no help: after some answers that left a leader missing others are opened.
 * Invariant: a refresh that is out names a call of the channel that will end in an event. A crash loses all of it.
 */
import { backoffMs, longestBackoffMs } from '../channel/backoff.ts';
import {
  type Address,
  type Answer,
  answerBody,
  type Channel,
  type ChannelEvent,
  callPeer,
  canCall,
  channelDeadlineMs,
  checkChannel,
  closePeer,
  createChannel,
  openPeer,
  type Peer,
  peerKey,
  stepChannel,
  versionFor,
} from '../channel/channel.ts';
import { assert } from '../lib/assert.ts';
import type { Ids } from '../lib/ids.ts';
import { ZERO_UUID } from '../lib/uuid.ts';
import type { Env, NetworkInput, Outbox } from '../lib/world.ts';
import { ErrorCode } from '../protocol/errors.ts';
import {
  addressesOf,
  type ClusterView,
  createView,
  doubtPeer,
  lacksLeader,
  learnMetadata,
  learnNames,
  rebootstrap,
  watchTopic,
} from './metadata.ts';

/** What producer and reader have in common; plain data. */
export interface ClientOptions {
  readonly clientId: string;
  /** Shared by all machines of one node or client process. */
  readonly ids: Ids;
  readonly bootstrap: readonly Address[];
  readonly inFlightMax: number;
  readonly requestTimeoutMs: number;
  readonly retryBackoffMs: number;
  /** Whether asking about a missing topic may create it. */
  readonly createsTopics: boolean;
  /** Default METADATA_MAX_AGE_MS. */
  readonly metadataMaxAgeMs?: number;
  /** An unsigned 32-bit integer: jitter. */
  readonly seed: number;
}

/** What decides how long a client waits for one node. */
export type SilenceOptions = Pick<ClientOptions, 'requestTimeoutMs' | 'retryBackoffMs'>;

/** Metadata older than this is asked for again even if nothing went wrong. As Kafka's `metadata.max.age.ms`. */
export const METADATA_MAX_AGE_MS = 300_000;
/** The longest wait between two refreshes that brought no leader. */
export const REFRESH_BACKOFF_MAX_MS = 1000;
/** After so many answers in a row that were of no help one more broker is opened to be asked. */
export const USELESS_MAX = 3;
/** A connection that is not there by then is given up. */
const CONNECT_TIMEOUT_MS = 10_000;
/** The longest wait between two connections to one peer. */
const RECONNECT_BACKOFF_MAX_MS = 1000;
/** The longest answer that a client accepts, bytes. */
const ANSWER_BYTES_MAX = 128 * 1024 * 1024;

const METADATA = 3;
const NOBODY: readonly string[] = [];

/** The state, plain data. */
export interface Cluster {
  readonly options: ClientOptions;
  readonly channel: Channel;
  readonly view: ClusterView;
  /** The ticket of the refresh that is out; 0 for none. */
  refresh: number;
  /** Something was missed: refresh as soon as `refreshAtMs` allows. */
  isStale: boolean;
  refreshAtMs: number;
  /** Whether the refresh that is out asked for all topics. */
  asksAll: boolean;
  /** Answers that were taken over; whoever looks at the view looks again when this has grown. */
  refreshes: number;
  /** Refreshes in a row that left something missing, or in doubt. */
  failures: number;
  /** Which address to try next. */
  rotation: number;
  /** When each peer was found last, counted in findings; of peers that the channel has. */
  readonly foundAt: Map<string, number>;
  findings: number;
}

/** A cluster that is not connected yet. */
export function createCluster(options: ClientOptions): Cluster {
  assert(options.bootstrap.length > 0, 'a client needs an address to start from');
  return {
    options,
    channel: createClientChannel(options),
    view: createView(options.bootstrap),
    refresh: 0,
    isStale: true,
    refreshAtMs: 0,
    asksAll: false,
    refreshes: 0,
    failures: 0,
    rotation: 0,
    foundAt: new Map(),
    findings: 0,
  };
}

/** A channel with a client's time-outs and limits. */
export function createClientChannel(
  options: Pick<ClientOptions, 'clientId' | 'ids' | 'requestTimeoutMs' | 'retryBackoffMs' | 'inFlightMax' | 'seed'>,
): Channel {
  const { clientId, ids, requestTimeoutMs, retryBackoffMs, inFlightMax, seed } = options;
  return createChannel({
    clientId,
    ids,
    requestTimeoutMs,
    connectTimeoutMs: Math.min(CONNECT_TIMEOUT_MS, requestTimeoutMs),
    reconnectBackoffMs: Math.min(retryBackoffMs, RECONNECT_BACKOFF_MAX_MS),
    reconnectBackoffMaxMs: RECONNECT_BACKOFF_MAX_MS,
    inFlightMax,
    frameBytesMax: ANSWER_BYTES_MAX,
    seed,
  });
}

/** Watches a topic; what is known of it comes with the next refresh. */
export function addTopic(cluster: Cluster, name: string): void {
  if (cluster.view.topics.has(name)) return;
  watchTopic(cluster.view, name);
  cluster.isStale = true;
}

/** Asks for all topics from now on, or no more. */
export function wantNames(cluster: Cluster, wants: boolean): void {
  if (cluster.view.wantsNames === wants) return;
  cluster.view.wantsNames = wants;
  cluster.view.names = null;
  if (wants) cluster.isStale = true;
}

/** Says that metadata has been found wanting. */
export function markStale(cluster: Cluster): void {
  cluster.isStale = true;
}

/** Handles an input; `events` receives what the channel says, less the answers to our own refreshes. */
export function stepCluster(
  cluster: Cluster,
  env: Env,
  input: NetworkInput | { readonly kind: 'wake' },
  out: Outbox,
  events: ChannelEvent[],
): void {
  const told: ChannelEvent[] = [];
  stepChannel(cluster.channel, env, input, out, told);
  for (const event of told) {
    if (event.kind === 'down') {
      doubtPeer(cluster.view, event.peer);
      cluster.isStale = true;
    }
    const isOurs = (event.kind === 'answered' || event.kind === 'lost') && event.ticket === cluster.refresh;
    if (!isOurs) events.push(event);
    else if (event.kind === 'answered') refreshed(cluster, env, event, out, events);
    else refreshFailed(cluster, env);
  }
}

function refreshed(cluster: Cluster, env: Env, event: Answer, out: Outbox, events: ChannelEvent[]): void {
  const answer = answerBody(event, METADATA);
  cluster.refresh = 0;
  if (answer.errorCode === ErrorCode.REBOOTSTRAP_REQUIRED) {
    env.reached('client.rebootstrap');
    rebootstrap(cluster.view);
    refreshFailed(cluster, env);
    return;
  }
  if (cluster.asksAll) learnNames(cluster.view, answer);
  const isNews = learnMetadata(cluster.view, answer);
  cluster.refreshes += 1;
  dropStrangers(cluster, out, events);
  cluster.isStale = lacksLeader(cluster.view);
  cluster.failures = cluster.isStale || !isNews ? cluster.failures + 1 : 0;
  cluster.refreshAtMs = env.nowMs + refreshBackoffMs(cluster);
}

function refreshFailed(cluster: Cluster, env: Env): void {
  cluster.refresh = 0;
  cluster.isStale = true;
  cluster.failures += 1;
  cluster.refreshAtMs = env.nowMs + refreshBackoffMs(cluster);
}

/** Also after success: a broker that names the same unreachable leader again and again must not be flooded. */
function refreshBackoffMs(cluster: Cluster): number {
  return backoffMs(
    cluster.channel,
    Math.max(1, cluster.failures),
    cluster.options.retryBackoffMs,
    REFRESH_BACKOFF_MAX_MS,
  );
}

/** Closes peers that are neither brokers nor in the bootstrap list any more. */
function dropStrangers(cluster: Cluster, out: Outbox, events: ChannelEvent[]): void {
  const known = new Set(addressesOf(cluster.view).map(peerKey));
  for (const [key, peer] of cluster.channel.peers) {
    if (known.has(key) || peer.inFlight.length > 0) continue;
    closePeer(cluster.channel, key, out, events);
    cluster.foundAt.delete(key);
  }
}

/** Sends a refresh if one is due. Called at the end of every step of the owner. */
export function driveCluster(cluster: Cluster, env: Env, out: Outbox): void {
  if (cluster.refresh !== 0 || env.nowMs < refreshDueMs(cluster)) return;
  if (cluster.failures >= USELESS_MAX) openAnother(cluster, env, out);
  const peer = findPeer(cluster, env, out);
  if (peer === null) return;
  const version = versionFor(cluster.channel, peer.key, METADATA);
  if (version < 0) {
    refreshFailed(cluster, env);
    return;
  }
  const { wantsNames } = cluster.view;
  // Version 0 asks for all by naming none.
  const all = version === 0 ? [] : null;
  const topics = [...cluster.view.topics.keys()].map((name) => ({ name, topicId: ZERO_UUID }));
  const body = {
    topics: wantsNames ? all : topics,
    allowAutoTopicCreation: version < 4 || cluster.options.createsTopics,
    includeClusterAuthorizedOperations: false,
    includeTopicAuthorizedOperations: false,
  };
  cluster.isStale = false;
  cluster.asksAll = wantsNames;
  cluster.refresh = callPeer(cluster.channel, env, peer.key, { apiKey: METADATA, version, body }, out);
}

function refreshDueMs(cluster: Cluster): number {
  const { metadataMaxAgeMs = METADATA_MAX_AGE_MS } = cluster.options;
  return cluster.isStale ? cluster.refreshAtMs : cluster.refreshAtMs + metadataMaxAgeMs;
}

/**
 * A peer that is up and has room, the idlest; of equals each in turn. Null for none: then one is being opened.
 * `except`: keys of peers that will not do.
 */
export function findPeer(cluster: Cluster, env: Env, out: Outbox, except: readonly string[] = NOBODY): Peer | null {
  let best: Peer | null = null;
  let isOpening = false;
  let isUp = false;
  for (const peer of cluster.channel.peers.values()) {
    if (peer.state === 'connecting' || peer.state === 'negotiating') isOpening = true;
    if (peer.state === 'up') isUp = true;
    if (except.includes(peer.key) || !canCall(cluster.channel, peer.key)) continue;
    if (best === null || isBetter(cluster, peer, best)) best = peer;
  }
  if (best === null && !isOpening && !isUp) openNext(cluster, env, out);
  if (best === null) return null;
  cluster.findings += 1;
  cluster.foundAt.set(best.key, cluster.findings);
  return best;
}

function isBetter({ foundAt }: Cluster, peer: Peer, best: Peer): boolean {
  if (peer.inFlight.length !== best.inFlight.length) return peer.inFlight.length < best.inFlight.length;
  return (foundAt.get(peer.key) ?? 0) < (foundAt.get(best.key) ?? 0);
}

/** Opens one more address, because those that are up are of no help. False if there is none. */
export function openAnother(cluster: Cluster, env: Env, out: Outbox): boolean {
  const next = nextAddress(cluster, env);
  if (next !== null) openPeer(cluster.channel, env, next, out);
  return next !== null;
}

/** The address that is to be tried next of those whose back-off is over, whoever kept silent last of all; or null. */
function nextAddress(cluster: Cluster, env: Env): Address | null {
  const addresses = addressesOf(cluster.view);
  let next: Address | null = null;
  let nextSilentMs = Number.POSITIVE_INFINITY;
  let place = 0;
  for (let tried = 0; tried < addresses.length; tried++) {
    const at = (cluster.rotation + tried) % addresses.length;
    const address = addresses[at] as Address;
    const peer = cluster.channel.peers.get(peerKey(address));
    if (peer !== undefined && (peer.state !== 'idle' || peer.notBeforeMs > env.nowMs)) continue;
    const silentMs = peer?.silentMs ?? Number.NEGATIVE_INFINITY;
    if (next !== null && silentMs >= nextSilentMs) continue;
    next = address;
    nextSilentMs = silentMs;
    place = at;
  }
  if (next !== null) cluster.rotation = (place + 1) % addresses.length;
  return next;
}

/**
 * Opens the next address. If there is none, or it kept silent when it was last asked, all are opened, each once its
 * back-off is over: whoever is up first is asked.
 */
function openNext(cluster: Cluster, env: Env, out: Outbox): void {
  const next = nextAddress(cluster, env);
  const silentMs = next === null ? 0 : (cluster.channel.peers.get(peerKey(next))?.silentMs ?? Number.NEGATIVE_INFINITY);
  const opened = next === null || silentMs > Number.NEGATIVE_INFINITY ? addressesOf(cluster.view) : [next];
  for (const address of opened) openPeer(cluster.channel, env, address, out);
}

/**
 * For how long one node that keeps silent for good can hold up a client whose other nodes are well, ms: one request is
 * given up; then it is asked anew who leads, and what was to be sent is sent again, after a first back-off each. Who
 * gives up sooner is promised nothing: Apache Kafka's producer takes no delivery.timeout.ms below request.timeout.ms.
 */
export function silenceMs({ requestTimeoutMs, retryBackoffMs }: SilenceOptions): number {
  return requestTimeoutMs + 2 * longestBackoffMs(1, retryBackoffMs, REFRESH_BACKOFF_MAX_MS);
}

/** When the cluster next wants a 'wake'; Infinity for never. */
export function clusterDeadlineMs(cluster: Cluster): number {
  const channelMs = channelDeadlineMs(cluster.channel);
  if (cluster.refresh !== 0) return channelMs;
  let isHeldUp = false;
  for (const peer of cluster.channel.peers.values()) {
    if (canCall(cluster.channel, peer.key)) return Math.min(channelMs, refreshDueMs(cluster));
    isHeldUp ||= peer.state !== 'idle';
  }
  // With every peer under way or full, an event of the channel comes first; a wake could do nothing.
  return isHeldUp ? channelMs : Math.min(channelMs, refreshDueMs(cluster));
}

/** Closes every connection. Calls are reported as lost. */
export function closeCluster(cluster: Cluster, out: Outbox, events: ChannelEvent[]): void {
  for (const key of [...cluster.channel.peers.keys()]) closePeer(cluster.channel, key, out, events);
  cluster.refresh = 0;
}

/** True between any two steps. */
export function checkCluster(cluster: Cluster): void {
  checkChannel(cluster.channel);
  if (cluster.refresh === 0) return;
  let isOut = false;
  for (const peer of cluster.channel.peers.values()) {
    isOut ||= peer.inFlight.some((flight) => flight.ticket === cluster.refresh);
  }
  assert(isOut, 'a refresh is awaited that nobody was asked for');
}
