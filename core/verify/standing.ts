/**
 * Judges what the replicas of a log take each other for, at the moment at which they take it: whether a follower's log
 * is its leader's, whether what a leader counts is on its followers' disks, whether who joins the in-sync set may, and
 * whether what a leader knows ever goes back. Where such a thing is wrong somebody may come to harm later, or nobody.
 *
 * Pure functions of what was seen; whoever calls them has looked at states and disks.
 */
import type { Complaint } from './history.ts';

/** Who wrote which part of a log. */
export interface Lineage {
  readonly node: number;
  readonly start: number;
  readonly end: number;
  /** Which epoch begins where, ascending. */
  readonly epochs: readonly { readonly epoch: number; readonly startOffset: number }[];
}

/**
 * A follower that has taken something from the leader of an epoch holds what that leader holds, and no more: the logs
 * were compared before (Raft, log matching). `most`: how far the leader's log has ever reached under this epoch.
 * `leader`: its log as it is now; null where it cannot be asked.
 */
export function judgeFollower(
  log: string,
  epoch: number,
  follower: Lineage,
  leader: Lineage | null,
  most: number,
): Complaint | null {
  const who = (): string => `node ${follower.node} follows ${log} in epoch ${epoch}`;
  if (follower.end > most) {
    const sentence = `${who()}, has taken records up to ${follower.end}, and the leader never had more than ${most}`;
    return complaint('parted', 2, sentence);
  }
  if (leader === null) return null;
  const at = partingOf(follower, leader);
  if (at < 0) return null;
  const [own, other] = [epochAt(follower.epochs, at), epochAt(leader.epochs, at)];
  const sentence = `${who()}, and has one of epoch ${own} at ${at}, where the leader has one of epoch ${other}`;
  return complaint('parted', 2, sentence);
}

/** The epoch of the record at an offset; -1 for not known. */
function epochAt(epochs: Lineage['epochs'], offset: number): number {
  let epoch = -1;
  for (const one of epochs) if (one.startOffset <= offset) epoch = one.epoch;
  return epoch;
}

/** The first offset that both hold and that is of different epochs, as far as these are known; -1 for none. */
function partingOf(one: Lineage, other: Lineage): number {
  const from = Math.max(one.start, other.start);
  const to = Math.min(one.end, other.end);
  let first = -1;
  const look = (at: number): void => {
    if (at < from || at >= to || (first >= 0 && at >= first)) return;
    const [own, others] = [epochAt(one.epochs, at), epochAt(other.epochs, at)];
    if (own >= 0 && others >= 0 && own !== others) first = at;
  };
  look(from);
  for (const { startOffset } of one.epochs) look(startOffset);
  for (const { startOffset } of other.epochs) look(startOffset);
  return first;
}

/** What a leader counts of a follower, and what is there of it for sure. */
export interface Counted {
  readonly log: string;
  readonly leader: number;
  readonly epoch: number;
  readonly follower: number;
  readonly fetchOffset: number;
  readonly heldEnd: number;
}

/** What a follower says of its log when it fetches, and what is so. */
export interface Claimed {
  readonly log: string;
  readonly follower: number;
  readonly currentLeaderEpoch: number;
  readonly fetchOffset: number;
  /** -1 for none. */
  readonly lastFetchedEpoch: number;
  /** Of the record below the offset; -1 for not known. */
  readonly ownEpoch: number;
  /** The latest that it knows of this log, with a record or without. */
  readonly latestEpoch: number;
}

/** A follower names the epoch of its last record, or a later one that it has led or been told: never less, nor more. */
export function judgeClaimed(claimed: Claimed): Complaint | null {
  const { log, follower, currentLeaderEpoch, fetchOffset, lastFetchedEpoch, ownEpoch, latestEpoch } = claimed;
  if (lastFetchedEpoch >= ownEpoch && lastFetchedEpoch <= latestEpoch) return null;
  const fetches = `node ${follower} fetches ${log} in epoch ${currentLeaderEpoch} from ${fetchOffset} on`;
  const sentence = `${fetches}, and names epoch ${lastFetchedEpoch}, where its last record is of ${ownEpoch}`;
  return complaint('claims', 2, sentence);
}

