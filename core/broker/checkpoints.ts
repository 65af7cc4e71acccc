/**
 * Checkpoints: where each partition's recovery begins, and what its readers had been shown.
 *
 * High watermarks are written every replica.high.watermark.checkpoint.interval.ms while they move, recovery points
 * every log.flush.offset.checkpoint.interval.ms while they do, and whenever a partition has synced SYNCED_BYTES since
 * its last one. Both are hints for the next start: too low costs
 * time, never records, so one that cannot be written is said and tried again. Where logs start is written when it moves
 * (`delete-records.ts`) and at a clean stop. Everything in them is durable before
 * it is written down. One replacement of a file is under way at a time.
 */
import { assert } from '../lib/assert.ts';
import { setDeadline, type Timed } from '../lib/heap.ts';
import { nextTicket } from '../lib/ids.ts';
import { encodeUtf8 } from '../lib/utf8.ts';
import type { DiskInput, Env, Outbox } from '../lib/world.ts';
import { recoveryPoint } from '../log/log.ts';
import { type Starts, startsWritten } from './delete-records.ts';
import { exitNode } from './exit.ts';
import { type CheckpointLine, formatCheckpoint, HIGH_WATERMARKS, LOG_STARTS, RECOVERY_POINTS } from './files.ts';
import { say } from './say.ts';
import type { Node, Partition } from './state.ts';

/** A partition's recovery point is written down after so many bytes. */
export const SYNCED_BYTES = 64 * 1024 * 1024;

/** The state of the checkpoint files. */
export interface Checkpoints extends Timed {
  readonly kind: 'checkpoints';
  readonly owner: number;
  /** A high watermark has moved since the file was written. */
  isDirty: boolean;
  /** A partition has synced enough for its recovery point to be worth a write. */
  isRecoveryDue: boolean;
  /** When high watermarks were last written, `env.nowMs`. */
  writtenMs: number;
  /** When recovery points were. */
  recoveryWrittenMs: number;
  /** Tickets of replacements that are under way; 0 for none. */
  highWatermarkTicket: number;
  recoveryTicket: number;
  /** What DeleteRecords wants. */
  readonly starts: Starts;
}

/** Nothing written yet. */
export function createCheckpoints(owner: number): Checkpoints {
  return {
    kind: 'checkpoints',
    deadlineMs: Number.POSITIVE_INFINITY,
    heapIndex: -1,
    owner,
    isDirty: false,
    isRecoveryDue: false,
    writtenMs: 0,
    recoveryWrittenMs: 0,
    highWatermarkTicket: 0,
    recoveryTicket: 0,
    starts: { ticket: 0, writing: [], next: [] },
  };
}

/** Clients are served from now on: the intervals begin. */
export function beginCheckpoints(node: Node, env: Env): void {
  node.checkpoints.writtenMs = env.nowMs;
  node.checkpoints.recoveryWrittenMs = env.nowMs;
}

/** A partition's high watermark has moved by so many bytes. */
export function noteCommitted(node: Node, partition: Partition, sizeBytes: number): void {
  const { checkpoints } = node;
  partition.uncheckpointedBytes += sizeBytes;
  if (partition.uncheckpointedBytes >= SYNCED_BYTES && !checkpoints.isRecoveryDue) {
    checkpoints.isRecoveryDue = true;
    setDeadline(node.deadlines, checkpoints, 0);
  }
  if (checkpoints.isDirty) return;
  checkpoints.isDirty = true;
  schedule(node);
}

/** The deadline has come, or might have. */
export function wakeCheckpoints(node: Node, env: Env, out: Outbox): void {
  const { checkpoints } = node;
  const intervalMs = node.config['replica.high.watermark.checkpoint.interval.ms'];
  if (node.stage !== 'serving') return;
  const isDue = env.nowMs >= checkpoints.writtenMs + intervalMs;
  const recoveryIntervalMs = node.config['log.flush.offset.checkpoint.interval.ms'];
  if (checkpoints.isDirty && isDue && env.nowMs >= checkpoints.recoveryWrittenMs + recoveryIntervalMs) {
    checkpoints.isRecoveryDue = true;
  }
  if (checkpoints.isRecoveryDue && checkpoints.recoveryTicket === 0) {
    checkpoints.isRecoveryDue = false;
    checkpoints.recoveryWrittenMs = env.nowMs;
    checkpoints.recoveryTicket = nextTicket(node.ids);
    write(node, RECOVERY_POINTS, recoveryLines(node), checkpoints.owner, checkpoints.recoveryTicket, out);
  }
  if (checkpoints.isDirty && isDue && checkpoints.highWatermarkTicket === 0) {
    checkpoints.isDirty = false;
    checkpoints.writtenMs = env.nowMs;
    checkpoints.highWatermarkTicket = nextTicket(node.ids);
    write(node, HIGH_WATERMARKS, highWatermarkLines(node), checkpoints.owner, checkpoints.highWatermarkTicket, out);
  }
  schedule(node);
}

