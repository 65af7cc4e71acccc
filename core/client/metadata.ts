/**
 * What a client knows of the cluster: brokers, topics, and who leads each partition.
 *
 * Leaders never go backwards: an answer with an older leader epoch than the one known is not believed, whoever gives
 * it (KIP-320), unless the topic was made anew and so has another id. A leader that could not be reached is doubted:
 * it is not used again until some broker has named a leader anew. A crash loses all of it; the bootstrap list brings
 * it back.
 */
import { type Address, peerKey } from '../channel/channel.ts';
import { assert } from '../lib/assert.ts';
import { ZERO_UUID } from '../lib/uuid.ts';
import { ErrorCode, errorInfo } from '../protocol/errors.ts';
import type { ResponseOf } from '../protocol/messages/index.ts';

/** Leader and epoch of one partition. */
export interface PartitionView {
  /** -1 for none. */
  leader: number;
  /** Never falls while the topic keeps its id. */
  leaderEpoch: number;
  /** The leader could not be reached, or said that it does not lead. */
  doubted: boolean;
  /** Ids of the brokers that hold it, as last told. */
  replicas: readonly number[];
}

/** One topic that the client is interested in. */
export interface TopicView {
  readonly name: string;
  /** All zeros while it is not known. */
  id: string;
  /** Of the last answer about the topic; LEADER_NOT_AVAILABLE before the first. */
  error: number;
  /** Whether any broker has said something about it yet. */
  isAnswered: boolean;
  /** By partition, without gaps. */
  partitions: PartitionView[];
}

/** The state, plain data. */
export interface ClusterView {
  readonly bootstrap: readonly Address[];
  readonly brokers: Map<number, Address>;
  readonly topics: Map<string, TopicView>;
  /** Racks of brokers, for those that say where they stand. */
  readonly racks: Map<number, string>;
  /** Whether all topics are asked for, because somebody chooses among their names. */
  wantsNames: boolean;
  /** The names of all topics but internal ones, sorted, as last told; null until all have been asked for. */
  names: readonly string[] | null;
  /** The names of all topics by id, internal ones too; as last told when all were asked for. */
  readonly namesById: Map<string, string>;
  clusterId: string | null;
  controllerId: number;
}

/** Partitions of one topic that a client believes in, at most. */
export const PARTITIONS_MAX = 200_000;

/** Where a request about a partition goes. */
export interface Leader {
  readonly peer: string;
  readonly address: Address;
  readonly leaderEpoch: number;
  readonly topicId: string;
}

/** What a broker adds to an error about leadership (KIP-951). */
export interface LeaderHint {
  readonly leaderId: number;
  readonly leaderEpoch: number;
}

type NodeEndpoint = { readonly nodeId: number; readonly host: string; readonly port: number };

/** A client that knows its bootstrap list and no more. */
export function createView(bootstrap: readonly Address[]): ClusterView {
  const known = { brokers: new Map(), topics: new Map(), racks: new Map(), namesById: new Map() };
  return { bootstrap, ...known, wantsNames: false, names: null, clusterId: null, controllerId: -1 };
}

/** The topic, watched from now on. */
export function watchTopic(view: ClusterView, name: string): TopicView {
  let topic = view.topics.get(name);
  if (topic === undefined) {
    topic = { name, id: ZERO_UUID, error: ErrorCode.LEADER_NOT_AVAILABLE, isAnswered: false, partitions: [] };
    view.topics.set(name, topic);
  }
  return topic;
}

/** Watches a topic no more. */
export function forgetTopic(view: ClusterView, name: string): void {
  view.topics.delete(name);
}

/** Takes over the names of all topics from an answer about all of them. */
export function learnNames(view: ClusterView, answer: ResponseOf<3>): void {
  const names: string[] = [];
  view.namesById.clear();
  for (const { name, topicId, errorCode, isInternal } of answer.topics) {
    if (name !== null && topicId !== ZERO_UUID) view.namesById.set(topicId, name);
    if (name === null || isInternal || errorCode === ErrorCode.UNKNOWN_TOPIC_OR_PARTITION) continue;
    names.push(name);
  }
  view.names = names.sort();
  // What is not among all topics is not there.
  const told = new Set(answer.topics.map(({ name }) => name));
  for (const topic of view.topics.values()) {
    if (told.has(topic.name)) continue;
    topic.error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION;
    topic.isAnswered = true;
  }
}

/** Somebody has heard of this leader epoch: no earlier leader is believed. */
export function expectEpoch(view: ClusterView, name: string, index: number, leaderEpoch: number): void {
  assert(index < PARTITIONS_MAX, 'a client believes in so many partitions');
  const partition = partitionAt(watchTopic(view, name), index);
  partition.leaderEpoch = Math.max(partition.leaderEpoch, leaderEpoch);
}

function partitionAt({ partitions }: TopicView, index: number): PartitionView {
  while (partitions.length <= index) {
    partitions.push({ leader: -1, leaderEpoch: -1, doubted: false, replicas: [] });
  }
  return partitions[index] as PartitionView;
}

/** The latest leader epoch of a partition that the client has heard of; -1 for none. */
export function knownEpoch(view: ClusterView, name: string, index: number): number {
  return view.topics.get(name)?.partitions[index]?.leaderEpoch ?? -1;
}

/** Who leads a partition, if that is known and not doubted. */
export function leaderOf(view: ClusterView, name: string, index: number): Leader | null {
  const topic = view.topics.get(name);
  const partition = topic?.partitions[index];
  if (topic === undefined || partition === undefined || partition.doubted) return null;
  const address = view.brokers.get(partition.leader);
  if (address === undefined) return null;
  return { peer: peerKey(address), address, leaderEpoch: partition.leaderEpoch, topicId: topic.id };
}