/** Records below the offset that a leader counts are on the follower's disk, whatever happens to it. */
export function judgeCounted({ log, leader, epoch, follower, fetchOffset, heldEnd }: Counted): Complaint | null {
  if (fetchOffset <= heldEnd) return null;
  const counts = `node ${leader}, leading ${log} in epoch ${epoch}, counts on node ${follower} up to ${fetchOffset}`;
  return complaint('counted-in-memory', 1, `${counts}, which has only ${heldEnd} of it on its disk for sure`);
}

/**
 * A leader counts on nobody who has not followed its epoch: what a follower has said under an earlier one it may have
 * been told to cut since (KAFKA-15221).
 */
export function judgeHeard(log: string, leader: number, epoch: number, follower: number): Complaint {
  const counts = `node ${leader}, leading ${log} in epoch ${epoch}, counts on node ${follower}`;
  return complaint('counted-unheard', 1, `${counts}, which has never followed that epoch`);
}

/** Whoever joins the in-sync set has all that its leader began with: that may have been committed (KAFKA-7128). */
export function judgeJoiner(log: string, node: number, epoch: number, heldEnd: number, from: number): Complaint | null {
  if (heldEnd >= from) return null;
  const joins = `node ${node} is in sync with ${log} from now on`;
  const sentence = `${joins}, and has only ${heldEnd} of it on its disk for sure`;
  return complaint('joined-behind', 1, `${sentence}: the leader of epoch ${epoch} began with ${from}`);
}

/** What the controller says of a partition, and of the brokers that could lead it. */
export interface Decision {
  readonly log: string;
  readonly leader: number;
  readonly replicas: readonly number[];
  readonly isr: readonly number[];
  readonly elr: readonly number[];
  /** Its leader has just been chosen, and is fenced or gone. */
  readonly isFenced: boolean;
}

/** A leader is in sync, who is in sync is a replica, who is eligible is not in sync, and nobody fenced is chosen. */
export function judgeDecision({ log, leader, replicas, isr, elr, isFenced }: Decision): Complaint | null {
  const says = `the controller lets node ${leader} lead ${log}`;
  if (leader >= 0 && !isr.includes(leader)) return complaint('illegal-set', 1, `${says}, which is not in sync`);
  if (isFenced) return complaint('led-by-fenced', 6, `${says} from now on, which is fenced`);
  for (const id of [...isr, ...elr]) {
    if (replicas.includes(id)) continue;
    return complaint('illegal-set', 1, `node ${id} is in sync with ${log}, or eligible, and is no replica of it`);
  }
  const both = elr.find((id) => isr.includes(id));
  if (both === undefined) return null;
  return complaint('illegal-set', 1, `node ${both} is both in sync with ${log} and eligible`);
}

/** What a leader knows, in one life of its node and under one leader epoch. */
export interface Knowledge {
  readonly epoch: number;
  readonly partitionEpoch: number;
  /** By follower: what it has said last, and in which life of its broker. */
  readonly followers: ReadonlyMap<number, { readonly fetchOffset: number; readonly brokerEpoch: number }>;
}

/** What a leader knows of the controller's word and of its followers under one epoch never goes back. */
export function judgeKnowledge(log: string, node: number, before: Knowledge, now: Knowledge): Complaint | null {
  if (before.epoch !== now.epoch) return null;
  const who = `node ${node}, leading ${log} in epoch ${now.epoch},`;
  if (now.partitionEpoch < before.partitionEpoch) {
    const course = `goes back from what the controller said under ${before.partitionEpoch} to ${now.partitionEpoch}`;
    return complaint('set-regression', 1, `${who} ${course}`);
  }
  // Who has left and come again between two looks begins anew.
  if (now.partitionEpoch > before.partitionEpoch + 1) return null;
  for (const [id, { fetchOffset, brokerEpoch }] of before.followers) {
    const known = now.followers.get(id);
    if (known === undefined || known.fetchOffset >= fetchOffset || known.brokerEpoch > brokerEpoch) continue;
    const course = `knew that node ${id} has ${fetchOffset}, and now takes it for ${known.fetchOffset}`;
    return complaint('forgotten-follower', 6, `${who} ${course}`);
  }
  return null;
}

function complaint(checker: string, promise: number, sentence: string): Complaint {
  return { checker, promise, partition: -1, sentence };
}
