/**
 * Partitions within the node: they are opened, take their logs' answers, and pass on what became durable.
 *
 * A step that changes a partition marks it as touched; before the step ends, `settlePartition` raises the high
 * watermark, answers producers, marks the fetch sessions that read it, and gives the heap its new deadline. Nothing
 * here walks over partitions that were not touched.
 */
import { assert, unreachable } from '../../lib/assert.ts';
import { setDeadline } from '../../lib/heap.ts';
import { nextOwner } from '../../lib/ids.ts';
import { dequeue, enqueue } from '../../lib/queue.ts';
import type { DiskInput, Env, Outbox } from '../../lib/world.ts';
import {
  checkLog,
  createLog,
  logDeadlineMs,
  openLog,
  recentBytes,
  shrinkRecent,
  stepLog,
  wakeLog,
} from '../../log/log.ts';
import type { LogEvent, LogFound } from '../../log/types.ts';
import { ErrorCode } from '../../protocol/errors.ts';
import { advance, checkLeader, createLeader, cutBack, expire, failAll } from '../../replication/leader.ts';
import { finishLookup } from '../api/02-list-offsets.ts';
import { bootPartitionOpened } from '../boot/boot.ts';
import { noteCommitted } from '../checkpoints/checkpoints.ts';
import { partitionName } from '../checkpoints/files.ts';
import { noteClaimedStart } from '../checkpoints/lowering.ts';
import { exitNode } from '../exit.ts';
import { groupsCommitted, reloadHost } from '../groups/hosting.ts';
import { takeLoadRead } from '../groups/loading.ts';
import { complain } from '../say.ts';
import type { Node, Partition, Topic } from '../state.ts';
import { stopPartitionClosed } from '../stop.ts';
import type { TopicConfig } from './apply-image.ts';
import { settleAwaited } from './delete-records.ts';
import { markCommitted, markWritten, takeRead } from './fetch.ts';
import { readOn, recountAhead } from './fetch-ahead.ts';
import { settleInSync } from './in-sync.ts';
import { settleMend } from './mending.ts';
import { takeRoleEvent } from './partition-role.ts';
import { isThrottled } from './throttles.ts';
import { partitionOpened } from './topics.ts';

/** Makes the partition's machine; `openPartition` asks for its files. */
export function createPartition(node: Node, topic: Topic, index: number, config: TopicConfig): Partition {
  assert((topic.partitions[index] ?? null) === null, 'a partition is made once');
  const owner = nextOwner(node.ids);
  const folder = `${topic.stem}${index}`;
  const { ids, topics } = node;
  const place = { topic: topic.name, partition: index, folder };
  const log = createLog({ owner, ids, ...place, config: config.log, shared: topics.sharedEpochs });
  const partition: Partition = {
    kind: 'partition',
    deadlineMs: Number.POSITIVE_INFINITY,
    heapIndex: -1,
    topic,
    index,
    log,
    leader: createLeader(log, config.inSyncMin),
    followed: null,
    fetcher: null,
    leaderEpoch: -1,
    wantsLead: false,
    lowered: null,
    mend: null,
    mends: 0,
    appendedBytes: 0,
    toldEnd: 0,
    isSendThrottled: isThrottled(config.throttled.leading, index, node.nodeId),
    isFetchThrottled: isThrottled(config.throttled.following, index, node.nodeId),
    phase: 'waiting',
    subscriptions: [],
    reads: null,
    lookups: null,
    isTouched: false,
    recentBytes: 0,
    aheadBytes: 0,
    isRecent: false,
    uncheckpointedBytes: 0,
    wantedStart: -1,
    host: null,
  };
  while (topic.partitions.length < index) topic.partitions.push(null);
  topic.partitions[index] = partition;
  node.machines.set(owner, partition);
  return partition;
}

/** Opens the log; whoever waits for the partition is told once it leads. */
export function openPartition(node: Node, env: Env, partition: Partition, found: LogFound, out: Outbox): void {
  partition.phase = 'log';
  partition.leader.highWatermark = found.highWatermark;
  noteClaimedStart(node, partition, found);
  openLog(partition.log, env, found, out);
  touch(node, partition);
}

/** Marks that the partition must be settled before the step ends. */
export function touch(node: Node, partition: Partition): void {
  if (partition.isTouched) return;
  partition.isTouched = true;
  node.touched.push(partition);
}

/** Takes an answer of the disk to the partition's log. */
export function stepPartition(node: Node, env: Env, partition: Partition, input: DiskInput, out: Outbox): void {
  stepLog(partition.log, env, input, out, node.events);
  takeEvents(node, env, partition, out);
  touch(node, partition);
}

/** The partition's deadline has come, or might have. */
export function wakePartition(node: Node, env: Env, partition: Partition, out: Outbox): void {
  wakeLog(partition.log, env, out, node.events);
  takeEvents(node, env, partition, out);
  expire(partition.leader, env.nowMs, node.finished);
  touch(node, partition);
}