/** A file has been replaced, or could not be. */
export function stepCheckpoints(node: Node, env: Env, input: DiskInput, out: Outbox): void {
  const { checkpoints } = node;
  if (input.ticket === checkpoints.starts.ticket) {
    startsWritten(node, env, input, out);
    return;
  }
  const isRecovery = input.ticket === checkpoints.recoveryTicket;
  if (isRecovery) checkpoints.recoveryTicket = 0;
  else if (input.ticket === checkpoints.highWatermarkTicket) checkpoints.highWatermarkTicket = 0;
  else return;
  if (input.kind === 'diskFailed') {
    if (input.error === 'io') exitNode(node, 1, `the log directory ${node.folder} failed: ${input.detail}`);
    const fields = new Map([['reason', `${input.error}: ${input.detail}`]]);
    say(out, 'warn', 'a checkpoint could not be written; it is tried again', fields);
    if (!isRecovery) checkpoints.isDirty = true;
  }
  schedule(node);
}

/** Writes all three files for a clean stop, on behalf of `owner`, and returns the tickets to wait for. */
export function writeAllCheckpoints(node: Node, owner: number, out: Outbox): number[] {
  const files: [string, CheckpointLine[]][] = [
    [RECOVERY_POINTS, recoveryLines(node)],
    [HIGH_WATERMARKS, highWatermarkLines(node)],
    [LOG_STARTS, startLines(node)],
  ];
  return files.map(([name, lines]) => {
    const ticket = nextTicket(node.ids);
    write(node, name, lines, owner, ticket, out);
    return ticket;
  });
}

/** Writes where logs start, as DeleteRecords wants it, on behalf of `owner`. */
export function writeStarts(node: Node, owner: number, ticket: number, out: Outbox): void {
  write(node, LOG_STARTS, startLines(node), owner, ticket, out);
}

function startLines(node: Node): CheckpointLine[] {
  return linesOf(node, ({ log, wantedStart }) => {
    const offset = Math.max(log.start, wantedStart);
    return offset > 0 ? offset : -1;
  });
}

function schedule(node: Node): void {
  const { checkpoints } = node;
  const intervalMs = node.config['replica.high.watermark.checkpoint.interval.ms'];
  let deadlineMs = Number.POSITIVE_INFINITY;
  if (checkpoints.isDirty && checkpoints.highWatermarkTicket === 0) deadlineMs = checkpoints.writtenMs + intervalMs;
  if (checkpoints.isRecoveryDue && checkpoints.recoveryTicket === 0) deadlineMs = 0;
  setDeadline(node.deadlines, checkpoints, deadlineMs);
}

function write(node: Node, name: string, lines: CheckpointLine[], owner: number, ticket: number, out: Outbox): void {
  const bytes = encodeUtf8(formatCheckpoint(lines));
  out.push({ kind: 'replace', path: `${node.folder}/${name}`, bytes, owner, ticket });
}

function recoveryLines(node: Node): CheckpointLine[] {
  const lines = linesOf(node, (partition) => {
    const offset = recoveryPoint(partition.log);
    assert(offset <= partition.log.durable, 'a recovery point lies beyond what is durable');
    partition.uncheckpointedBytes = 0;
    return offset;
  });
  const log = node.controller?.quorum.raft.log;
  if (log?.state === 'open') lines.push({ topic: log.topic, partition: log.partition, offset: recoveryPoint(log) });
  return lines;
}

function highWatermarkLines(node: Node): CheckpointLine[] {
  return linesOf(node, ({ leader, log }) => {
    assert(leader.highWatermark <= log.durable, 'a high watermark lies beyond what is durable');
    return leader.highWatermark;
  });
}

/** A line for each partition of which `offsetOf` is not negative. Costs a walk over all partitions. */
function linesOf(node: Node, offsetOf: (partition: Partition) => number): CheckpointLine[] {
  const lines: CheckpointLine[] = [];
  for (const topic of node.topics.byName.values()) {
    for (const partition of topic.partitions) {
      const offset = partition.log.state === 'opening' ? -1 : offsetOf(partition);
      if (offset >= 0) lines.push({ topic: topic.name, partition: partition.index, offset });
    }
  }
  return lines;
}
