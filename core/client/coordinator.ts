/**
 * The way to the coordinator of a group: who it is, and a connection of its own, so that no long poll for records
 * delays a heartbeat and no JoinGroup that waits for others delays a fetch.
 *
 * Any broker is asked who coordinates. What a call says later (NOT_COORDINATOR and its like), a connection that ends
 * and a silence that lasts too long make the coordinator unknown, and it is looked for again, after a back-off. Calls
 * that are out then still come to their end. Invariant: while `address` is not null, its peer is the only one that is
 * wanted. A crash loses all of it.
 */
import { backoffMs } from '../channel/backoff.ts';
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
  openPeer,
  peerKey,
  versionFor,
} from '../channel/channel.ts';
import { assert } from '../lib/assert.ts';
import type { Env, Outbox } from '../lib/world.ts';
import { ErrorCode, errorInfo } from '../protocol/errors.ts';
import type { ApiKey, RequestInputOf } from '../protocol/messages/index.ts';
import { type Cluster, createClientChannel, findPeer, openAnother, USELESS_MAX } from './cluster.ts';

/** The state, plain data. */
export interface Coordinator {
  readonly groupId: string;
  readonly channel: Channel;
  /** Null while it is not known. */
  address: Address | null;
  /** The question that is out, on the cluster's connections; 0 for none. */
  finding: number;
  retryAtMs: number;
  failures: number;
  /** Why there will be none: a Kafka error code; NONE while there may be. */
  refusal: number;
  drivenAtMs: number;
}

const FIND_COORDINATOR = 10;
/** Kafka's number for the coordinator of a group. */
const GROUP = 0;
/** The first version that asks about many at once. */
const MANY_SINCE = 4;
/** The longest wait between two questions. */
const BACKOFF_MAX_MS = 1000;
/** JoinGroup, SyncGroup, a heartbeat, a leave, commits. */
const IN_FLIGHT_MAX = 16;

/** A coordinator that is not known yet. */
export function createCoordinator(cluster: Cluster, groupId: string): Coordinator {
  const { options } = cluster;
  const seed = (options.seed ^ 0x5bd1e995) >>> 0;
  const channel = createClientChannel({ ...options, inFlightMax: IN_FLIGHT_MAX, seed });
  const none = { address: null, finding: 0, retryAtMs: 0, failures: 0, refusal: ErrorCode.NONE, drivenAtMs: 0 };
  return { groupId, channel, ...none };
}

/** Takes what the coordinator's own channel says, before the owner looks at it: an end makes it unknown. */
export function takeChannelEvent(coordinator: Coordinator, env: Env, event: ChannelEvent): void {
  if (event.kind !== 'down' || coordinator.address === null) return;
  if (event.peer === peerKey(coordinator.address)) loseCoordinator(coordinator, env);
}

/** The coordinator is another one, or none, or silent: it is looked for again. */
export function loseCoordinator(coordinator: Coordinator, env: Env): void {
  if (coordinator.address === null) return;
  env.reached('coordinator.lost');
  coordinator.address = null;
  findLater(coordinator, env);
}

function findLater(coordinator: Coordinator, env: Env): void {
  coordinator.failures += 1;
  const { channel, failures } = coordinator;
  coordinator.retryAtMs = env.nowMs + backoffMs(channel, failures, channel.options.reconnectBackoffMs, BACKOFF_MAX_MS);
}

/** A call has been answered well: the next loss is not a failure in a row. */
export function praiseCoordinator(coordinator: Coordinator): void {
  coordinator.failures = 0;
}

/** Takes an answer, or the loss, of our question; false if it was not ours. */
export function takeFound(
  coordinator: Coordinator,
  env: Env,
  event: Answer | Extract<ChannelEvent, { readonly kind: 'lost' }>,
  out: Outbox,
): boolean {
  if (event.ticket !== coordinator.finding || coordinator.finding === 0) return false;
  coordinator.finding = 0;
  if (event.kind === 'lost') {
    findLater(coordinator, env);
    return true;
  }
  const body = answerBody(event, FIND_COORDINATOR);
  const found = event.version >= MANY_SINCE ? body.coordinators[0] : body;
  const errorCode = found?.errorCode ?? ErrorCode.UNKNOWN_SERVER_ERROR;
  if (found === undefined || errorCode !== ErrorCode.NONE) {
    if (!errorInfo(errorCode).retriable) coordinator.refusal = errorCode;
    findLater(coordinator, env);
    return true;
  }
  const address = { host: found.host, port: found.port };
  coordinator.address = address;
  const lost: ChannelEvent[] = [];
  for (const [key, peer] of coordinator.channel.peers) {
    if (key !== peerKey(address) && peer.inFlight.length === 0) closePeer(coordinator.channel, key, out, lost);
  }
  assert(lost.length === 0, 'a call was cut off without need');
  return true;
}