/** What a touched partition owes to others before the step ends. */
export function settlePartition(node: Node, env: Env, partition: Partition, out: Outbox): void {
  partition.isTouched = false;
  if (partition.phase === 'gone') return;
  if (partition.log.damaged.length > 0 || partition.mend !== null) settleMend(node, env, partition, out);
  const { leader, log } = partition;
  let leaderMs = Number.POSITIVE_INFINITY;
  if (leader.epoch >= 0) {
    const before = leader.highWatermark;
    const sizeBytes = advance(leader, node.finished, node.image.cluster.brokers, env.nowMs);
    if (leader.highWatermark > before) {
      noteCommitted(node, partition, sizeBytes);
      markCommitted(node, partition, sizeBytes);
      if (partition.host !== null) groupsCommitted(node, partition.host);
    }
    if (leader.inSync !== null) markWritten(node, env, partition);
    leaderMs = settleInSync(node, env, partition);
  }
  const { awaited } = node.checkpoints.starts;
  const startsMs = awaited.size === 0 ? Number.POSITIVE_INFINITY : settleAwaited(node, env, partition);
  setDeadline(node.deadlines, partition, Math.min(logDeadlineMs(log), leaderMs, startsMs));
  countRecent(node, partition);
  checkLog(log);
  checkLeader(leader);
}

/** Keeps the account of recent batches; above the node's limit partitions give up half of theirs, in turn. */
function countRecent(node: Node, partition: Partition): void {
  recount(node, partition);
  const bytesMax = node.config['tidemark.ring.max.bytes'];
  // What is not written yet stays, so that a whole turn may not be enough: then the next step goes on.
  for (let turns = node.recent.size; turns > 0 && node.recentBytes > bytesMax; turns--) {
    const victim = dequeue(node.recent) as Partition;
    victim.isRecent = false;
    shrinkRecent(victim.log, Math.floor(victim.recentBytes / 2));
    recount(node, victim);
  }
}

/** Counts anew what the partition keeps in memory: recent batches, and what was read ahead. */
export function recount(node: Node, partition: Partition): void {
  recountAhead(node, partition);
  const sizeBytes = recentBytes(partition.log);
  node.recentBytes += sizeBytes - partition.recentBytes;
  partition.recentBytes = sizeBytes;
  if (sizeBytes === 0 || partition.isRecent) return;
  partition.isRecent = true;
  enqueue(node.recent, partition);
}

/** Acts on what the log has said. */
export function takeEvents(node: Node, env: Env, partition: Partition, out: Outbox): void {
  const { events } = node;
  for (let i = 0; i < events.length; i++) takeEvent(node, env, partition, events[i]!, out);
  events.length = 0;
}

function takeEvent(node: Node, env: Env, partition: Partition, event: LogEvent, out: Outbox): void {
  switch (event.kind) {
    case 'opened':
      partitionOpened(node, env, partition, out);
      if (node.boot !== null) bootPartitionOpened(node, env, out);
      break;
    case 'durable':
    case 'truncated':
    case 'cutRefused':
      // For a leader settling the partition sees it.
      takeRoleEvent(node, env, partition, event, out);
      break;
    case 'cutBack':
      if (partition.followed === null) cutBack(partition.leader, event.offset, node.finished);
      else takeRoleEvent(node, env, partition, event, out);
      sayCutBack(node, env, partition, event.offset, out);
      if (partition.host !== null) reloadHost(node, env, partition.host, out);
      break;
    case 'readDone':
      takeReadDone(node, env, partition, event, out);
      break;
    case 'timestampFound':
      finishLookup(node, partition, event.ticket, event.found);
      break;
    case 'closed':
      stopPartitionClosed(node, partition);
      break;
    case 'failed':
      failPartition(node, partition, event.detail);
      break;
    default:
      unreachable(event);
  }
}

function takeReadDone(
  node: Node,
  env: Env,
  partition: Partition,
  event: Extract<LogEvent, { kind: 'readDone' }>,
  out: Outbox,
): void {
  const { host } = partition;
  if (host !== null && takeLoadRead(node, env, host, event.ticket, event.outcome, out)) return;
  const slot = takeRead(node, partition, event.ticket, event.outcome);
  if (slot !== null) readOn(node, partition, slot, event.outcome);
}

/** A full disk refuses every append: that is said, but not as often. */
function sayCutBack(node: Node, env: Env, partition: Partition, offset: number, out: Outbox): void {
  const fields = new Map<string, string | number>([
    ['folder', `${node.folder}/${partitionName(partition.topic.name, partition.index)}`],
    ['offset', offset],
  ]);
  complain(node, env, 'the disk is full: what it did not take is refused with an error', fields, out);
}

/** The disk below the partition failed. It is the node's only log directory, so the node ends, answers first. */
function failPartition(node: Node, partition: Partition, detail: string): void {
  assert(partition.log.state === 'failed', 'a log that works has not failed');
  failAll(partition.leader, ErrorCode.KAFKA_STORAGE_ERROR, 'the disk below the partition failed', node.finished);
  const name = partitionName(partition.topic.name, partition.index);
  exitNode(node, 1, `the log directory ${node.folder} failed (${name}: ${detail}); it is the only one of this node`);
}
