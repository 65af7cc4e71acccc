/**
 * Bounded rates of replication (KIP-73), so that moving partitions leave room for clients: how much this node sends to
 * throttled replicas that are not in sync, and how much it fetches for its own.
 *
 * Which replicas are throttled the topics say, how much may pass the brokers' settings; both may change at any time.
 * What passes for a throttled replica counts, in sync or not; only one that is not in sync is ever held up, or a busy
 * partition would lose its in-sync set to its own rate. A replica that is held up stays in the fetch session of its
 * broker and is marked as news once more may be sent. A crash forgets what has passed; the image says the rates again.
 */
import type { NodeConfig } from '../../config/settings.ts';
import { setDeadline } from '../../lib/heap.ts';
import type { Env } from '../../lib/world.ts';
import type { ReadOutcome } from '../../log/types.ts';
import type { PartitionImage } from '../../metadata/image.ts';
import { throttleChanged } from '../../replication/fetcher.ts';
import {
  createThrottle,
  draw,
  freeAtMs,
  giveBack,
  portion,
  setRate,
  type Throttle,
} from '../../replication/throttle.ts';
import type { Node, Partition } from '../state.ts';
import { ripen } from './fetch.ts';
import { markDirty, type Subscription } from './fetch-sessions.ts';

/** The state. */
export interface Throttles {
  /** leader.replication.throttled.rate */
  readonly leading: Throttle;
  /** follower.replication.throttled.rate */
  readonly following: Throttle;
  /** Replicas of other brokers that are held up. Holds forgotten ones too. */
  readonly held: Set<Subscription>;
}

/** Nothing is bounded. */
export function createThrottles(): Throttles {
  return { leading: createThrottle(), following: createThrottle(), held: new Set() };
}

/** Which replicas of a topic are throttled, as its settings say: pairs of partition and broker, or all. */
export interface ThrottledReplicas {
  readonly leading: ReadonlySet<string>;
  readonly following: ReadonlySet<string>;
}

const NOBODY: ReadonlySet<string> = new Set();

/** None is. */
export const NONE_THROTTLED: ThrottledReplicas = { leading: NOBODY, following: NOBODY };

/** What the settings of a topic say. Taken apart once: a list may be as long as the topic has replicas. */
export function throttledReplicas(values: ReadonlyMap<string, string>): ThrottledReplicas {
  return {
    leading: replicasIn(values.get('leader.replication.throttled.replicas')),
    following: replicasIn(values.get('follower.replication.throttled.replicas')),
  };
}

function replicasIn(list = ''): ReadonlySet<string> {
  return list === '' ? NOBODY : new Set(list.split(',').map((pair) => pair.trim()));
}

/** Whether a replica is on such a list. */
export function isThrottled(list: ReadonlySet<string>, partition: number, broker: number): boolean {
  return list.size > 0 && (list.has('*') || list.has(`${partition}:${broker}`));
}

/** The settings of this broker may be others: whoever was held up looks again. */
export function ratesChanged(node: Node, env: Env, config: NodeConfig): void {
  const { throttles, fetchers, touched } = node.followers;
  const { leading, following } = throttles;
  const sent = config['leader.replication.throttled.rate'];
  const fetched = config['follower.replication.throttled.rate'];
  if (leading.bytesPerSecond !== sent) {
    setRate(leading, sent, env.nowMs);
    releaseHeld(node);
  }
  if (following.bytesPerSecond === fetched) return;
  setRate(following, fetched, env.nowMs);
  for (const fetcher of fetchers.values()) {
    throttleChanged(fetcher, env.nowMs);
    touched.add(fetcher);
  }
}

/** What the topic and the image say of a replica here that follows: whether it has to keep the rate. */
export function noteThrottled(node: Node, env: Env, partition: Partition, image: PartitionImage | undefined): void {
  const { followed, fetcher, isFetchThrottled } = partition;
  if (followed === null || fetcher === null) return;
  const isInSync = image?.isr.includes(node.nodeId) === true;
  const throttled = !isFetchThrottled ? 'no' : isInSync ? 'counted' : 'bound';
  if (followed.throttled === throttled) return;
  followed.throttled = throttled;
  throttleChanged(fetcher, env.nowMs);
  node.followers.touched.add(fetcher);
}

/** Whether a replica of another broker gets no records now. Then it waits: it is news again when it may. */
export function holdUp(node: Node, env: Env, partition: Partition, subscription: Subscription, id: number): boolean {
  const { followers, deadlines } = node;
  const { held, leading } = followers.throttles;
  if (partition.leader.inSync?.isr.includes(id) !== false) return false;
  const untilMs = freeAtMs(leading, env.nowMs);
  if (untilMs <= env.nowMs) return false;
  env.reached('replication.throttled.leader');
  held.add(subscription);
  setDeadline(deadlines, followers, Math.min(followers.deadlineMs, untilMs));
  return true;
}

/** How much one read may bring for a replica of another broker, of `sizeBytes` that it might. */
export function portionFor(node: Node, partition: Partition, id: number, sizeBytes: number): number {
  const isInSync = partition.leader.inSync?.isr.includes(id) !== false;
  return isInSync ? sizeBytes : portion(node.followers.throttles.leading, sizeBytes);
}

/** So many bytes are sent for a throttled replica, or may be: `noteRead` tells once they are read. */
export function noteSent(node: Node, env: Env, sizeBytes: number): void {
  draw(node.followers.throttles.leading, sizeBytes, env.nowMs);
}

/** A read has ended that was thought to bring so many bytes. */
export function noteRead(node: Node, thoughtBytes: number, outcome: ReadOutcome): void {
  const readBytes = outcome.kind === 'batches' ? outcome.sizeBytes : 0;
  giveBack(node.followers.throttles.leading, thoughtBytes - readBytes);
}

/** Lets those go on that were held up, where there is room for more. */
export function releaseDue(node: Node, env: Env): void {
  if (freeAtMs(node.followers.throttles.leading, env.nowMs) <= env.nowMs) releaseHeld(node);
}

/** Lets those look again that were held up. */
export function releaseHeld(node: Node): void {
  const { held } = node.followers.throttles;
  for (const subscription of held) {
    if (!subscription.isAlive) continue;
    markDirty(subscription);
    const { parked } = subscription.session;
    if (parked !== null) ripen(node, parked);
  }
  held.clear();
}

/** When those may go on that are held up, `env.nowMs`; Infinity if nobody is. */
export function heldDeadlineMs({ leading, held }: Throttles, nowMs: number): number {
  return held.size === 0 ? Number.POSITIVE_INFINITY : freeAtMs(leading, nowMs);
}
