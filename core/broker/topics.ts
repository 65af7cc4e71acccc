/**
 * The topics that this node knows, and how a new one comes into being.
 *
 * Until the metadata log exists, topics come from three places: folders found at start, `tidemark.topics`, and
 * auto-creation. A topic's id is drawn at random and kept in `partition.metadata` of each of its folders.
 *
 * A topic is made in an order that a crash cannot confuse: all folders but the first, durably; then the folder of
 * partition 0, durably. So a topic whose partition 0 has its metadata is complete, and one that lacks it was never
 * shown to anyone and is taken away at the next start. Only after that are the logs opened and the topic shown.
 */
import { topicConfig } from '../config/log-config.ts';
import { assert } from '../lib/assert.ts';
import type { Timed } from '../lib/heap.ts';
import { nextTicket } from '../lib/ids.ts';
import { encodeUtf8 } from '../lib/utf8.ts';
import type { DiskInput, Env, HostInput, Outbox } from '../lib/world.ts';
import { ErrorCode } from '../protocol/errors.ts';
import { answerMetadata, type MetadataWait } from './api/03-metadata.ts';
import { bootTopicsDone } from './boot-serve.ts';
import { exitNode } from './exit.ts';
import { formatPartitionMetadata, PARTITION_METADATA, partitionName, randomUuid } from './files.ts';
import { createPartition, openPartition } from './partitions.ts';
import { say } from './say.ts';
import type { Node, Topic } from './state.ts';

/** Topics that may be in the making at one time. */
export const CREATIONS_MAX = 256;
/** Folders of one new topic that are written at one time. */
const FOLDERS_AT_ONCE_MAX = 128;
const ID_BYTES = 16;

/** How far a new topic has come, in this order. */
type CreationStage = 'id' | 'others' | 'othersSynced' | 'first' | 'firstSynced' | 'logs';

/** A topic in the making. */
interface Creation {
  readonly name: string;
  readonly partitionsCount: number;
  stage: CreationStage;
  topic: Topic | null;
  /** The next partition whose folder, or log, is asked for. */
  next: number;
  /** Answers that the stage still waits for. */
  pending: number;
  /** Requests that want to be answered when it is done. */
  readonly waiting: MetadataWait[];
}

/** The state of all topics of a node. */
export interface Topics extends Timed {
  readonly kind: 'topics';
  readonly owner: number;
  /** Complete topics only, in the order in which they became so. */
  readonly byName: Map<string, Topic>;
  readonly byId: Map<string, Topic>;
  /** Names by the name with '_' for '.': two such names would be one in metrics, so Kafka refuses the second. */
  readonly collisions: Map<string, string>;
  readonly creations: Map<string, Creation>;
  /** What was asked of the world, by ticket. */
  readonly asked: Map<number, Creation>;
}

/** No topics. */
export function createTopics(owner: number): Topics {
  return {
    kind: 'topics',
    deadlineMs: Number.POSITIVE_INFINITY,
    heapIndex: -1,
    owner,
    byName: new Map(),
    byId: new Map(),
    collisions: new Map(),
    creations: new Map(),
    asked: new Map(),
  };
}

/** Whether a new topic of this name is refused because of one that looks the same in metrics. */
export function collides(topics: Topics, name: string): boolean {
  const other = topics.collisions.get(name.replaceAll('.', '_'));
  return other !== undefined && other !== name;
}

/**
 * Begins to make a topic, or joins in when it is in the making; `wait` is told of the end. False when too many
 * topics are in the making. The name is legal and free.
 */
export function createTopic(
  node: Node,
  name: string,
  partitionsCount: number,
  wait: MetadataWait | null,
  out: Outbox,
): boolean {
  const { topics } = node;
  assert(!topics.byName.has(name), 'a topic is made once');
  assert(partitionsCount > 0, 'a topic has at least one partition');
  let creation = topics.creations.get(name);
  if (creation === undefined) {
    if (topics.creations.size >= CREATIONS_MAX) return false;
    creation = { name, partitionsCount, stage: 'id', topic: null, next: 0, pending: 1, waiting: [] };
    topics.creations.set(name, creation);
    topics.collisions.set(name.replaceAll('.', '_'), name);
    out.push({ kind: 'entropy', length: ID_BYTES, owner: topics.owner, ticket: askFor(node, creation) });
  }
  if (wait !== null) {
    creation.waiting.push(wait);
    wait.remaining += 1;
  }
  return true;
}

/** Takes an answer of the world to a topic in the making. */
export function stepTopics(
  node: Node,
  env: Env,
  input: DiskInput | Extract<HostInput, { kind: 'entropy' }>,
  out: Outbox,
): void {
  const creation = node.topics.asked.get(input.ticket);
  if (creation === undefined) return;
  node.topics.asked.delete(input.ticket);
  if (!node.topics.creations.has(creation.name)) return;
  if (input.kind === 'diskFailed') {
    failCreation(node, creation, input.error, input.detail, out);
    return;
  }
  creation.pending -= 1;
  if (input.kind === 'entropy') {
    creation.topic = { name: creation.name, id: randomUuid(input.bytes, 0), partitions: [] };
    creation.stage = 'others';
    creation.next = 1;
  }
  proceed(node, env, creation, out);
}

