/**
 * A history: what clients of a cluster did and saw, as plain data. Made by simulated clients, by clients of real
 * clusters or of Apache Kafka; judged by `checkers.ts`.
 *
 * Values are integers, each sent once by its producer, so that a value found in a log names its send. Partitions are
 * indexes of `partitions`. Times are integer microseconds of whoever observes, comparable within one history.
 *
 * A topic that comes and goes under one name has a *slot* for each partition number, to which producers send, and an
 * *incarnation* of that slot for each topic id, in which readers find what they find.
 */
import type { CutRecords, TopicOperation } from './administration.ts';
import type { GroupHistory } from './group-history.ts';
import type { Loss } from './losses.ts';

/** A partition that takes part. */
export interface HistoryPartition {
  readonly topic: string;
  readonly partition: number;
  /** Sends go here, reads are of its incarnations. */
  readonly isSlot?: true;
  /** Of an incarnation: its slot, and the topic's id. */
  readonly slot?: number;
  readonly topicId?: string;
}

/** One record given to a producer. A producer's sends to one partition are in the order in which it took them. */
export interface Send {
  readonly producer: number;
  readonly partition: number;
  readonly value: number;
  readonly acks: 0 | 1 | -1;
  readonly isIdempotent: boolean;
  /** How long its producer was to try; Infinity where that is not known. */
  readonly patienceMs: number;
  readonly sentUs: number;
  /** -1 while nothing was heard. */
  doneUs: number;
  /**
   * open: no answer yet. acknowledged: `offset` is where it is, -1 if the client was not told. failed: certainly not
   * in the log. unknown: failed, but may be in the log.
   */
  outcome: 'open' | 'acknowledged' | 'failed' | 'unknown';
  offset: number;
  /** A Kafka error code, 0 for none. */
  error: number;
}

/** One run of a reader over one partition, from where it began until it was stopped or sought elsewhere. */
export interface Session {
  readonly reader: number;
  readonly partition: number;
  readonly startedUs: number;
  /** It read everything from the log's start to its end after all sends were answered: the truth. */
  readonly isFinal: boolean;
  /** Of a final session: its leader has more than it may show yet, so that offsets from here on prove nothing. */
  readonly provesBelow?: number;
  /** It began where the log did then, so that its first offset says where that was. */
  readonly isFromStart?: boolean;
  /** It may read from replicas near it (KIP-392), which hear of the high watermark later than their leader does. */
  readonly isNearby?: boolean;
}

/** Records that were read, as columns: one entry in each for every record, in the order of reading. */
export interface Reads {
  /** Index of the session. */
  readonly session: number[];
  readonly offset: number[];
  /** -1 when the bytes were no value that any producer can have sent. */
  readonly value: number[];
  /** The high watermark that came with the record. */
  readonly highWatermark: number[];
  readonly atUs: number[];
  /** Of its batch, as Kafka has them; -1 where they are not known. */
  readonly attributes: number[];
  /** The leader epoch under which it was asked for; -1 where that is not known. */
  readonly askedEpoch: number[];
}

/** Something wrong that needed no comparison to be seen: an invariant, a time-out, an impossible answer. */
export interface Complaint {
  readonly checker: string;
  /** Which of the seven promises; 0 for none. */
  readonly promise: number;
  /** -1 for none. */
  readonly partition: number;
  readonly sentence: string;
  /** The log that it is about, where it is of a replica. */
  readonly log?: string;
  /** The node whose machine broke an invariant of its own. */
  readonly node?: number;
  /** Because of a value that was read where it was not sent: the partition to which it was; -1 where nobody sent it. */
  readonly sentTo?: number;
}

