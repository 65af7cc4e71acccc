/**
 * The controller: decides what happens to the metadata of the cluster, and answers with records.
 *
 * Theory of operation. Handlers read the state and return records with a response; they change no metadata.
 * `replayRecords` alone does that, when the records have been appended to the log (coordination calls it, in log
 * order); the response waits until they are committed. So `image` here is what has been *appended*: on the active
 * controller it may run ahead of what brokers know. When an append fails, the whole state is dropped and built again
 * from the committed log.
 *
 * Some parts of the state are not in the log, because losing them is harmless: when each broker was last heard of (a
 * new controller asks, see `probing.ts`), the dice of placement, what is to be done next (`duties.ts`), and an index
 * that follows from the image.
 *
 * Handlers need what they cannot make: the time, uuids, the offset of their first record. Those come in `Context`.
 *
 * Where to read on:
 * - `handle.ts`: which handler serves which API. `machine.ts`: the same for coordination. `duties.ts`: what is unasked.
 * - `partition-change.ts`: who is in sync, who leads, who may lead later. `elections.ts`: of all that a broker touches.
 * - `brokers.ts`: who takes part. `probing.ts`: who is dead. `served-topics.ts`: when a change of topics is answered.
 * - `placement.ts`: where the replicas of new partitions go.
 */
import { assert } from '../lib/assert.ts';
import { applyRecord, draftImage, type MetadataDelta, publishDraft } from '../metadata/draft.ts';
import type { NodeSettings } from '../metadata/effective.ts';
import { type ConfigResource, type MetadataImage, type Provenance, ResourceType } from '../metadata/image.ts';
import { createPartitionPool, type PartitionPool } from '../metadata/partition-pool.ts';
import type { MetadataRecord } from '../metadata/records.ts';
import { mapEntries } from '../metadata/sharded-map.ts';
import { collisionKey } from '../metadata/topic-names.ts';

/** What the operator decided. */
export interface ControllerConfig extends NodeSettings {
  readonly clusterId: string;
  /** num.partitions: of a topic that is created without saying so. */
  readonly numPartitions: number;
  /** default.replication.factor: of a topic that is created without saying so. */
  readonly replicationFactor: number;
  /** broker.session.timeout.ms: a broker that is silent for so long is fenced. */
  readonly sessionTimeoutMs: number;
  /** How often leads are given back to the preferred replicas, ms; Infinity or absent: never. */
  readonly balanceIntervalMs?: number;
}

/** What is known of a broker's life beside the log. */
export interface BrokerSession {
  /** When it was last heard of, on this node's monotonic clock. */
  heardMs: number;
  /** Up to where it has applied the metadata log; -1 before it says. */
  metadataOffset: number;
  /** Where the log ended when it began to shut down; -1 if it has not. */
  shutdownOffset: number;
  /** Whether no connection is known any more on which it was heard of. */
  isCut: boolean;
}

/** The state. */
export interface Controller {
  readonly config: ControllerConfig;
  /** Everything appended so far, committed or not; changed by `replayRecords` alone, in log order. */
  image: MetadataImage;
  /** Of all images that it makes. */
  readonly pool: PartitionPool;
  /** Brokers by id; only those that were heard of since this controller became active, or registered before. */
  readonly sessions: Map<number, BrokerSession>;
  /** Names with a dot or an underscore by what they look like in a metric. Follows from `image`. */
  readonly lookalikes: Map<string, readonly string[]>;
  /** Dice of placement: an unsigned 32-bit integer. */
  dice: number;
  /** When leads are given back next, on this node's monotonic clock; Infinity for never. */
  balanceAtMs: number;
  /** Whether a partition without a leader may have been allowed since to be led by anyone. */
  mayElectUncleanly: boolean;
}

/** What comes from outside with every request. */
export interface Context {
  /** Monotonic, ms. */
  readonly nowMs: number;
  /** The offset that the first record of the answer will have. */
  readonly nextOffset: number;
  /**
   * Fresh uuids; each is used once and taken off. `idsNeeded` says how many a request may use at most: the caller asks
   * the world for them before it calls `handle`.
   */
  readonly ids: string[];
}