/** A partition of a topic in the making has a leader. */
export function topicPartitionOpened(node: Node, env: Env, topic: Topic, out: Outbox): void {
  const creation = node.topics.creations.get(topic.name);
  if (creation === undefined) return;
  creation.pending -= 1;
  proceed(node, env, creation, out);
}

/** The topic is complete: clients see it from now on. */
export function showTopic(node: Node, topic: Topic): void {
  const { topics } = node;
  assert(!topics.byName.has(topic.name), 'a topic is shown once');
  assert(!topics.byId.has(topic.id), 'two topics have one id');
  topics.byName.set(topic.name, topic);
  topics.byId.set(topic.id, topic);
  topics.collisions.set(topic.name.replaceAll('.', '_'), topic.name);
}

/** Goes on as far as it can without an answer. */
function proceed(node: Node, env: Env, creation: Creation, out: Outbox): void {
  const topic = creation.topic as Topic;
  switch (creation.stage) {
    case 'others':
      while (creation.next < creation.partitionsCount && creation.pending < FOLDERS_AT_ONCE_MAX) {
        writeFolder(node, creation, topic, creation.next, out);
        creation.next += 1;
      }
      if (creation.pending > 0) return;
      creation.stage = 'othersSynced';
      syncFolder(node, creation, out);
      return;
    case 'othersSynced':
      creation.stage = 'first';
      writeFolder(node, creation, topic, 0, out);
      return;
    case 'first':
      if (creation.pending > 0) return;
      creation.stage = 'firstSynced';
      syncFolder(node, creation, out);
      return;
    case 'firstSynced':
      creation.stage = 'logs';
      creation.next = 0;
      openNext(node, env, creation, topic, out);
      return;
    case 'logs':
      openNext(node, env, creation, topic, out);
      if (creation.pending === 0) complete(node, creation, topic, out);
      return;
    default:
      assert(false, 'a topic without an id cannot go on');
  }
}

/** The folder and, in it, its metadata: names change in the order in which they were asked for. */
function writeFolder(node: Node, creation: Creation, topic: Topic, index: number, out: Outbox): void {
  const owner = node.topics.owner;
  const path = `${node.folder}/${partitionName(topic.name, index)}`;
  const bytes = encodeUtf8(formatPartitionMetadata(topic.id));
  creation.pending += 2;
  out.push({ kind: 'makeFolder', path, owner, ticket: askFor(node, creation) });
  out.push({ kind: 'replace', path: `${path}/${PARTITION_METADATA}`, bytes, owner, ticket: askFor(node, creation) });
}

function syncFolder(node: Node, creation: Creation, out: Outbox): void {
  creation.pending += 1;
  const ticket = askFor(node, creation);
  out.push({ kind: 'syncFolder', path: node.folder, owner: node.topics.owner, ticket });
}

function openNext(node: Node, env: Env, creation: Creation, topic: Topic, out: Outbox): void {
  const found = { clean: true, recoveryPoint: 0, highWatermark: 0, logStartOffset: 0 };
  while (creation.next < creation.partitionsCount && creation.pending < FOLDERS_AT_ONCE_MAX) {
    creation.next += 1;
    creation.pending += 1;
    openPartition(node, env, createPartition(node, topic, topicConfig(node.config)), found, out);
  }
}

function complete(node: Node, creation: Creation, topic: Topic, out: Outbox): void {
  assert(topic.partitions.length === creation.partitionsCount, 'a partition of the topic is missing');
  node.topics.creations.delete(creation.name);
  showTopic(node, topic);
  const fields = new Map<string, string | number>([
    ['topic', topic.name],
    ['id', topic.id],
    ['partitions', topic.partitions.length],
  ]);
  say(out, 'info', 'topic created', fields);
  tellWaiting(node, creation, ErrorCode.NONE);
  bootTopicsDone(node, out);
}

/** A full disk or missing rights: what was made so far is taken away, and whoever waits is told. */
function failCreation(node: Node, creation: Creation, error: string, detail: string, out: Outbox): void {
  const { topics } = node;
  topics.creations.delete(creation.name);
  topics.collisions.delete(creation.name.replaceAll('.', '_'));
  const reason = `topic ${creation.name} could not be created: ${error} (${detail})`;
  if (error === 'io' || node.stage === 'booting') {
    exitNode(node, 1, reason);
    return;
  }
  say(out, 'error', reason);
  // Partition 0 goes first: without it the topic does not count, wherever a crash interrupts.
  for (let index = 0; index < creation.partitionsCount; index++) {
    if (index > creation.next) break;
    const path = `${node.folder}/${partitionName(creation.name, index)}`;
    out.push({ kind: 'remove', path, owner: topics.owner, ticket: nextTicket(node.ids) });
  }
  tellWaiting(node, creation, ErrorCode.KAFKA_STORAGE_ERROR);
}

function tellWaiting(node: Node, creation: Creation, error: ErrorCode): void {
  for (const wait of creation.waiting) {
    if (error !== ErrorCode.NONE) wait.failed.set(creation.name, error);
    wait.remaining -= 1;
    if (wait.remaining === 0) answerMetadata(node, wait);
  }
}

/** A ticket whose answer is meant for this topic. */
function askFor(node: Node, creation: Creation): number {
  const ticket = nextTicket(node.ids);
  node.topics.asked.set(ticket, creation);
  return ticket;
}
