/**
 * The onlooker of several nodes: sees every replica of a node after each of its steps, and compares the bytes on all
 * disks now and then. What is wrong goes into the history, once for each kind and log.
 *
 * It reads states and disks, and changes nothing.
 */
import type { Node } from '../../core/broker/node.ts';
import type { Partition } from '../../core/broker/state.ts';
import { epochAt } from '../../core/log/epochs.ts';
import type { Log } from '../../core/log/log.ts';
import { offsetOf } from '../../core/log/names.ts';
import { baseOffset, batchEnd, dataViewOf } from '../../core/protocol/batch.ts';
import { metadataFolder } from '../../core/raft/names.ts';
import { logEnd } from '../../core/raft/state.ts';
import { QUORUM } from '../../core/verify/excuses.ts';
import { type Complaint, complain, type History } from '../../core/verify/history.ts';
import {
  compareReplicas,
  createReplicaJudge,
  lossesOfLog,
  type ReplicaBytes,
  type ReplicaJudge,
  type ReplicaSight,
  seeReplica,
} from '../../core/verify/replicas.ts';
import type { Actor } from '../actor.ts';
import { readContent } from '../disk/content.ts';
import type { Disk } from '../disk/disk.ts';
import { isFolder, resolve } from '../disk/tree.ts';
import { type ElectionNotes, leadKey } from '../marks/election-marks.ts';
import { nodeOf } from '../nodes.ts';

/** What was seen last of one replica in one life of its node. */
interface Seen {
  isLeader: boolean;
  epoch: number;
  start: number;
  end: number;
  highWatermark: number;
  /** Of what a leader knows of the controller's word; -1 where there is none. */
  setEpoch: number;
}

/** What it remembers. */
export interface Onlooker {
  readonly judge: ReplicaJudge;
  readonly elections: ElectionNotes;
  /** By what a node keeps of a replica: most steps change nothing of it, and then nothing is judged. */
  readonly seen: Map<object, Seen>;
  /** By what a node keeps of a replica: `ReplicaSight.log`. */
  readonly names: Map<object, string>;
  /** Kinds of complaint that were made, each of a log: the first of them tells the story. */
  readonly complained: Set<string>;
}

/** Nothing was seen. Tells the history what unclean elections may have lost. */
export function createOnlooker({ losses }: History, elections: ElectionNotes): Onlooker {
  return { judge: createReplicaJudge(losses), elections, seen: new Map(), names: new Map(), complained: new Set() };
}

type Raft = NonNullable<Node['controller']>['quorum']['raft'];

/** A replica of which something has changed. */
export interface News {
  readonly sight: ReplicaSight;
  /** Null for the metadata log. */
  readonly partition: Partition | null;
}

/** Looks at a node after a step of it, at a time in microseconds. What has changed. */
export function lookAt(onlooker: Onlooker, history: History, actor: Actor, atUs: number): readonly News[] {
  const news: News[] = [];
  const node = nodeOf(actor);
  if (node === null) return news;
  const raft = raftOf(node);
  if (raft !== null && isNews(onlooker, raft, raft.lead !== null, raft.epoch, raft.log, raft.highWatermark)) {
    const sight = sightOfRaft(node, raft, actor.life, atUs);
    judge(onlooker, history, sight);
    news.push({ sight, partition: null });
  }
  for (const topic of node.topics.byId.values()) {
    for (const partition of topic.partitions) {
      if (partition === null || !hasRole(partition)) continue;
      const { leader, followed, log } = partition;
      const epoch = followed?.leaderEpoch ?? leader.epoch;
      const highWatermark = followed?.highWatermark ?? leader.highWatermark;
      const setEpoch = leader.inSync?.partitionEpoch ?? -1;
      if (!isNews(onlooker, partition, leader.epoch >= 0, epoch, log, highWatermark, setEpoch)) continue;
      const sight = sightOf(onlooker, node, partition, actor.life, atUs);
      const lossy = sight.isLeader ? lossyPartition(onlooker, history, partition) : -1;
      const shown = shownBelow(onlooker, sight, partition.log, sight.epoch);
      judge(onlooker, history, { ...sight, lossy, highWatermark: shown });
      news.push({ sight, partition });
    }
  }
  return news;
}

