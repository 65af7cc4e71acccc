/**
 * The topics of the committed image, as this node keeps them: partitions get folders, logs and leaders, and lose them.
 *
 * A topic is known here from the moment that its records are committed. Each new partition goes through its phases
 * (`PartitionPhase`): folder and `partition.metadata`, then its name made durable with those of others, then its log.
 * A name that an earlier topic still occupies is waited for. A full disk is tried again. Whoever asked for the topic is
 * answered when every log is open (`waitForTopics`). A crash in between leaves folders, or none: the next start makes
 * what the image has and lacks here (`boot-folders.ts`).
 */
import { type LogConfig, topicConfig } from '../../config/log-config.ts';
import type { NodeConfig } from '../../config/settings.ts';
import { assert } from '../../lib/assert.ts';
import { setDeadline, type Timed } from '../../lib/heap.ts';
import { nextTicket } from '../../lib/ids.ts';
import { createQueue, dequeue, enqueue, type Queue } from '../../lib/queue.ts';
import { encodeUtf8 } from '../../lib/utf8.ts';
import type { DiskInput, Env, Outbox } from '../../lib/world.ts';
import { createSharedEpochs, type SharedEpochs } from '../../log/epochs.ts';
import type { LogFound } from '../../log/types.ts';
import type { TopicImage } from '../../metadata/image.ts';
import { isInternalTopic } from '../../metadata/topic-names.ts';
import { formatPartitionMetadata, PARTITION_METADATA, partitionName } from '../checkpoints/files.ts';
import { beginRemoval, leaveReaders } from '../checkpoints/removal.ts';
import { exitNode } from '../exit.ts';
import { say } from '../say.ts';
import type { Node, Partition, Topic } from '../state.ts';
import { configFor, type TopicConfig } from './apply-image.ts';
import { leaveRole, settleRole, takeFound } from './partition-role.ts';
import { createPartition, openPartition } from './partitions.ts';
import { expireWaits, finishWait, type TopicWait } from './topic-waits.ts';

export type { TopicWait } from './topic-waits.ts';

/** New partitions whose folders, or logs, are made at one time. */
const MAKING_MAX = 128;
/** A folder that did not fit the disk is tried again after so long, ms. */
const RETRY_MS = 1_000;
/** Nothing is known of a new log, and nothing needs recovery. */
const NEW_LOG: LogFound = { clean: true, recoveryPoint: 0, highWatermark: 0, logStartOffset: 0 };

/** The state of all topics of a node. */
export interface Topics extends Timed {
  readonly kind: 'topics';
  readonly owner: number;
  /** Whether the topics of the image are followed: neither before the logs of a start are open nor in a stop. */
  isLoaded: boolean;
  readonly byName: Map<string, Topic>;
  readonly byId: Map<string, Topic>;
  /** Of topics that set nothing of their own. */
  commonConfig: LogConfig;
  readonly sharedEpochs: SharedEpochs;
  /** Who waits for topics to be usable. */
  readonly waits: Set<TopicWait>;
  /** No wait ends earlier; it may be the time of one that is over. */
  waitsUntilMs: number;
  /** New partitions whose turn has not come. */
  readonly queue: Queue<Partition>;
  /** New partitions in the phases from 'folder' on whose logs are not open. */
  makingCount: number;
  /** Whose folders were asked for in this step and whose files were not yet: empty between steps. */
  readonly batch: Partition[];
  /** Which partition a ticket is about; its folder and its metadata are two. */
  readonly asked: Map<number, Partition>;
  /** Answers that a partition in phase 'folder' waits for, and whether one was a failure. */
  readonly pending: Map<Partition, { left: number; hasFailed: boolean }>;
  /** Partitions whose names the next sync of the log directory makes durable, and the one that is under way. */
  unnamed: Partition[];
  naming: Partition[];
  namingTicket: number;
  /** Partitions whose folders did not fit the disk. */
  readonly retries: Partition[];
  retryAtMs: number;
  /** Folder names that a removed partition still has, and the new partition that waits for the name. */
  readonly leaving: Map<string, Partition | null>;
  /** Names that folders have which were set aside to be deleted. */
  readonly asideNames: Set<string>;
}

/** No topics. */
export function createTopics(owner: number, config: NodeConfig): Topics {
  return {
    kind: 'topics',
    deadlineMs: Number.POSITIVE_INFINITY,
    heapIndex: -1,
    owner,
    isLoaded: false,
    byName: new Map(),
    byId: new Map(),
    commonConfig: topicConfig(config),
    sharedEpochs: createSharedEpochs(),
    waits: new Set(),
    waitsUntilMs: Number.POSITIVE_INFINITY,
    queue: createQueue(),
    makingCount: 0,
    batch: [],
    asked: new Map(),
    pending: new Map(),
    unnamed: [],
    naming: [],
    namingTicket: 0,
    retries: [],
    retryAtMs: Number.POSITIVE_INFINITY,
    leaving: new Map(),
    asideNames: new Set(),
  };
}