/** Doubts the leader of one partition. */
export function doubtLeader(view: ClusterView, name: string, index: number): void {
  const partition = view.topics.get(name)?.partitions[index];
  if (partition !== undefined) partition.doubted = true;
}

/** Doubts the leader of every partition that a peer leads: it could not be reached. */
export function doubtPeer(view: ClusterView, peer: string): void {
  for (const topic of view.topics.values()) {
    for (const partition of topic.partitions) {
      const address = view.brokers.get(partition.leader);
      if (address !== undefined && peerKey(address) === peer) partition.doubted = true;
    }
  }
}

/** Whether some watched topic has no leader to send to. */
export function lacksLeader(view: ClusterView): boolean {
  for (const topic of view.topics.values()) {
    if (topic.error !== ErrorCode.NONE && errorInfo(topic.error).retriable) return true;
    for (const partition of topic.partitions) if (partition.leader < 0 || partition.doubted) return true;
  }
  return false;
}

/** Believes the error of a leader that names its successor, if it is news. */
export function learnLeader(
  view: ClusterView,
  at: { readonly topic: string; readonly partition: number },
  hint: LeaderHint,
  endpoints: readonly NodeEndpoint[],
): boolean {
  const partition = view.topics.get(at.topic)?.partitions[at.partition];
  if (partition === undefined || hint.leaderId < 0 || hint.leaderEpoch <= partition.leaderEpoch) return false;
  for (const { nodeId, host, port } of endpoints) view.brokers.set(nodeId, { host, port });
  if (!view.brokers.has(hint.leaderId)) return false;
  partition.leader = hint.leaderId;
  partition.leaderEpoch = hint.leaderEpoch;
  partition.doubted = false;
  return true;
}

/**
 * Takes over an answer to Metadata, as far as it is not older than what is known. False if it names a leader that was
 * doubted, and no newer one: it may come from a broker that has heard nothing for long.
 */
export function learnMetadata(view: ClusterView, answer: ResponseOf<3>): boolean {
  let isNews = true;
  view.clusterId = answer.clusterId ?? view.clusterId;
  view.controllerId = answer.controllerId;
  if (answer.brokers.length > 0) {
    view.brokers.clear();
    view.racks.clear();
  }
  for (const { nodeId, host, port, rack } of answer.brokers) {
    view.brokers.set(nodeId, { host, port });
    if (rack !== null) view.racks.set(nodeId, rack);
  }
  for (const told of answer.topics) {
    const topic = told.name === null ? undefined : view.topics.get(told.name);
    if (topic !== undefined && !learnTopic(topic, told)) isNews = false;
  }
  return isNews;
}

function learnTopic(topic: TopicView, told: ResponseOf<3>['topics'][number]): boolean {
  let isNews = true;
  topic.error = told.errorCode;
  topic.isAnswered = true;
  if (told.errorCode !== ErrorCode.NONE) return isNews;
  if (told.topicId !== ZERO_UUID && told.topicId !== topic.id) {
    if (topic.id !== ZERO_UUID) topic.partitions = [];
    topic.id = told.topicId;
  }
  for (const { partitionIndex, leaderId, leaderEpoch, replicaNodes } of told.partitions) {
    if (partitionIndex < 0 || partitionIndex >= PARTITIONS_MAX) continue;
    const partition = partitionAt(topic, partitionIndex);
    // Versions below 7 tell no epoch: the answer is taken as it is.
    if (leaderEpoch >= 0 && leaderEpoch < partition.leaderEpoch) continue;
    if (partition.doubted && leaderId === partition.leader && leaderEpoch <= partition.leaderEpoch) isNews = false;
    partition.leader = leaderId;
    partition.leaderEpoch = Math.max(leaderEpoch, partition.leaderEpoch);
    partition.doubted = false;
    partition.replicas = replicaNodes;
  }
  return isNews;
}

/** Forgets the brokers, so that the bootstrap list is used again (KIP-1102). Epochs stay. */
export function rebootstrap(view: ClusterView): void {
  view.brokers.clear();
}

/** Every address at which a broker may be found: those of the cluster, then the bootstrap list. Each once. */
export function addressesOf(view: ClusterView): Address[] {
  const found = new Map<string, Address>();
  for (const address of view.brokers.values()) found.set(peerKey(address), address);
  for (const address of view.bootstrap) if (!found.has(peerKey(address))) found.set(peerKey(address), address);
  return [...found.values()];
}

/** The name of a topic by its id; null where it is not known, or belongs to another id by now. */
export function nameOfTopic(view: ClusterView, id: string): string | null {
  for (const topic of view.topics.values()) if (topic.id === id) return topic.name;
  return view.namesById.get(id) ?? null;
}

/** How many partitions a topic has, as far as that is known; 0 for one that does not exist. */
export function countedPartitions(view: ClusterView, name: string): number {
  const topic = view.topics.get(name);
  if (topic === undefined || topic.error === ErrorCode.UNKNOWN_TOPIC_OR_PARTITION) return 0;
  return topic.partitions.length;
}

/** By partition, the racks where a replica stands. */
export function racksOf(view: ClusterView, name: string): string[][] {
  return (view.topics.get(name)?.partitions ?? []).map(({ replicas }) => {
    const racks: string[] = [];
    for (const replica of replicas) {
      const rack = view.racks.get(replica);
      if (rack !== undefined) racks.push(rack);
    }
    return racks;
  });
}
