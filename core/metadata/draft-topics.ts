/**
 * The topics of an image in the making. A topic's partitions are copied once, when a batch first touches the topic;
 * after that a change of a partition is one new object in an array. That is what lets 40,000 changes fit in one batch.
 */
import { assert } from '../lib/assert.ts';
import type { ClusterDraft } from './draft-cluster.ts';
import type { PartitionImage, TopicImage, TopicsImage } from './image.ts';
import {
  knownPartition,
  type PartitionPool,
  pooledBrokers,
  pooledDirectories,
  rememberPartition,
} from './partition-pool.ts';
import type { RecordValue } from './records.ts';
import { draftDelete, draftGet, draftMap, draftSet, type MapDraft, mapValues, publishMap } from './sharded-map.ts';

/** What happened to one topic. */
export interface TopicDelta {
  /** Null: the topic is new. */
  readonly before: TopicImage | null;
  /** Null: the topic is gone. One that came and went within the batch is not listed. */
  readonly after: TopicImage | null;
  /** Numbers of partitions that are new or changed, each once, in the order of their first change. */
  readonly partitions: readonly number[];
}

/** A topic of the next image; its partitions may be set until the draft ends. */
interface OwnTopic extends TopicImage {
  partitions: PartitionImage[];
}

/** A topic that this draft has touched: what has happened to it so far. */
interface TopicDraft extends TopicDelta {
  after: OwnTopic | null;
  partitions: number[];
}

/** One that is there. */
interface PresentTopic extends TopicDraft {
  after: OwnTopic;
}

/** The topics in the making. */
export interface TopicsDraft {
  readonly byId: MapDraft<TopicImage>;
  readonly idByName: MapDraft<string>;
  readonly touched: Map<string, TopicDraft>;
  /** The one of `touched` that was asked for last: records of one topic mostly stand together. */
  last: TopicDraft | null;
  /** Those of which a partition came before one with a smaller number: gaps are looked for. */
  readonly sparse: Set<TopicDraft>;
  readonly base: TopicsImage;
  /** What was met lately: equal partitions are one object, and partitions with the same brokers share their lists. */
  readonly pool: PartitionPool;
}

const NOBODY: readonly number[] = [];
const NOWHERE: readonly string[] = [];
/** Of a topic whose partitions nothing has happened to. Never written to. */
const UNCHANGED: number[] = [];

/** Stands where a later record of the same batch must put a partition. */
const GAP: PartitionImage = {
  replicas: NOBODY,
  directories: NOWHERE,
  isr: NOBODY,
  removingReplicas: NOBODY,
  addingReplicas: NOBODY,
  elr: NOBODY,
  lastKnownElr: NOBODY,
  leader: -1,
  leaderRecoveryState: 0,
  leaderEpoch: -1,
  partitionEpoch: -1,
};

/** The most partitions that one topic may have: a bound against a damaged log. */
const PARTITIONS_MAX = 1_000_000;

/** Begins; costs nothing. The pool is the writer's, from draft to draft. */
export function draftTopics(base: TopicsImage, pool: PartitionPool): TopicsDraft {
  return {
    byId: draftMap(base.byId),
    idByName: draftMap(base.idByName),
    touched: new Map(),
    last: null,
    sparse: new Set(),
    base,
    pool,
  };
}

function isPresent(topic: TopicDraft): topic is PresentTopic {
  return topic.after !== null;
}

/** The topic, to be changed; undefined if there is none. */
function touch(draft: TopicsDraft, id: string): PresentTopic | undefined {
  const topic = draft.last?.after?.id === id ? draft.last : find(draft, id);
  if (topic === undefined || !isPresent(topic)) return undefined;
  draft.last = topic;
  return topic;
}

function find(draft: TopicsDraft, id: string): TopicDraft | undefined {
  const known = draft.touched.get(id);
  if (known !== undefined) return known;
  const before = draftGet(draft.byId, id);
  if (before === undefined) return undefined;
  const after = { name: before.name, id: before.id, partitions: before.partitions.slice() };
  const topic: TopicDraft = { before, after, partitions: UNCHANGED };
  draft.touched.set(before.id, topic);
  return topic;
}

/** Replays a TopicRecord. */
export function addTopic(draft: TopicsDraft, id: string, name: string): string | null {
  if (draftGet(draft.idByName, name) !== undefined) return `The topic ${name} is created a second time.`;
  if (draft.touched.has(id) || draftGet(draft.byId, id) !== undefined) return `A second topic gets the id ${id}.`;
  draftSet(draft.idByName, name, id);
  draft.touched.set(id, { before: null, after: { name, id, partitions: [] }, partitions: UNCHANGED });
  return null;
}

function forget(topic: TopicDraft): void {
  topic.after = null;
  topic.partitions = UNCHANGED;
}

