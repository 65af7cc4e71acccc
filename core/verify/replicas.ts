/**
 * Judges the replicas of logs while they live: who leads in which epoch, how far each says that records are committed,
 * and whether whoever comes to lead has all of them. Then, at any moment, whether two replicas hold the same bytes.
 *
 * An onlooker reports what it sees of a replica as often as it likes; what it reports is true at one moment, between
 * two steps of the node. Logs are known by a name, the metadata log among them. Plain data; a judge remembers, of each
 * log, who led each epoch, how far anybody said that it is committed, and of each node what it said last. A node's life
 * is a number that grows with each start.
 */
import { baseOffset, dataViewOf, nextOffset } from '../protocol/batch.ts';
import type { Complaint } from './history.ts';

/** What is seen of one replica of one log. */
export interface ReplicaSight {
  readonly log: string;
  readonly node: number;
  readonly life: number;
  /** Grows in a life of the node with each time that the replica comes to it: one that had left begins anew, empty. */
  readonly stay: number;
  readonly isLeader: boolean;
  /** Of the leader, as this node knows it; -1 for unknown. */
  readonly epoch: number;
  /** The epoch is on the node's disk before it is shown, so that another life goes on with it. */
  readonly isEpochKept: boolean;
  readonly start: number;
  readonly end: number;
  /** -1 for unknown. */
  readonly highWatermark: number;
}

/** The latest that a node said of a log: of epochs in any life where they are kept, of watermarks in this one. */
interface Last {
  life: number;
  stay: number;
  epoch: number;
  highWatermark: number;
}

/** What is remembered of one log. */
interface JudgedLog {
  readonly leaders: Map<number, number>;
  readonly last: Map<number, Last>;
  /** By epoch: the highest watermark that anybody has shown who knew of that epoch and of no later one. */
  readonly committed: Map<number, number>;
}

/** The memory. */
export interface ReplicaJudge {
  readonly logs: Map<string, JudgedLog>;
}

/** Nothing was seen. */
export function createReplicaJudge(): ReplicaJudge {
  return { logs: new Map() };
}

/** Epochs of one log that may have a leader, at most: more means that nobody ever leads for long. */
export const EPOCHS_MAX = 100_000;

/** Takes what was seen; what is wrong with it, in words, or null. */
export function seeReplica(judge: ReplicaJudge, sight: ReplicaSight): Complaint | null {
  const log = judge.logs.get(sight.log) ?? { leaders: new Map(), last: new Map(), committed: new Map() };
  judge.logs.set(sight.log, log);
  const found = judgeEpoch(log, sight) ?? judgeWatermark(log, sight) ?? judgeLeader(log, sight);
  const before = log.last.get(sight.node);
  const shown = before?.life === sight.life && before.stay === sight.stay ? before.highWatermark : -1;
  log.last.set(sight.node, {
    life: sight.life,
    stay: sight.stay,
    epoch: Math.max(sight.epoch, before?.epoch ?? -1),
    highWatermark: Math.max(sight.highWatermark, shown),
  });
  log.committed.set(sight.epoch, Math.max(log.committed.get(sight.epoch) ?? -1, sight.highWatermark));
  return found;
}

function complaint(checker: string, promise: number, sentence: string): Complaint {
  return { checker, promise, partition: -1, sentence };
}

function judgeEpoch({ last }: JudgedLog, { log, node, life, epoch, isEpochKept }: ReplicaSight): Complaint | null {
  const before = last.get(node);
  if (before === undefined || epoch < 0 || (before.life !== life && !isEpochKept)) return null;
  if (epoch >= before.epoch) return null;
  const sentence = `node ${node} went from epoch ${before.epoch} of ${log} back to ${epoch}`;
  return complaint('epoch-regression', 2, sentence);
}

function judgeWatermark({ last }: JudgedLog, sight: ReplicaSight): Complaint | null {
  const { log, node, life, stay, end, highWatermark } = sight;
  if (highWatermark > end) {
    const sentence = `node ${node} says that ${log} is committed up to ${highWatermark}, and it ends at ${end}`;
    return complaint('watermark-ahead', 3, sentence);
  }
  const before = last.get(node);
  if (before?.life !== life || before.stay !== stay || highWatermark < 0 || highWatermark >= before.highWatermark)
    return null;
  const course = `went back from ${before.highWatermark} to ${highWatermark}`;
  const sentence = `the high watermark of ${log} on node ${node} ${course}`;
  return complaint('watermark-regression', 3, sentence);
}

/**
 * Whoever comes to lead an epoch holds all that was shown as committed in earlier ones. A node that stood still may
 * come to lead when later epochs have been led already: what was committed in those it need not have, and it can commit
 * nothing itself.
 */
function judgeLeader(judged: JudgedLog, sight: ReplicaSight): Complaint | null {
  const { log, node, epoch, end, isLeader } = sight;
  if (!isLeader || epoch < 0) return null;
  const known = judged.leaders.get(epoch);
  if (known === node) return null;
  if (known !== undefined) {
    return complaint('two-leaders', 2, `nodes ${known} and ${node} both led ${log} in epoch ${epoch}`);
  }
  if (judged.leaders.size >= EPOCHS_MAX) return complaint('endless', 6, `${log} has had ${EPOCHS_MAX} leaders`);
  judged.leaders.set(epoch, node);
  let committed = -1;
  for (const [before, highWatermark] of judged.committed) {
    if (before < epoch) committed = Math.max(committed, highWatermark);
  }
  if (end >= committed) return null;
  const sentence = `node ${node} came to lead ${log} in epoch ${epoch} and ends at ${end}`;
  return complaint('incomplete-leader', 1, `${sentence}, below ${committed}, which had been shown as committed`);
}

/** The committed part of one replica, as it lies on a disk. */
export interface ReplicaBytes {
  readonly node: number;
  /** Where the log begins for its readers. */
  readonly start: number;
  readonly highWatermark: number;
  /** Whole batches in the order of offsets; from below `start`, and beyond the watermark, there may be more. */
  readonly batches: readonly Uint8Array[];
}

/** Compares what two replicas hold between the larger start and the smaller watermark, byte by byte. */
export function compareReplicas(log: string, one: ReplicaBytes, other: ReplicaBytes): Complaint | null {
  const from = Math.max(one.start, other.start);
  const to = Math.min(one.highWatermark, other.highWatermark);
  const [left, right] = [between(one, from, to), between(other, from, to)];
  const names = `nodes ${one.node} and ${other.node}`;
  for (let i = 0; i < Math.max(left.length, right.length); i++) {
    const [a, b] = [left[i], right[i]];
    if (a === undefined || b === undefined) {
      const missing = a === undefined ? one.node : other.node;
      const offset = baseOffset(dataViewOf((a ?? b) as Uint8Array), 0);
      return complaint('unequal-replicas', 2, `${log}@${offset} is missing on node ${missing}, though below ${to}`);
    }
    if (isEqual(a, b)) continue;
    const offset = baseOffset(dataViewOf(a), 0);
    return complaint('unequal-replicas', 2, `${names} hold different bytes at ${log}@${offset}, though below ${to}`);
  }
  return null;
}

/** The batches that hold something of the range: none does where a start has passed the other's watermark. */
function between({ batches }: ReplicaBytes, from: number, to: number): Uint8Array[] {
  if (from >= to) return [];
  return batches.filter((bytes) => {
    const view = dataViewOf(bytes);
    return nextOffset(view, 0) > from && baseOffset(view, 0) < to;
  });
}

function isEqual(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