/** A topic of the image that is new here; its partitions follow. */
export function addTopic(node: Node, name: string, id: string): Topic {
  const { topics } = node;
  assert(!topics.byName.has(name), 'a name has one topic');
  assert(!topics.byId.has(id), 'an id has one topic');
  const stem = `${node.folder}/${name}-`;
  const isInternal = isInternalTopic(name);
  const topic: Topic = { name, id, isInternal, stem, partitions: [], opening: 0, waits: [] };
  topics.byName.set(name, topic);
  topics.byId.set(id, topic);
  return topic;
}

/** Follows what the image says of partitions of a topic: their replicas come to this node or leave it, or lead anew. */
export function updatePartitions(
  node: Node,
  env: Env,
  topic: Topic,
  image: TopicImage,
  indexes: readonly number[],
  out: Outbox,
): void {
  let config: TopicConfig | null = null;
  while (topic.partitions.length < image.partitions.length) topic.partitions.push(null);
  for (const index of indexes) {
    const partition = topic.partitions[index] ?? null;
    const isHere = image.partitions[index]?.replicas.includes(node.nodeId) === true;
    if (partition !== null && isHere) {
      settleRole(node, env, partition, out);
    } else if (partition !== null) {
      removePartition(node, env, partition, out);
      topic.partitions[index] = null;
    } else if (isHere) {
      config ??= configFor(node, topic.name);
      topic.opening += 1;
      enqueue(node.topics.queue, createPartition(node, topic, index, config));
    }
  }
  makeNext(node, out);
}

/** The topic is no longer in the image: nobody reaches it from now on, and its folders go. */
export function removeTopic(node: Node, env: Env, topic: Topic, out: Outbox): void {
  const { topics } = node;
  topics.byName.delete(topic.name);
  topics.byId.delete(topic.id);
  say(out, 'info', 'topic deleted', new Map([['topic', topic.name]]));
  for (const partition of topic.partitions) if (partition !== null) removePartition(node, env, partition, out);
}

/** No replica of the partition is here any more. */
function removePartition(node: Node, env: Env, partition: Partition, out: Outbox): void {
  const { topics } = node;
  const { topic, phase, log } = partition;
  const isOpening = phase !== 'log' || log.state === 'opening';
  leaveReaders(node, partition);
  leaveRole(node, partition);
  if (phase === 'log') {
    if (isOpening) topics.makingCount -= 1;
    beginRemoval(node, env, partition, out);
  } else if (phase === 'waiting') {
    forgetWaiting(node, partition);
  }
  partition.phase = 'gone';
  if (!isOpening) return;
  topic.opening -= 1;
  if (topic.opening === 0) for (const wait of topic.waits.splice(0)) finishWait(node, wait);
}

/** It never got a folder. */
function forgetWaiting(node: Node, partition: Partition): void {
  const { leaving, retries } = node.topics;
  const name = partitionName(partition.topic.name, partition.index);
  if (leaving.get(name) === partition) leaving.set(name, null);
  if (retries.includes(partition)) retries.splice(retries.indexOf(partition), 1);
  node.machines.delete(partition.log.owner);
}

/**
 * Begins as many partitions as may be made at one time. Names change in the order in which they were asked for, so that
 * a folder waits for the file that was asked for before it: many folders come first, then their files, together.
 */
function makeNext(node: Node, out: Outbox): void {
  const { topics } = node;
  const isRoomy = topics.makingCount <= MAKING_MAX / 2;
  while (isRoomy && topics.makingCount < MAKING_MAX) {
    const partition = dequeue(topics.queue);
    if (partition === undefined) break;
    if (partition.phase !== 'waiting') continue;
    const name = partitionName(partition.topic.name, partition.index);
    if (topics.leaving.has(name)) topics.leaving.set(name, partition);
    else makeFolder(node, partition, out);
  }
  for (const partition of topics.batch.splice(0)) makeMetadata(node, partition, out);
  nameFolders(node, out);
  scheduleTopics(node);
}

function makeFolder(node: Node, partition: Partition, out: Outbox): void {
  const { topics } = node;
  partition.phase = 'folder';
  topics.makingCount += 1;
  topics.pending.set(partition, { left: 2, hasFailed: false });
  topics.batch.push(partition);
  const ticket = askFor(node, partition);
  out.push({ kind: 'makeFolder', path: partition.log.folder, owner: topics.owner, ticket });
}

function makeMetadata(node: Node, partition: Partition, out: Outbox): void {
  const path = `${partition.log.folder}/${PARTITION_METADATA}`;
  const bytes = encodeUtf8(formatPartitionMetadata(partition.topic.id));
  out.push({ kind: 'replace', path, bytes, owner: node.topics.owner, ticket: askFor(node, partition) });
}