/** What a handler decided. */
export interface Handled<R> {
  readonly records: readonly MetadataRecord[];
  readonly response: R;
  /** Whether the records must be in one batch. Records of several batches still follow each other undivided. */
  readonly isAtomic: boolean;
}

/** An error for one part of a request. A null message lets the client say what the code means. */
export interface Refusal {
  readonly errorCode: number;
  readonly errorMessage: string | null;
}

/** The most records that one request may cause; Kafka's limit. */
export const RECORDS_PER_REQUEST_MAX = 10_000;

/**
 * A controller at an image, which it takes over at `nowMs`. Brokers that take part get a fresh session, save the one
 * in this very process: if that one registers anew, its earlier life is over, and it need not wait for a session's end.
 */
export function createController(
  config: ControllerConfig,
  image: MetadataImage,
  seed: number,
  nowMs: number,
): Controller {
  const controller: Controller = {
    config,
    image,
    pool: createPartitionPool(),
    sessions: new Map(),
    lookalikes: new Map(),
    dice: seed >>> 0,
    balanceAtMs: nowMs + (config.balanceIntervalMs ?? Infinity),
    mayElectUncleanly: true,
  };
  for (const broker of image.cluster.brokers.values()) {
    const isOwn = broker.id === config.nodeId;
    if (!broker.fenced && !isOwn) controller.sessions.set(broker.id, freshSession(nowMs));
  }
  for (const [name] of mapEntries(image.topics.idByName)) addLookalike(controller.lookalikes, name);
  return controller;
}

/** A session that begins now. */
export function freshSession(nowMs: number): BrokerSession {
  return { heardMs: nowMs, metadataOffset: -1, shutdownOffset: -1, isCut: false };
}

/**
 * Replays what was appended; the only change of the metadata here. The records are those that a handler of this state
 * returned, so one that does not fit is our own mistake.
 */
export function replayRecords(
  controller: Controller,
  records: readonly MetadataRecord[],
  provenance: Provenance,
): MetadataDelta {
  const draft = draftImage(controller.image, controller.pool);
  for (const record of records) {
    const problem = applyRecord(draft, record);
    assert(problem === null, 'a record of the controller does not fit its own image');
  }
  const delta = publishDraft(draft, provenance);
  assert(typeof delta !== 'string', 'records of the controller leave a topic with gaps');
  controller.image = delta.after;
  for (const { before, after } of delta.topics) {
    if (before === null && after !== null) addLookalike(controller.lookalikes, after.name);
    if (before !== null && after === null) dropLookalike(controller.lookalikes, before.name);
  }
  if (delta.configs.some(mayAllowUncleanElections)) controller.mayElectUncleanly = true;
  for (const id of delta.brokers) if (!delta.after.cluster.brokers.has(id)) controller.sessions.delete(id);
  return delta;
}

/** Whether the settings of topics may have changed with those of a resource. */
function mayAllowUncleanElections({ type }: ConfigResource): boolean {
  return type === ResourceType.TOPIC || type === ResourceType.BROKER;
}

function addLookalike(lookalikes: Map<string, readonly string[]>, name: string): void {
  const key = collisionKey(name);
  if (key !== null) lookalikes.set(key, [...(lookalikes.get(key) ?? []), name]);
}

function dropLookalike(lookalikes: Map<string, readonly string[]>, name: string): void {
  const key = collisionKey(name);
  if (key === null) return;
  const left = (lookalikes.get(key) ?? []).filter((other) => other !== name);
  if (left.length === 0) lookalikes.delete(key);
  else lookalikes.set(key, left);
}

/** A fresh uuid. */
export function takeId(context: Context): string {
  const id = context.ids.pop();
  assert(id !== undefined, 'a request was handled with too few uuids');
  return id;
}

/** Whether a broker takes part: registered, not fenced, not about to shut down. */
export function isActive(image: MetadataImage, broker: number): boolean {
  const found = image.cluster.brokers.get(broker);
  return found !== undefined && !found.fenced && !found.inControlledShutdown;
}

/** Whether an epoch is that of a registered broker's present life. */
export function isCurrentLife(image: MetadataImage, broker: number, epoch: number): boolean {
  return image.cluster.brokers.get(broker)?.epoch === epoch;
}