/** The name of the topic that was removed, or null if there is none with this id. */
export function removeTopic(draft: TopicsDraft, id: string): string | null {
  const topic = touch(draft, id);
  if (topic === undefined) return null;
  const { name } = topic.after;
  draftDelete(draft.idByName, name);
  draftDelete(draft.byId, id);
  forget(topic);
  return name;
}

/** Equal contents share one array: most partitions have all replicas in sync. */
function shared(numbers: readonly number[] | null, like: readonly number[] = NOBODY): readonly number[] {
  if (numbers === null || numbers.length === 0) return NOBODY;
  if (numbers.length !== like.length) return numbers;
  for (let i = 0; i < numbers.length; i++) if (numbers[i] !== like[i]) return numbers;
  return like;
}

/** Log directories, as the very strings of the brokers that registered them: else there are as many as replicas. */
function named(directories: readonly string[], replicas: readonly number[], cluster: ClusterDraft): readonly string[] {
  if (directories.length === 0) return NOWHERE;
  const brokers = cluster.brokers ?? cluster.base.brokers;
  const names = directories.slice();
  for (let i = 0; i < names.length; i++) {
    const dirs = brokers.get(replicas[i] ?? -1)?.logDirs ?? NOWHERE;
    const at = dirs.indexOf(names[i] ?? '');
    if (at >= 0) names[i] = dirs[at] ?? '';
  }
  return names;
}

/** A partition as it is kept: with lists that others have too, and at their size. Those of `before` are that. */
function kept(
  { pool }: TopicsDraft,
  cluster: ClusterDraft | null,
  fresh: PartitionImage,
  before: PartitionImage | null,
): PartitionImage {
  const brokers = (list: readonly number[], own: readonly number[] | undefined): readonly number[] => {
    return list === own || list.length === 0 ? list : pooledBrokers(pool, list);
  };
  const replicas = brokers(fresh.replicas, before?.replicas);
  let { directories } = fresh;
  if (directories !== before?.directories && directories.length > 0) {
    directories = pooledDirectories(pool, cluster === null ? directories : named(directories, replicas, cluster));
  }
  const partition: PartitionImage = {
    replicas,
    directories,
    isr: fresh.isr === fresh.replicas ? replicas : brokers(fresh.isr, before?.isr),
    removingReplicas: brokers(fresh.removingReplicas, before?.removingReplicas),
    addingReplicas: brokers(fresh.addingReplicas, before?.addingReplicas),
    elr: brokers(fresh.elr, before?.elr),
    lastKnownElr: brokers(fresh.lastKnownElr, before?.lastKnownElr),
    leader: fresh.leader,
    leaderRecoveryState: fresh.leaderRecoveryState,
    leaderEpoch: fresh.leaderEpoch,
    partitionEpoch: fresh.partitionEpoch,
  };
  rememberPartition(pool, partition);
  return partition;
}

function isChanged({ before, after }: PresentTopic, partition: number): boolean {
  const now = after.partitions[partition];
  return now !== undefined && now !== GAP && now !== before?.partitions[partition];
}

/** Replays a PartitionRecord: the partition is new, or set anew as a whole. */
export function addPartition(
  draft: TopicsDraft,
  cluster: ClusterDraft,
  record: RecordValue<'PartitionRecord'>,
): string | null {
  const topic = touch(draft, record.topicId);
  if (topic === undefined) return `A partition is added to a topic that does not exist, ${record.topicId}.`;
  const partition = record.partitionId;
  const { name, partitions } = topic.after;
  if (partition < 0 || partition >= PARTITIONS_MAX) return `The topic ${name} gets a partition ${partition}.`;
  if (partition > partitions.length) draft.sparse.add(topic);
  while (partitions.length < partition) partitions.push(GAP);
  const fresh: PartitionImage = {
    replicas: record.replicas,
    directories: record.directories.length === 0 ? NOWHERE : record.directories,
    isr: shared(record.isr, record.replicas),
    removingReplicas: shared(record.removingReplicas),
    addingReplicas: shared(record.addingReplicas),
    elr: shared(record.eligibleLeaderReplicas),
    lastKnownElr: shared(record.lastKnownElr),
    leader: record.leader,
    leaderRecoveryState: record.leaderRecoveryState,
    leaderEpoch: record.leaderEpoch,
    partitionEpoch: record.partitionEpoch,
  };
  put(topic, partition, knownPartition(draft.pool, fresh) ?? kept(draft, cluster, fresh, null));
  return null;
}