/** A ticket whose answer is meant for this partition. */
function askFor(node: Node, partition: Partition): number {
  const ticket = nextTicket(node.ids);
  node.topics.asked.set(ticket, partition);
  return ticket;
}

/** Takes an answer of the disk to a partition in the making. */
export function stepTopics(node: Node, env: Env, input: DiskInput, out: Outbox): void {
  const { topics } = node;
  if (input.kind === 'diskFailed' && (input.error === 'io' || input.error === 'denied')) {
    exitNode(node, 1, `a partition could not be made in ${node.folder}: ${input.error} (${input.detail})`);
    return;
  }
  if (input.ticket === topics.namingTicket) {
    topics.namingTicket = 0;
    if (input.kind === 'diskFailed') {
      exitNode(node, 1, `the log directory ${node.folder} failed: ${input.error} (${input.detail})`);
      return;
    }
    for (const partition of topics.naming.splice(0)) openNamed(node, env, partition, out);
  }
  const partition = topics.asked.get(input.ticket);
  if (partition !== undefined) {
    topics.asked.delete(input.ticket);
    takeFolder(node, env, partition, input, out);
  }
  makeNext(node, out);
}

function takeFolder(node: Node, env: Env, partition: Partition, input: DiskInput, out: Outbox): void {
  const { topics } = node;
  const pending = topics.pending.get(partition);
  if (pending === undefined) return;
  pending.left -= 1;
  if (input.kind === 'diskFailed') {
    pending.hasFailed = true;
    const fields = new Map([['folder', partition.log.folder]]);
    say(out, 'error', 'a partition does not fit the disk; it is tried again', fields);
  }
  if (pending.left > 0) return;
  topics.pending.delete(partition);
  if (partition.phase === 'gone') {
    topics.makingCount -= 1;
    beginRemoval(node, env, partition, out);
  } else if (pending.hasFailed) {
    topics.makingCount -= 1;
    partition.phase = 'waiting';
    topics.retries.push(partition);
    topics.retryAtMs = env.nowMs + RETRY_MS;
  } else {
    partition.phase = 'folderSync';
    topics.unnamed.push(partition);
  }
}

/** One sync of the log directory at a time makes the names of many durable. */
function nameFolders(node: Node, out: Outbox): void {
  const { topics } = node;
  if (topics.namingTicket !== 0 || topics.unnamed.length === 0) return;
  topics.naming = topics.unnamed;
  topics.unnamed = [];
  topics.namingTicket = nextTicket(node.ids);
  out.push({ kind: 'syncFolder', path: node.folder, owner: topics.owner, ticket: topics.namingTicket });
}

function openNamed(node: Node, env: Env, partition: Partition, out: Outbox): void {
  if (partition.phase === 'gone') {
    node.topics.makingCount -= 1;
    beginRemoval(node, env, partition, out);
    return;
  }
  openPartition(node, env, partition, NEW_LOG, out);
}

/** The log of a partition is open. */
export function partitionOpened(node: Node, env: Env, partition: Partition, out: Outbox): void {
  const { topics } = node;
  const { topic } = partition;
  takeFound(node, env, partition, out);
  settleRole(node, env, partition, out);
  topic.opening -= 1;
  if (topic.opening === 0) for (const wait of topic.waits.splice(0)) finishWait(node, wait);
  if (node.boot !== null && node.boot.stage === 'logs') return; // Opened by the start.
  topics.makingCount -= 1;
  makeNext(node, out);
}

/** A folder name is free again: whoever waits for it begins. */
export function nameIsFree(node: Node, name: string, out: Outbox): void {
  const waiting = node.topics.leaving.get(name) ?? null;
  node.topics.leaving.delete(name);
  if (waiting !== null) enqueue(node.topics.queue, waiting);
  makeNext(node, out);
}

/** The deadline has come, or might have. */
export function wakeTopics(node: Node, env: Env, out: Outbox): void {
  const { topics } = node;
  if (env.nowMs >= topics.retryAtMs) {
    topics.retryAtMs = Number.POSITIVE_INFINITY;
    for (const partition of topics.retries.splice(0)) enqueue(topics.queue, partition);
  }
  if (env.nowMs >= topics.waitsUntilMs) expireWaits(node, env);
  makeNext(node, out);
}

/** Gives the heap the next deadline. Called with every answer of the disk: it must not walk over the waits. */
export function scheduleTopics(node: Node): void {
  const { topics } = node;
  if (topics.waits.size === 0) topics.waitsUntilMs = Number.POSITIVE_INFINITY;
  setDeadline(node.deadlines, topics, Math.min(topics.retryAtMs, topics.waitsUntilMs));
}
