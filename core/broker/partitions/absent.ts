/**
 * Leaders that have gone and are not replaced yet: what this node tells of them meanwhile.
 *
 * Theory of operation. A process that dies takes its connections with it, those of its followers and those of its
 * clients, at the same moment. A client then asks another broker who leads now, within a millisecond, and long before
 * anybody can have decided it. Told the name that it has just lost, it believes that, and comes again after a second or
 * more, by its own clock: most of an outage would be that wait. But the broker that is asked has lost the same leader,
 * for it follows it. So it holds such an answer until there is one worth giving: the leader was replaced or has come
 * back, or HOLD_MS are over. Other answers on the same connection wait behind it, no longer than that.
 *
 * A node is absent from when a connection over which this one fetched from it has ended, or was refused, until it
 * answers again, or is fenced, or another life of it registers. Silence makes nobody absent: who is silent may take
 * long to be given up, and clients see the same silence.
 *
 * And whom nobody should ask any more is named among the brokers a little longer. A client that finds the broker it has
 * lost gone from that list drops all that it had for it, in the very moment in which it turns to the new leader:
 * librdkafka (2.16) then forgets the new leader as well, and looks for it by a clock of a second. Kafka names no broker
 * that is fenced; here it is named for LINGER_MS.
 *
 * Invariant: whoever waits here waits for a node that is absent. A crash forgets both, with the connections.
 */
import type { Env } from '../../lib/world.ts';
import { type BrokerImage, type MetadataImage, type TopicImage, topicById, topicByName } from '../../metadata/image.ts';
import type { MetadataRequest } from '../../protocol/messages/03-metadata.ts';
import type { MetadataWait } from '../api/03-metadata.ts';
import type { Node } from '../state.ts';
import { finishWait, holdAnswer, type TopicWait } from './topic-waits.ts';
import { scheduleTopics } from './topics.ts';

/** An answer is held for so long, from when the leader was missed, ms: longer than it takes to replace one. */
export const HOLD_MS = 1_000;
/** A broker that was fenced is named for so long, ms: clients have found the new leaders by then. */
export const LINGER_MS = 10_000;
/** Answers that are held at one time; one more leaves as it is. */
export const HELD_MAX = 1_000;

/** A node that has gone. */
interface Absence {
  /** Of its registration: which life of it. */
  readonly epoch: number;
  readonly sinceMs: number;
}

/** The state. */
export interface Absent {
  readonly nodes: Map<number, Absence>;
  readonly held: Set<TopicWait>;
  /** Brokers that were fenced a short while ago, and until when each is named, `env.nowMs`. */
  readonly lingering: Map<number, number>;
}

/** Everybody is there. */
export function createAbsent(): Absent {
  return { nodes: new Map(), held: new Set(), lingering: new Map() };
}

/** A connection over which this node fetched from another has ended, or was refused. */
export function missNode({ followers, image }: Node, env: Env, nodeId: number): void {
  const broker = image.cluster.brokers.get(nodeId);
  if (broker === undefined || broker.fenced) return;
  const { nodes } = followers.absent;
  if (nodes.get(nodeId)?.epoch === broker.epoch) return;
  env.reached('broker.leader_missed');
  nodes.set(nodeId, { epoch: broker.epoch, sinceMs: env.nowMs });
}

/** It has answered a fetch. */
export function findNode(node: Node, nodeId: number): void {
  const { absent } = node.followers;
  if (absent.nodes.size > 0 && absent.nodes.delete(nodeId)) release(node);
}

/** The image has changed: perhaps those who have gone were replaced. */
export function lookForAbsent(node: Node, env: Env, before: MetadataImage): void {
  const { absent } = node.followers;
  if (before.cluster !== node.image.cluster) noteFenced(node, env, before);
  let isAnyDecided = false;
  for (const [nodeId, { epoch }] of absent.nodes) {
    const broker = node.image.cluster.brokers.get(nodeId);
    if (broker !== undefined && !broker.fenced && broker.epoch === epoch) continue;
    absent.nodes.delete(nodeId);
    isAnyDecided = true;
  }
  if (isAnyDecided) release(node);
}

function noteFenced({ image, followers }: Node, env: Env, before: MetadataImage): void {
  const { lingering } = followers.absent;
  for (const { id, fenced } of image.cluster.brokers.values()) {
    if (!fenced) lingering.delete(id);
    else if (before.cluster.brokers.get(id)?.fenced === false) lingering.set(id, env.nowMs + LINGER_MS);
  }
}

/** The brokers that are named although they are fenced. */
export function lingeringBrokers({ followers, image }: Node, nowMs: number): BrokerImage[] {
  const { lingering } = followers.absent;
  const brokers: BrokerImage[] = [];
  for (const [id, untilMs] of lingering) {
    const broker = image.cluster.brokers.get(id);
    if (broker === undefined || untilMs <= nowMs) lingering.delete(id);
    else brokers.push(broker);
  }
  return brokers;
}

function release(node: Node): void {
  const { held } = node.followers.absent;
  const waits = [...held];
  held.clear();
  for (const wait of waits) finishWait(node, wait);
}

/** Holds an answer that would name a leader that has gone. False: nothing speaks against it. */
export function holdMetadata(node: Node, env: Env, wait: MetadataWait): boolean {
  const { absent } = node.followers;
  if (absent.nodes.size === 0) return false;
  const untilMs = heldUntilMs(node, env, wait.body);
  if (untilMs <= env.nowMs) return false;
  for (const one of absent.held) if (!node.topics.waits.has(one)) absent.held.delete(one);
  if (absent.held.size >= HELD_MAX) return false;
  env.reached('broker.metadata_held');
  absent.held.add(holdAnswer(node, untilMs, { kind: 'metadata', wait }));
  scheduleTopics(node);
  return true;
}

/** Until when nothing can be said of the leaders of what is asked for; who asks for all topics is told at once. */
function heldUntilMs(node: Node, env: Env, { topics }: MetadataRequest): number {
  let untilMs = env.nowMs;
  for (const { name, topicId } of topics ?? []) {
    const topic = name === null ? topicById(node.image, topicId) : topicByName(node.image, name);
    if (topic !== undefined) untilMs = Math.max(untilMs, missedUntilMs(node, topic));
  }
  return untilMs;
}

function missedUntilMs({ followers }: Node, { partitions }: TopicImage): number {
  let untilMs = Number.NEGATIVE_INFINITY;
  for (const { leader } of partitions) {
    const absence = followers.absent.nodes.get(leader);
    if (absence !== undefined) untilMs = Math.max(untilMs, absence.sinceMs + HOLD_MS);
  }
  return untilMs;
}