/** Looks for the coordinator, or connects to it, as far as that is possible now. */
export function driveCoordinator(coordinator: Coordinator, cluster: Cluster, env: Env, out: Outbox): void {
  coordinator.drivenAtMs = env.nowMs;
  if (coordinator.refusal !== ErrorCode.NONE) return;
  if (coordinator.address !== null) {
    openPeer(coordinator.channel, env, coordinator.address, out);
    return;
  }
  if (coordinator.finding !== 0 || coordinator.retryAtMs > env.nowMs) return;
  if (coordinator.failures >= USELESS_MAX) openAnother(cluster, env, out);
  const peer = findPeer(cluster, env, out);
  if (peer === null) return;
  const version = versionFor(cluster.channel, peer.key, FIND_COORDINATOR);
  if (version < 0) {
    coordinator.refusal = ErrorCode.UNSUPPORTED_VERSION;
    return;
  }
  const { groupId } = coordinator;
  const isMany = version >= MANY_SINCE;
  const body = { key: isMany ? '' : groupId, keyType: GROUP, coordinatorKeys: isMany ? [groupId] : [] };
  coordinator.finding = callPeer(cluster.channel, env, peer.key, { apiKey: FIND_COORDINATOR, version, body }, out);
}

/** Whether the coordinator can be called now. */
export function isCoordinatorUp({ channel, address }: Coordinator): boolean {
  return address !== null && canCall(channel, peerKey(address));
}

/** The version of an API that the coordinator and we speak; -1 if there is none. Only while it is up. */
export function coordinatorVersion({ channel, address }: Coordinator, apiKey: ApiKey, versionMax?: number): number {
  assert(address !== null, 'a coordinator that is not known has no versions');
  return versionFor(channel, peerKey(address as Address), apiKey, versionMax);
}

/** Calls the coordinator, which must be up; the ticket. */
export function callCoordinator<K extends ApiKey>(
  coordinator: Coordinator,
  env: Env,
  call: { readonly apiKey: K; readonly version: number; readonly body: RequestInputOf<K>; readonly timeoutMs?: number },
  out: Outbox,
): number {
  assert(isCoordinatorUp(coordinator), 'a coordinator is called that is not there');
  return callPeer(coordinator.channel, env, peerKey(coordinator.address as Address), call, out);
}

/** Whether an answer means that another broker is to be asked. */
export function isElsewhere(error: number): boolean {
  return error === ErrorCode.NOT_COORDINATOR || error === ErrorCode.COORDINATOR_NOT_AVAILABLE;
}

/** Closes every connection of its own. Calls are reported as lost. */
export function closeCoordinator(coordinator: Coordinator, out: Outbox, events: ChannelEvent[]): void {
  for (const key of [...coordinator.channel.peers.keys()]) closePeer(coordinator.channel, key, out, events);
  coordinator.address = null;
  coordinator.finding = 0;
}

/** When it next wants a 'wake'; Infinity for never. */
export function coordinatorDeadlineMs(coordinator: Coordinator): number {
  const channelMs = channelDeadlineMs(coordinator.channel);
  const isWaiting =
    coordinator.address === null &&
    coordinator.refusal === ErrorCode.NONE &&
    coordinator.retryAtMs > coordinator.drivenAtMs;
  return isWaiting ? Math.min(channelMs, coordinator.retryAtMs) : channelMs;
}

/** True between any two steps. */
export function checkCoordinator(coordinator: Coordinator): void {
  checkChannel(coordinator.channel);
  assert(coordinator.address === null || coordinator.finding === 0, 'a coordinator is looked for that is known');
}
