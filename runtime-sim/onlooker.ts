/**
 * The onlooker of several nodes: sees every replica of a node after each of its steps, and compares the bytes on all
 * disks now and then. What is wrong goes into the history, once for each kind.
 *
 * It reads states and disks, and changes nothing.
 */
import type { Node } from '../core/broker/node.ts';
import type { Partition } from '../core/broker/state.ts';
import { offsetOf } from '../core/log/names.ts';
import { baseOffset, batchEnd, dataViewOf } from '../core/protocol/batch.ts';
import { metadataFolder } from '../core/raft/names.ts';
import { logEnd } from '../core/raft/state.ts';
import { complain, type History } from '../core/verify/history.ts';
import {
  compareReplicas,
  createReplicaJudge,
  type ReplicaBytes,
  type ReplicaJudge,
  type ReplicaSight,
  seeReplica,
} from '../core/verify/replicas.ts';
import type { Actor } from './actor.ts';
import { readContent } from './disk/content.ts';
import type { Disk } from './disk/disk.ts';
import { isFolder, resolve } from './disk/tree.ts';
import { nodeOf } from './nodes.ts';

/** What was seen last of one replica in one life of its node. */
interface Seen {
  isLeader: boolean;
  epoch: number;
  start: number;
  end: number;
  highWatermark: number;
}

/** What it remembers. */
export interface Onlooker {
  readonly judge: ReplicaJudge;
  /** By what a node keeps of a replica: most steps change nothing of it, and then nothing is judged. */
  readonly seen: Map<object, Seen>;
  /** Kinds of complaint that were made: the first of each tells the story. */
  readonly complained: Set<string>;
}

/** Nothing was seen. */
export function createOnlooker(): Onlooker {
  return { judge: createReplicaJudge(), seen: new Map(), complained: new Set() };
}

/** The name of the metadata log, to people. */
const METADATA = '__cluster_metadata-0';

type Raft = NonNullable<Node['controller']>['quorum']['raft'];

/** Looks at a node after a step of it. */
export function lookAt(onlooker: Onlooker, history: History, actor: Actor): void {
  const node = nodeOf(actor);
  if (node === null) return;
  const raft = raftOf(node);
  if (raft !== null && isNews(onlooker, raft, raft.lead !== null, raft.epoch, raft.log, raft.highWatermark)) {
    judge(onlooker, history, sightOfRaft(node, raft, actor.life));
  }
  for (const topic of node.topics.byId.values()) {
    for (const partition of topic.partitions) {
      if (partition === null || !hasRole(partition)) continue;
      const { leader, followed, log } = partition;
      const epoch = followed?.leaderEpoch ?? leader.epoch;
      const highWatermark = followed?.highWatermark ?? leader.highWatermark;
      if (!isNews(onlooker, partition, leader.epoch >= 0, epoch, log, highWatermark)) continue;
      judge(onlooker, history, sightOf(node, partition, actor.life));
    }
  }
}

function isNews(
  { seen }: Onlooker,
  replica: object,
  isLeader: boolean,
  epoch: number,
  { start, end }: { readonly start: number; readonly end: number },
  highWatermark: number,
): boolean {
  const last = seen.get(replica);
  if (last === undefined) {
    seen.set(replica, { isLeader, epoch, start, end, highWatermark });
    return true;
  }
  const isSame =
    last.highWatermark === highWatermark &&
    last.end === end &&
    last.epoch === epoch &&
    last.isLeader === isLeader &&
    last.start === start;
  if (isSame) return false;
  Object.assign(last, { isLeader, epoch, start, end, highWatermark });
  return true;
}

function judge({ judge: memory, complained }: Onlooker, history: History, sight: ReplicaSight): void {
  const found = seeReplica(memory, sight);
  if (found === null || complained.has(found.checker)) return;
  complained.add(found.checker);
  complain(history, { ...found, log: sight.log });
}

function raftOf({ controller }: Node): Raft | null {
  const raft = controller?.quorum.raft;
  return raft === undefined || raft.stage !== 'open' ? null : raft;
}

function hasRole({ leader, followed }: Partition): boolean {
  return leader.epoch >= 0 || followed !== null;
}

function sightOfRaft(node: Node, raft: Raft, life: number): ReplicaSight {
  const { log, epoch, highWatermark } = raft;
  const isLeader = raft.lead !== null;
  const at = { start: log.start, end: logEnd(raft).offset, highWatermark };
  return { log: METADATA, node: node.nodeId, life, stay: 0, isLeader, epoch, isEpochKept: true, ...at };
}

function sightOf(node: Node, partition: Partition, life: number): ReplicaSight {
  const { topic, leader, followed, log, index } = partition;
  const isLeader = leader.epoch >= 0;
  const epoch = followed?.leaderEpoch ?? leader.epoch;
  const highWatermark = followed?.highWatermark ?? leader.highWatermark;
  const at = { start: log.start, end: log.end, highWatermark };
  const name = `${topic.name}-${index} (${topic.id})`;
  return { log: name, node: node.nodeId, life, stay: log.owner, isLeader, epoch, isEpochKept: false, ...at };
}

function sightsOf(node: Node, life: number): ReplicaSight[] {
  const sights: ReplicaSight[] = [];
  const raft = raftOf(node);
  if (raft !== null) sights.push(sightOfRaft(node, raft, life));
  for (const topic of node.topics.byId.values()) {
    for (const partition of topic.partitions) {
      if (partition !== null && hasRole(partition)) sights.push(sightOf(node, partition, life));
    }
  }
  return sights;
}

/** Compares what lies on the disks of all nodes that are up, but for logs of which bytes are known to be damaged. */
export function compareAll(
  onlooker: Onlooker,
  history: History,
  nodes: readonly Actor[],
  isDamaged: (node: number, log: string) => boolean = () => false,
): void {
  const byLog = new Map<string, ReplicaBytes[]>();
  for (const actor of nodes) {
    const node = nodeOf(actor);
    if (node === null || actor.disk === null) continue;
    for (const sight of sightsOf(node, actor.life)) {
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
      const found = first === undefined ? null : compareReplicas(log, first, other);
      if (found === null || onlooker.complained.has(found.checker)) continue;
      onlooker.complained.add(found.checker);
      complain(history, { ...found, log });
    }
  }
}

function folderOf(node: Node, log: string): string {
  if (log === METADATA) return metadataFolder(node.folder);
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