/** All of it. */
export interface History {
  /** Several nodes answer, each from what it has heard of the others: what it tells of a topic may be over by then. */
  readonly isOfSeveral: boolean;
  readonly partitions: HistoryPartition[];
  readonly sends: Send[];
  readonly sessions: Session[];
  readonly reads: Reads;
  readonly complaints: Complaint[];
  /** Partitions whose bytes were damaged behind the node's back: losses there are beyond what was promised. */
  readonly damaged: Set<number>;
  /** Unclean elections that were allowed, in the order in which they took effect. */
  readonly losses: Loss[];
  /** What administrators did to topics and learnt of them, in the order of asking. */
  readonly operations: TopicOperation[];
  /** Requests to delete records, in the order of asking. */
  readonly cuts: CutRecords[];
  /** Groups of consumers, with what their members did and saw. */
  readonly groups: GroupHistory[];
  /** When a node's process ended: what it had not begun by then it will not do. */
  readonly downsUs: number[];
  /** When a network held bytes back, to deliver them at the end; -1 for an end that has not come. */
  readonly holds: { readonly fromUs: number; toUs: number }[];
  /** When a majority of the disks was full, so that nobody could lead the quorum; -1 for an end that has not come. */
  readonly fulls: { readonly fromUs: number; toUs: number }[];
  /** From then on nothing that was sent earlier is still under way; -1 while that time has not come. */
  calmUs: number;
}

/** Nothing happened yet. */
export function createHistory(partitions: readonly HistoryPartition[], isOfSeveral = false): History {
  return {
    isOfSeveral,
    partitions: [...partitions],
    sends: [],
    sessions: [],
    reads: { session: [], offset: [], value: [], highWatermark: [], atUs: [], attributes: [], askedEpoch: [] },
    complaints: [],
    damaged: new Set(),
    losses: [],
    operations: [],
    cuts: [],
    groups: [],
    downsUs: [],
    holds: [],
    fulls: [],
    calmUs: -1,
  };
}

/** The incarnation of a slot under a topic id, noted at its first mention. */
export function incarnationOf(history: History, slot: number, topicId: string): number {
  const { partitions } = history;
  const known = partitions.findIndex((one) => one.slot === slot && one.topicId === topicId);
  if (known >= 0) return known;
  const named = partitions[slot];
  if (named === undefined) throw new Error('no such slot');
  partitions.push({ topic: named.topic, partition: named.partition, slot, topicId });
  return partitions.length - 1;
}

/** Begins a session; its index goes with its reads. */
export function beginSession(history: History, session: Session): number {
  history.sessions.push(session);
  return history.sessions.length - 1;
}

/** Adds one record that was read. */
export function addRead(
  history: History,
  session: number,
  read: {
    readonly offset: number;
    readonly value: number;
    readonly highWatermark: number;
    readonly atUs: number;
    readonly attributes?: number;
    readonly askedEpoch?: number;
  },
): void {
  const { reads } = history;
  reads.session.push(session);
  reads.offset.push(read.offset);
  reads.value.push(read.value);
  reads.highWatermark.push(read.highWatermark);
  reads.atUs.push(read.atUs);
  reads.attributes.push(read.attributes ?? -1);
  reads.askedEpoch.push(read.askedEpoch ?? -1);
}

/** The most that one checker says of one partition, or of none in particular: the first ones tell the story. */
const COMPLAINTS_MAX = 10;

/**
 * Adds what was found, unless its checker has said enough of that partition. What lies beyond the contract of one
 * partition must not hide what is found in another.
 */
export function addComplaint(found: Complaint[], complaint: Complaint): void {
  const { checker, partition } = complaint;
  let count = 0;
  for (const one of found) if (one.checker === checker && one.partition === partition) count += 1;
  if (count < COMPLAINTS_MAX) found.push(complaint);
}

/** The same of a sentence about a partition, or about none (-1). */
export function report(
  found: Complaint[],
  checker: string,
  promise: number,
  partition: number,
  sentence: string,
): void {
  addComplaint(found, { checker, promise, partition, sentence });
}

/** Adds a complaint. Whoever watches while time goes on says a thing once of each log. */
export function complain({ complaints }: History, complaint: Complaint): void {
  if (complaint.log !== undefined) complaints.push(complaint);
  else addComplaint(complaints, complaint);
}

/** A partition's name for people; of an incarnation with the topic's id. */
export function partitionText(history: History, partition: number): string {
  const named = history.partitions[partition];
  if (named === undefined) return `partition ${partition}`;
  const { topic, topicId } = named;
  return `${topic}-${named.partition}${topicId === undefined ? '' : ` (${topicId})`}`;
}