function isNews(
  { seen }: Onlooker,
  replica: object,
  isLeader: boolean,
  epoch: number,
  { start, end }: { readonly start: number; readonly end: number },
  highWatermark: number,
  setEpoch = -1,
): boolean {
  const last = seen.get(replica);
  if (last === undefined) {
    seen.set(replica, { isLeader, epoch, start, end, highWatermark, setEpoch });
    return true;
  }
  const isSame =
    last.highWatermark === highWatermark &&
    last.end === end &&
    last.epoch === epoch &&
    last.isLeader === isLeader &&
    last.setEpoch === setEpoch &&
    last.start === start;
  if (isSame) return false;
  Object.assign(last, { isLeader, epoch, start, end, highWatermark, setEpoch });
  return true;
}

function judge({ judge: memory, complained }: Onlooker, history: History, sight: ReplicaSight): void {
  note(complained, history, seeReplica(memory, sight), sight.log);
}

/** Passes a complaint on, once of each kind and log. */
export function note(complained: Set<string>, history: History, found: Complaint | null, log?: string): void {
  if (found === null) return;
  const kind = `${found.checker} ${log}`;
  if (complained.has(kind)) return;
  complained.add(kind);
  complain(history, log === undefined ? found : { ...found, log });
}

function raftOf({ controller }: Node): Raft | null {
  const raft = controller?.quorum.raft;
  return raft === undefined || raft.stage !== 'open' ? null : raft;
}

function hasRole({ leader, followed }: Partition): boolean {
  return leader.epoch >= 0 || followed !== null;
}

function sightOfRaft(node: Node, raft: Raft, life: number, atUs: number): ReplicaSight {
  const { offset: end, epoch: endEpoch } = logEnd(raft);
  return {
    log: QUORUM,
    node: node.nodeId,
    life,
    stay: 0,
    isLeader: raft.lead !== null,
    epoch: raft.epoch,
    isEpochKept: true,
    start: raft.log.start,
    end,
    endEpoch,
    highWatermark: raft.highWatermark,
    atUs,
    lossy: -1,
  };
}

/** A replica is mended less often in one stay. */
const MENDS_MAX = 1_000;

function sightOf(onlooker: Onlooker, node: Node, partition: Partition, life: number, atUs: number): ReplicaSight {
  const { leader, followed, log } = partition;
  return {
    log: nameOf(onlooker, partition),
    node: node.nodeId,
    life,
    stay: log.owner * MENDS_MAX + partition.mends,
    isLeader: leader.epoch >= 0,
    epoch: followed?.leaderEpoch ?? leader.epoch,
    isEpochKept: false,
    start: log.start,
    end: log.end,
    endEpoch: epochAt(log.epochs, log.end - 1),
    highWatermark: followed?.highWatermark ?? leader.highWatermark,
    atUs,
    lossy: -1,
  };
}

/** One text for each replica: it is looked up by, again and again. */
function nameOf({ names }: Onlooker, partition: Partition): string {
  let name = names.get(partition);
  if (name === undefined) {
    name = `${partition.topic.name}-${partition.index} (${partition.topic.id})`;
    names.set(partition, name);
  }
  return name;
}

/** The partition, in the history, if its present lead began by an unclean election that was allowed; else -1. */
function lossyPartition({ elections }: Onlooker, { partitions }: History, { topic, index, leader }: Partition): number {
  if (!elections.isUncleanAllowed || !elections.unclean.has(leadKey(topic.id, index, leader.epoch))) return -1;
  return partitions.findIndex((one) => one.topic === topic.name && one.partition === index && one.isSlot !== true);
}

/**
 * Up to where what a replica shows as committed is still promised, in an epoch. What an unclean election has taken lies
 * there until the replica hears from its leader where their logs part, and is cut: its watermark is that of another
 * time until then.
 */
