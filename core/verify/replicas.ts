/**
 * Judges the replicas of logs while they live: who leads in which epoch, how far each says that records are committed,
 * and whether whoever comes to lead has all of them. Then, at any moment, whether two replicas hold the same bytes.
 *
 * An onlooker reports what it sees of a replica as often as it likes; what it reports is true at one moment, between
 * two steps of the node. Logs are known by a name, the metadata log among them. Plain data; a judge remembers, of each
 * log, who led each epoch, how far anybody said that it is committed, and of each node what it said last. A node's life
 * is a number that grows with each start. An unclean election ends the promise for what its leader lacks, and for
 * nothing else (`losses.ts`).
 */
import { baseOffset, dataViewOf, nextOffset } from '../protocol/batch.ts';
import type { Complaint } from './history.ts';
import { keptBelow, type Loss } from './losses.ts';

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
  /** Of the last record; -1 for none. */
  readonly endEpoch: number;
  /** -1 for unknown. */
  readonly highWatermark: number;
  /** When it was seen, microseconds. */
  readonly atUs: number;
  /** Of a leader that came by an unclean election, where that was allowed: the partition, in the history. Else -1. */
  readonly lossy: number;
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
  readonly leaders: Map<number, { readonly node: number; readonly life: number; readonly from: number }>;
  readonly last: Map<number, Last>;
  /** By epoch: the highest watermark that anybody has shown who knew of that epoch and of no later one. */
  readonly committed: Map<number, number>;
  /** When a leader's watermark has moved last; -1 for never. */
  committedUs: number;
  readonly losses: Loss[];
}

/** The memory. */
export interface ReplicaJudge {
  readonly logs: Map<string, JudgedLog>;
  /** Of all logs. */
  readonly losses: Loss[];
}

/** Nothing was seen. What unclean elections take is added to `losses`. */
export function createReplicaJudge(losses: Loss[]): ReplicaJudge {
  return { logs: new Map(), losses };
}

/** What unclean elections have taken of a log. */
export function lossesOfLog({ logs }: ReplicaJudge, log: string): readonly Loss[] {
  return logs.get(log)?.losses ?? NO_LOSSES;
}

const NO_LOSSES: readonly Loss[] = [];

/** Epochs of one log that may have a leader, at most: more means that nobody ever leads for long. */
export const EPOCHS_MAX = 100_000;

/** Takes what was seen; what is wrong with it, in words, or null. */
export function seeReplica(judge: ReplicaJudge, sight: ReplicaSight): Complaint | null {
  const log = judge.logs.get(sight.log) ?? createJudgedLog();
  judge.logs.set(sight.log, log);
  if (sight.lossy >= 0 && sight.isLeader && !log.leaders.has(sight.epoch)) admitLoss(judge, log, sight);
  const before = log.last.get(sight.node);
  const isSameStay = before?.life === sight.life && before.stay === sight.stay;
  const shown = isSameStay ? keptBelow(log.losses, before.epoch, sight.epoch, before.highWatermark) : -1;
  const found = judgeEpoch(log, sight) ?? judgeWatermark(shown, sight) ?? judgeLeader(log, sight);
  log.last.set(sight.node, {
    life: sight.life,
    stay: sight.stay,
    epoch: Math.max(sight.epoch, before?.epoch ?? -1),
    highWatermark: Math.max(sight.highWatermark, shown),
  });
  noteCommitted(log, sight);
  return found;
}

function createJudgedLog(): JudgedLog {
  return { leaders: new Map(), last: new Map(), committed: new Map(), committedUs: -1, losses: [] };
}

/** From now on what earlier leaders have committed where this leader's log parts from it is promised no more. */
function admitLoss({ losses }: ReplicaJudge, log: JudgedLog, sight: ReplicaSight): void {
  const { lossy: partition, epoch, end: endOffset, endEpoch } = sight;
  let [fromOffset, toOffset] = [endOffset, endOffset];
  for (const [earlier, highWatermark] of log.committed) {
    if (earlier >= epoch) continue;
    toOffset = Math.max(toOffset, highWatermark);
    // Leaders of whom this log has no record have written anew what it holds from where they began.
    const from = log.leaders.get(earlier)?.from ?? endOffset;
    if (earlier > endEpoch && from < highWatermark) fromOffset = Math.min(fromOffset, from);
  }
  const loss: Loss = { partition, epoch, fromOffset, endOffset, endEpoch, toOffset, committedUs: log.committedUs };
  log.losses.push(loss);
  losses.push(loss);
}

/** A leader that has been replaced and does not know it may go on committing for a while. */
function noteCommitted(log: JudgedLog, { epoch, highWatermark, isLeader, atUs }: ReplicaSight): void {
  const before = log.committed.get(epoch) ?? -1;
  if (highWatermark <= before) return;
  log.committed.set(epoch, highWatermark);
  if (!isLeader) return;
  log.committedUs = atUs;
  for (const loss of log.losses) {
    if (epoch >= loss.epoch) continue;
    loss.toOffset = Math.max(loss.toOffset, highWatermark);
    loss.committedUs = atUs;
  }
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

/** `shown`: what the node has said last, in this life and stay, and is still to be so; -1 for nothing. */
function judgeWatermark(shown: number, sight: ReplicaSight): Complaint | null {
  const { log, node, end, highWatermark } = sight;
  if (highWatermark > end) {
    const sentence = `node ${node} says that ${log} is committed up to ${highWatermark}, and it ends at ${end}`;
    return complaint('watermark-ahead', 3, sentence);
  }
  if (highWatermark < 0 || highWatermark >= shown) return null;
  const course = `went back from ${shown} to ${highWatermark}`;
  const sentence = `the high watermark of ${log} on node ${node} ${course}`;
  return complaint('watermark-regression', 3, sentence);
}

/**
 * Whoever comes to lead an epoch holds all that was shown as committed in earlier ones. A node that stood still may
 * come to lead when later epochs have been led already: what was committed in those it need not have, and it can commit
 * nothing itself.
 */
function judgeLeader(judged: JudgedLog, sight: ReplicaSight): Complaint | null {
  const { log, node, life, epoch, end, isLeader } = sight;
  if (!isLeader || epoch < 0) return null;
  const known = judged.leaders.get(epoch);
  if (known?.node === node && known.life === life) return null;
  if (known !== undefined) {
    const who = known.node === node ? `two lives of node ${node}` : `nodes ${known.node} and ${node}`;
    return complaint('two-leaders', 2, `${who} both led ${log} in epoch ${epoch}`);
  }
  if (judged.leaders.size >= EPOCHS_MAX) return complaint('endless', 6, `${log} has had ${EPOCHS_MAX} leaders`);
  judged.leaders.set(epoch, { node, life, from: end });
  let committed = -1;
  for (const [before, highWatermark] of judged.committed) {
    if (before >= epoch) continue;
    committed = Math.max(committed, keptBelow(judged.losses, before, epoch, highWatermark));
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
