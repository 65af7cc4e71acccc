/**
 * A checkpoint file in the making. With a hundred thousand partitions that takes tens of milliseconds, for which no
 * producer should wait: so it is made in slices, each in a step of its own, SLICE_GAP_MS apart.
 *
 * Every line is what its partition was in the step of its slice. Lines of one file may so be of different moments; they
 * are about different logs, and each is true by itself. What a new topic would add is in the next file; what a deleted
 * one left in this one is dropped by that (`checkpoints.ts`). Slices begin small and grow, so that a small node goes
 * through the same motions as a large one. A crash forgets a file in the making: the old one stays.
 */
import { assert } from '../../lib/assert.ts';
import { encodeUtf8, utf8Size, writeUtf8 } from '../../lib/utf8.ts';
import { recoveryPoint } from '../../log/log.ts';
import { raftRecoveryPoint } from '../../raft/raft.ts';
import { highWatermarkOf } from '../partitions/partition-role.ts';
import type { Lowered, Node, Partition, Topic } from '../state.ts';
import { HIGH_WATERMARKS, LOG_STARTS, RECOVERY_POINTS } from './files.ts';
import { addLineName, type LineNames } from './line-names.ts';

/** Between two slices, ms: what came meanwhile goes first. */
export const SLICE_GAP_MS = 1;
/** Partitions that the first slice looks at; each later one takes twice as many, up to SLICE_MAX. */
const SLICE_MIN = 8;
/** About a quarter of a millisecond. */
const SLICE_MAX = 1_024;

/** Room for "0", the number of lines and two line breaks before the first line. */
const HEAD_BYTES = 32;
/** Two numbers of at most 16 digits, two spaces and a line break. */
const LINE_BYTES_MAX = 2 * 16 + 3;
const SPACE = 0x20;
const NEWLINE = 0x0a;
const ZERO = 0x30;

/** The state of a file in the making. */
export interface Round {
  readonly name: string;
  /** Who is answered when the file is in place. */
  readonly owner: number;
  readonly ticket: number;
  /** The topics that there were when it began; some may be gone by now. */
  readonly topics: readonly Topic[];
  /** The partition that is next: its topic's place in `topics`, and its number. */
  topic: number;
  partition: number;
  /** The partitions that have lines. */
  readonly names: LineNames;
  /** The lines so far, from HEAD_BYTES up to `end`. */
  bytes: Uint8Array;
  end: number;
  linesCount: number;
  sliceSize: number;
}

/** Begins a file; `sizeBytes` is about what it will take. */
export function createRound(
  node: Node,
  { name, owner, ticket, names }: Pick<Round, 'name' | 'owner' | 'ticket' | 'names'>,
  sizeBytes: number,
): Round {
  return {
    name,
    owner,
    ticket,
    topics: [...node.topics.byName.values()],
    topic: 0,
    partition: 0,
    names,
    bytes: new Uint8Array(HEAD_BYTES + sizeBytes + LINE_BYTES_MAX),
    end: HEAD_BYTES,
    linesCount: 0,
    sliceSize: SLICE_MIN,
  };
}

/** Adds the lines of the next partitions. Whether they were the last. */
export function addSlice(node: Node, round: Round): boolean {
  addLines(round, round.sliceSize);
  round.sliceSize = Math.min(2 * round.sliceSize, SLICE_MAX);
  if (round.topic < round.topics.length) return false;
  if (round.name === RECOVERY_POINTS) addMetadataLog(node, round);
  return true;
}

/** Adds all lines that are missing. Costs a walk over all partitions. */
export function addRest(node: Node, round: Round): void {
  addLines(round, Number.POSITIVE_INFINITY);
  if (round.name === RECOVERY_POINTS) addMetadataLog(node, round);
}

/** The bytes of the file, which are not copied: the round ends with this. */
export function finishRound(round: Round): Uint8Array {
  const head = encodeUtf8(`0\n${round.linesCount}\n`);
  const start = HEAD_BYTES - head.length;
  round.bytes.set(head, start);
  return round.bytes.subarray(start, round.end);
}