function shownBelow({ judge: memory }: Onlooker, sight: ReplicaSight, log: Log, epoch: number): number {
  let shown = sight.highWatermark;
  for (const loss of lossesOfLog(memory, sight.log)) {
    const epochThere = epochAt(log.epochs, loss.fromOffset);
    const isOfNewLeader = loss.fromOffset < loss.endOffset && epochThere <= loss.endEpoch;
    const isUncut = log.end > loss.fromOffset && epochThere < loss.epoch && !isOfNewLeader;
    if (loss.epoch <= epoch && isUncut) shown = Math.min(shown, loss.fromOffset);
  }
  return shown;
}

function sightsOf(onlooker: Onlooker, node: Node, life: number, isEnd: boolean): ReplicaSight[] {
  const sights: ReplicaSight[] = [];
  const raft = raftOf(node);
  if (raft !== null) sights.push(sightOfRaft(node, raft, life, -1));
  for (const topic of node.topics.byId.values()) {
    for (const partition of topic.partitions) {
      if (partition === null || !hasRole(partition)) continue;
      const sight = sightOf(onlooker, node, partition, life, -1);
      const highWatermark = isEnd ? sight.highWatermark : shownBelow(onlooker, sight, partition.log, LATEST);
      sights.push({ ...sight, highWatermark });
    }
  }
  return sights;
}

/** An epoch that no log reaches. */
const LATEST = Number.POSITIVE_INFINITY;

/**
 * Compares what lies on the disks of all nodes that are up, but for logs of which bytes are known to be damaged. At the
 * end every log has been cut that had to be.
 */
export function compareAll(
  onlooker: Onlooker,
  history: History,
  nodes: readonly Actor[],
  isEnd: boolean,
  isDamaged: (node: number, log: string) => boolean = () => false,
): void {
  const byLog = new Map<string, ReplicaBytes[]>();
  for (const actor of nodes) {
    const node = nodeOf(actor);
    if (node === null || actor.disk === null) continue;
    for (const sight of sightsOf(onlooker, node, actor.life, isEnd)) {
      if (sight.highWatermark <= 0 || isDamaged(sight.node, sight.log)) continue;
      const folder = folderOf(node, sight.log);
      const batches = batchesOf(actor.disk, folder, sight);
      const list = byLog.get(sight.log) ?? [];
      list.push({ node: node.nodeId, start: sight.start, highWatermark: sight.highWatermark, batches });
      byLog.set(sight.log, list);
    }
  }
  for (const [log, replicas] of byLog) {
    const [first, ...others] = replicas;
    for (const other of others) {
      if (first !== undefined) note(onlooker.complained, history, compareReplicas(log, first, other), log);
    }
  }
}

function folderOf(node: Node, log: string): string {
  if (log === QUORUM) return metadataFolder(node.folder);
  return `${node.folder}/${log.slice(0, log.indexOf(' '))}`;
}

/** The batches below the watermark, from the segments of a folder. */
function batchesOf(disk: Disk, folder: string, { highWatermark }: ReplicaSight): Uint8Array[] {
  const { entry } = resolve(disk.tree, folder);
  if (entry === undefined || !isFolder(entry)) return [];
  const bases = [...entry.entries.keys()].map((name) => offsetOf(name, '.log')).filter((base) => base >= 0);
  bases.sort((a, b) => a - b);
  return bases.flatMap((base) => {
    const file = entry.entries.get(`${String(base).padStart(20, '0')}.log`);
    if (base >= highWatermark || file === undefined || isFolder(file)) return [];
    return split(readContent(file.content, 0, file.content.size), highWatermark);
  });
}

/** Whole batches from the front on; behind the watermark there may be anything. */
function split(bytes: Uint8Array, highWatermark: number): Uint8Array[] {
  const view = dataViewOf(bytes);
  const batches: Uint8Array[] = [];
  for (let at = 0; ; ) {
    const end = batchEnd(view, at, bytes.length);
    if (end < 0 || baseOffset(view, at) >= highWatermark) return batches;
    batches.push(bytes.subarray(at, end));
    at = end;
  }
}