/** Replays a PartitionChangeRecord. */
export function changePartition(draft: TopicsDraft, record: RecordValue<'PartitionChangeRecord'>): string | null {
  const topic = touch(draft, record.topicId);
  if (topic === undefined) return `A partition of a topic is changed that does not exist, ${record.topicId}.`;
  const before = topic.after.partitions[record.partitionId];
  if (before === undefined || before === GAP) {
    return `Partition ${record.partitionId} of topic ${topic.after.name} is changed, but does not exist.`;
  }
  const fresh = changedPartition(before, record);
  put(topic, record.partitionId, knownPartition(draft.pool, fresh) ?? kept(draft, null, fresh, before));
  return null;
}

function put(topic: PresentTopic, partition: number, value: PartitionImage): void {
  const before = topic.before?.partitions[partition];
  if (!isChanged(topic, partition)) {
    // A list of one has no room for more, and most topics need none.
    if (topic.partitions === UNCHANGED) topic.partitions = [partition];
    else topic.partitions.push(partition);
  }
  // What is set to what it was is listed as changed all the same, and so it must not be the object that it was.
  topic.after.partitions[partition] = value === before ? { ...value } : value;
}

/**
 * A partition after a change, with lists of the record. Setting the leader, even to who it is, begins a new leader
 * epoch.
 */
export function changedPartition(before: PartitionImage, record: RecordValue<'PartitionChangeRecord'>): PartitionImage {
  const replicas = record.replicas === null ? before.replicas : record.replicas;
  const keepsLeader = record.leader === -2;
  return {
    replicas,
    directories: record.directories === null ? before.directories : record.directories,
    isr: record.isr === null ? before.isr : shared(record.isr, replicas),
    removingReplicas: record.removingReplicas === null ? before.removingReplicas : shared(record.removingReplicas),
    addingReplicas: record.addingReplicas === null ? before.addingReplicas : shared(record.addingReplicas),
    elr: record.eligibleLeaderReplicas === null ? before.elr : shared(record.eligibleLeaderReplicas),
    lastKnownElr: record.lastKnownElr === null ? before.lastKnownElr : shared(record.lastKnownElr),
    leader: keepsLeader ? before.leader : record.leader,
    leaderRecoveryState: record.leaderRecoveryState === -1 ? before.leaderRecoveryState : record.leaderRecoveryState,
    leaderEpoch: keepsLeader ? before.leaderEpoch : before.leaderEpoch + 1,
    partitionEpoch: before.partitionEpoch + 1,
  };
}

/** Replays a ClearElrRecord; an empty name means every topic. */
export function clearElr(draft: TopicsDraft, name: string): string | null {
  if (name !== '') {
    const id = draftGet(draft.idByName, name);
    if (id === undefined) return `Eligible leader replicas are cleared of a topic that does not exist, ${name}.`;
    clearTopicElr(draft, id, draft.touched.get(id)?.after?.partitions ?? draftGet(draft.byId, id)?.partitions ?? []);
    return null;
  }
  for (const { after } of draft.touched.values()) if (after !== null) clearTopicElr(draft, after.id, after.partitions);
  for (const topic of mapValues(draft.base.byId)) {
    if (!draft.touched.has(topic.id)) clearTopicElr(draft, topic.id, topic.partitions);
  }
  return null;
}

function clearTopicElr(draft: TopicsDraft, id: string, partitions: readonly PartitionImage[]): void {
  for (let i = 0; i < partitions.length; i++) {
    const partition = partitions[i];
    if (partition === undefined || (partition.elr.length === 0 && partition.lastKnownElr.length === 0)) continue;
    const topic = touch(draft, id);
    assert(topic !== undefined, 'a topic vanished while its replicas were cleared');
    const partitionEpoch = partition.partitionEpoch + 1;
    put(topic, i, { ...partition, elr: NOBODY, lastKnownElr: NOBODY, partitionEpoch });
  }
}

/** Ends the draft of the topics; a sentence if a topic lacks a partition. */
export function publishTopics(
  draft: TopicsDraft,
): { readonly image: TopicsImage; readonly deltas: readonly TopicDelta[] } | string {
  for (const { after } of draft.sparse) {
    const gap = after?.partitions.indexOf(GAP) ?? -1;
    if (gap >= 0) return `The topic ${after?.name} lacks partition ${gap}.`;
  }
  const deltas: TopicDelta[] = [];
  for (const topic of draft.touched.values()) {
    const { before, after } = topic;
    if (after !== null) {
      // Of a topic that grew one by one the list has room for more, which is not to be kept.
      if (after.partitions.length !== before?.partitions.length) after.partitions = after.partitions.slice();
      draftSet(draft.byId, after.id, after);
    }
    if (after !== before) deltas.push(topic);
  }
  const byId = publishMap(draft.byId);
  const idByName = publishMap(draft.idByName);
  const isSame = byId === draft.base.byId && idByName === draft.base.idByName;
  return { image: isSame ? draft.base : { byId, idByName }, deltas };
}