function addLines(round: Round, partitionsMax: number): void {
  for (let left = partitionsMax; left > 0 && round.topic < round.topics.length; ) {
    const topic = round.topics[round.topic] as Topic;
    const { partitions } = topic;
    const end = Math.min(round.partition + left, partitions.length);
    left -= end - round.partition + 1; // A topic costs something too.
    addTopicLines(round, topic, end);
    if (round.partition < partitions.length) return;
    round.topic += 1;
    round.partition = 0;
  }
}

function addTopicLines(round: Round, { name, partitions }: Topic, end: number): void {
  const nameBytes = utf8Size(name);
  for (; round.partition < end; round.partition++) {
    const partition = partitions[round.partition] ?? null;
    // One that waits for its name must not be mentioned: its name would never be free.
    if (partition === null || partition.phase !== 'log' || partition.log.state === 'opening') continue;
    const offset = offsetFor(round.name, partition);
    if (offset >= 0) addLine(round, name, nameBytes, partition.index, offset);
  }
}

/** What the line of a partition says in a file; -1 for none. */
function offsetFor(name: string, partition: Partition): number {
  const { log, lowered } = partition;
  const most = mostOf(lowered);
  switch (name) {
    case HIGH_WATERMARKS: {
      const offset = highWatermarkOf(partition);
      assert(offset <= log.durable, 'a high watermark lies beyond what is durable');
      return Math.min(offset, most);
    }
    case RECOVERY_POINTS: {
      const offset = recoveryPoint(log);
      assert(offset <= log.durable, 'a recovery point lies beyond what is durable');
      partition.uncheckpointedBytes = 0;
      return Math.min(offset, most);
    }
    default: {
      assert(name === LOG_STARTS, 'a checkpoint that is not one');
      const start = Math.max(log.start, partition.wantedStart);
      const offset = startFor(lowered, start);
      return offset > 0 ? offset : -1;
    }
  }
}

/** What recovery points and high watermarks say at most. */
function mostOf(lowered: Lowered | null): number {
  if (lowered === null) return Number.POSITIVE_INFINITY;
  return lowered.kind === 'cut' ? lowered.offset : lowered.kind === 'reset' ? 0 : lowered.most;
}

/** What is said of the start of a log that begins at `start`. */
function startFor(lowered: Lowered | null, start: number): number {
  if (lowered?.kind === 'reset' && lowered.isStartDue) return lowered.offset;
  return lowered?.kind === 'cut' ? Math.min(start, lowered.offset) : start;
}

function addMetadataLog(node: Node, round: Round): void {
  const raft = node.controller?.quorum.raft;
  if (raft?.log.state !== 'open') return;
  const { topic, partition } = raft.log;
  addLine(round, topic, utf8Size(topic), partition, raftRecoveryPoint(raft));
}

function addLine(round: Round, topic: string, topicBytes: number, partition: number, offset: number): void {
  const needed = round.end + topicBytes + LINE_BYTES_MAX;
  if (needed > round.bytes.length) {
    const larger = new Uint8Array(2 * needed);
    larger.set(round.bytes.subarray(0, round.end));
    round.bytes = larger;
  }
  const { bytes } = round;
  let at = writeUtf8(topic, bytes, round.end);
  bytes[at++] = SPACE;
  at = writeNumber(bytes, at, partition);
  bytes[at++] = SPACE;
  at = writeNumber(bytes, at, offset);
  bytes[at++] = NEWLINE;
  round.end = at;
  round.linesCount += 1;
  addLineName(round.names, topic, partition);
}

/** Writes a whole number that is not negative in decimal digits; the position behind it. */
function writeNumber(bytes: Uint8Array, position: number, value: number): number {
  let digits = 1;
  for (let rest = value; rest >= 10; rest = Math.floor(rest / 10)) digits += 1;
  let left = value;
  for (let at = position + digits - 1; at >= position; at--) {
    bytes[at] = ZERO + (left % 10);
    left = Math.floor(left / 10);
  }
  return position + digits;
}
