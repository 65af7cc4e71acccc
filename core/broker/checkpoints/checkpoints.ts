/**
 * Checkpoints: where each partition's recovery begins, and what its readers had been shown.
 *
 * High watermarks are written every replica.high.watermark.checkpoint.interval.ms while they move, recovery points
 * every log.flush.offset.checkpoint.interval.ms while they do, and whenever a partition has synced SYNCED_BYTES since
 * its last one. Both are hints for the next start: too low costs
 * time, never records, so one that cannot be written is said and tried again. Where logs start is written when it moves
 * (`delete-records.ts`) and at a clean stop. Everything in them is durable before
 * it is written down. One replacement of a file is under way at a time: it is made in slices (`checkpoint-rounds.ts`),
 * then put in place. Its ticket is taken when the first slice begins.
 *
 * Lines are about a name, not about a topic's id: a line that outlived its topic would be believed of the next topic of
 * that name. So a name stays taken until no file can hold a line of it (`dropLines`). A crash before that leaves the
 * set-aside folder, or the old one, and the next start leaves such lines out (`boot-folders.ts`).
 */
import { assert } from '../../lib/assert.ts';
import { setDeadline, type Timed } from '../../lib/heap.ts';
import { nextTicket } from '../../lib/ids.ts';
import { encodeUtf8 } from '../../lib/utf8.ts';
import type { DiskInput, Env, Outbox } from '../../lib/world.ts';
import { exitNode } from '../exit.ts';
import { marksWritten, type Starts, startsWritten } from '../partitions/delete-records.ts';
import { say } from '../say.ts';
import type { Node, Partition } from '../state.ts';
import { addRest, addSlice, createRound, finishRound, type Round, SLICE_GAP_MS } from './checkpoint-rounds.ts';
import { type CheckpointLine, formatCheckpoint, HIGH_WATERMARKS, LOG_STARTS, RECOVERY_POINTS } from './files.ts';
import { addLineName, addLineNames, createLineNames, hasLineName, type LineNames } from './line-names.ts';
import { createLowering, type Lowering, settleLowered } from './lowering.ts';
import { emptySetAside, linesGone, type Removal } from './removal.ts';

/** A partition's recovery point is written down after so many bytes. */
export const SYNCED_BYTES = 64 * 1024 * 1024;

/** A file that could not be written is tried again after so long, ms. */
export const RETRY_MS = 1_000;

/** What one of the files may say. */
export interface CheckpointFile {
  /** The partitions that it may hold lines of. */
  names: LineNames;
  /** Those of the replacement that is under way; null for none. */
  writing: LineNames | null;
  /** The replacement while it is being made; null before, and when the disk has it. */
  round: Round | null;
  /** About the size of the file, bytes. */
  sizeBytes: number;
  /** It holds a line that must go, or must say less. */
  isRewriteDue: boolean;
  /** After a failure: it is not tried again before, `env.nowMs`. */
  retryMs: number;
  /** How many replacements were begun in this life, and the number of the last that is in place. */
  begun: number;
  written: number;
}

/** The state of the checkpoint files. */
export interface Checkpoints extends Timed {
  readonly kind: 'checkpoints';
  readonly owner: number;
  /** A high watermark has moved since the file was written. */
  isDirty: boolean;
  /** Starts of logs wait for high watermarks that are not below them (`delete-records.ts`). */
  areMarksWanted: boolean;
  /** The replacement of high watermarks that is under way is what they wait for. */
  areMarksAwaited: boolean;
  /** A partition has synced enough for its recovery point to be worth a write. */
  isRecoveryDue: boolean;
  /** When high watermarks were last written, `env.nowMs`. */
  writtenMs: number;
  /** When recovery points were. */
  recoveryWrittenMs: number;
  /** Files in the making are not gone on with before, `env.nowMs`. */
  sliceMs: number;
  /** Tickets of replacements that are under way; 0 for none. */
  highWatermarkTicket: number;
  recoveryTicket: number;
  /** What DeleteRecords wants. */
  readonly starts: Starts;
  /** By name of the file. */
  readonly files: ReadonlyMap<string, CheckpointFile>;
  /** Folder names whose lines must go before the name is free, and the removals that wait for it. */
  readonly dropping: Map<string, Removal | null>;
  /** Cuts of logs that wait for the files. */
  readonly lowering: Lowering;
}

/** Nothing written yet. */
export function createCheckpoints(owner: number): Checkpoints {
  return {
    kind: 'checkpoints',
    deadlineMs: Number.POSITIVE_INFINITY,
    heapIndex: -1,
    owner,
    isDirty: false,
    areMarksWanted: false,
    areMarksAwaited: false,
    isRecoveryDue: false,
    writtenMs: 0,
    recoveryWrittenMs: 0,
    sliceMs: 0,
    highWatermarkTicket: 0,
    recoveryTicket: 0,
    starts: { ticket: 0, writing: [], next: [], awaited: new Map() },
    files: new Map([RECOVERY_POINTS, HIGH_WATERMARKS, LOG_STARTS].map((name) => [name, createFile()])),
    dropping: new Map(),
    lowering: createLowering(),
  };
}

function createFile(): CheckpointFile {
  const never = { sizeBytes: 0, isRewriteDue: false, retryMs: 0, begun: 0, written: 0 };
  return { names: createLineNames(), writing: null, round: null, ...never };
}

/** Clients are served from now on: the intervals begin. */
export function beginCheckpoints(node: Node, env: Env): void {
  node.checkpoints.writtenMs = env.nowMs;
  node.checkpoints.recoveryWrittenMs = env.nowMs;
  scheduleCheckpoints(node);
}

/** A partition's high watermark has moved by so many bytes. */
export function noteCommitted(node: Node, partition: Partition, sizeBytes: number): void {
  const { checkpoints } = node;
  partition.uncheckpointedBytes += sizeBytes;
  if (partition.uncheckpointedBytes >= SYNCED_BYTES && !checkpoints.isRecoveryDue) {
    checkpoints.isRecoveryDue = true;
    scheduleCheckpoints(node);
  }
  if (checkpoints.isDirty) return;
  checkpoints.isDirty = true;
  scheduleCheckpoints(node);
}

/** The start has found lines of these partitions in a file. */
export function knowLines(node: Node, name: string, names: LineNames): void {
  fileOf(node, name).names = names;
}

/**
 * A partition's folder is gone: its name is free (`linesGone`) once no file can hold a line of it. At once if none can;
 * else the files are written anew, and what fails is tried again after RETRY_MS.
 */
export function dropLines(node: Node, env: Env, name: string, removal: Removal | null, out: Outbox): void {
  const { files, dropping } = node.checkpoints;
  let isMentioned = false;
  for (const file of files.values()) {
    if (!mentions(file, name)) continue;
    isMentioned = true;
    if (hasLineName(file.writing ?? file.names, name)) file.isRewriteDue = true;
  }
  if (!isMentioned) {
    linesGone(node, name, removal, out);
    return;
  }
  dropping.set(name, removal);
  wakeCheckpoints(node, env, out);
}

function mentions(file: CheckpointFile, name: string): boolean {
  return hasLineName(file.names, name) || (file.writing !== null && hasLineName(file.writing, name));
}

function fileOf(node: Node, name: string): CheckpointFile {
  const file = node.checkpoints.files.get(name);
  assert(file !== undefined, 'a checkpoint that is not one');
  return file;
}

/** Whether files may be written now: while logs are still being opened their lines would be missing. */
function mayWrite(node: Node): boolean {
  if (node.stage === 'serving') return true;
  if (node.stage === 'stopping') return node.stop?.stage === 'draining' || node.stop?.stage === 'closing';
  return node.boot?.stage === 'unfencing' || node.boot?.stage === 'topics';
}

/** High watermarks are to be written as they are now, as soon as may be: `marksWritten` follows. */
export function wantMarks(node: Node, env: Env, out: Outbox): void {
  node.checkpoints.areMarksWanted = true;
  wakeCheckpoints(node, env, out);
}

/** The deadline has come, or might have. */
export function wakeCheckpoints(node: Node, env: Env, out: Outbox): void {
  if (mayWrite(node)) writeDue(node, env, node.stage === 'serving', out);
  scheduleCheckpoints(node);
}

function writeDue(node: Node, env: Env, isServing: boolean, out: Outbox): void {
  const { checkpoints } = node;
  const { owner, starts } = checkpoints;
  const { nowMs } = env;
  const isDue = isServing && nowMs >= checkpoints.writtenMs + highWatermarkMs(node);
  const recoveryIntervalMs = node.config['log.flush.offset.checkpoint.interval.ms'];
  if (checkpoints.isDirty && isDue && nowMs >= checkpoints.recoveryWrittenMs + recoveryIntervalMs) {
    checkpoints.isRecoveryDue = true;
  }
  const recovery = fileOf(node, RECOVERY_POINTS);
  const wantsRecovery = recovery.isRewriteDue || (isServing && checkpoints.isRecoveryDue);
  if (wantsRecovery && checkpoints.recoveryTicket === 0 && nowMs >= recovery.retryMs) {
    checkpoints.isRecoveryDue = false;
    checkpoints.recoveryWrittenMs = nowMs;
    checkpoints.recoveryTicket = nextTicket(node.ids);
    beginRound(node, RECOVERY_POINTS, owner, checkpoints.recoveryTicket);
  }
  const marks = fileOf(node, HIGH_WATERMARKS);
  const wantsMarks = marks.isRewriteDue || checkpoints.areMarksWanted || (checkpoints.isDirty && isDue);
  if (wantsMarks && checkpoints.highWatermarkTicket === 0 && nowMs >= marks.retryMs) {
    checkpoints.isDirty = false;
    checkpoints.areMarksAwaited = checkpoints.areMarksWanted;
    checkpoints.areMarksWanted = false;
    checkpoints.writtenMs = nowMs;
    checkpoints.highWatermarkTicket = nextTicket(node.ids);
    beginRound(node, HIGH_WATERMARKS, owner, checkpoints.highWatermarkTicket);
  }
  const begins = fileOf(node, LOG_STARTS);
  // Starts that wait for high watermarks take the lines along.
  if (begins.isRewriteDue && starts.ticket === 0 && starts.writing.length === 0 && nowMs >= begins.retryMs) {
    starts.ticket = nextTicket(node.ids);
    beginRound(node, LOG_STARTS, owner, starts.ticket);
  }
  goOn(node, env, out);
}

/** The files that are in the making grow by a slice; one that is whole goes to the disk. */
function goOn(node: Node, env: Env, out: Outbox): void {
  const { checkpoints } = node;
  if (env.nowMs < checkpoints.sliceMs) return;
  for (const file of checkpoints.files.values()) {
    if (file.round === null) continue;
    if (!grow(node, file, file.round, out)) checkpoints.sliceMs = env.nowMs + SLICE_GAP_MS;
  }
}

/** Adds a slice. Whether it was the last: then the file goes to the disk. */
function grow(node: Node, file: CheckpointFile, round: Round, out: Outbox): boolean {
  const isWhole = addSlice(node, round);
  if (isWhole) replace(node, file, round, out);
  return isWhole;
}

/** Begins the replacement of a file; `settleWrite` follows unless the node stops. */
function beginRound(node: Node, name: string, owner: number, ticket: number): Round {
  const file = fileOf(node, name);
  const names = beginWriting(file);
  file.round = createRound(node, { name, owner, ticket, names }, file.sizeBytes);
  return file.round;
}

function replace(node: Node, file: CheckpointFile, round: Round, out: Outbox): void {
  const { name, owner, ticket } = round;
  const bytes = finishRound(round);
  file.round = null;
  file.sizeBytes = bytes.length;
  out.push({ kind: 'replace', path: `${node.folder}/${name}`, bytes, owner, ticket });
}

function beginWriting(file: CheckpointFile): LineNames {
  // Two are under way only in a stop: any of them may be what stays.
  if (file.writing !== null) addLineNames(file.names, file.writing);
  file.writing = createLineNames();
  file.isRewriteDue = false;
  file.begun += 1;
  return file.writing;
}

/** A file has been replaced, or could not be. */
export function stepCheckpoints(node: Node, env: Env, input: DiskInput, out: Outbox): void {
  const { checkpoints } = node;
  const isDone = input.kind !== 'diskFailed';
  // Whoever asked for records to be deleted is told, and asks again.
  let isRetried = true;
  if (input.ticket === checkpoints.starts.ticket) {
    settleWrite(node, env, LOG_STARTS, isDone);
    isRetried = fileOf(node, LOG_STARTS).isRewriteDue;
    startsWritten(node, env, input, out);
  } else if (input.ticket === checkpoints.recoveryTicket) {
    checkpoints.recoveryTicket = 0;
    settleWrite(node, env, RECOVERY_POINTS, isDone);
    if (!isDone) checkpoints.isRecoveryDue = true;
  } else if (input.ticket === checkpoints.highWatermarkTicket) {
    checkpoints.highWatermarkTicket = 0;
    settleWrite(node, env, HIGH_WATERMARKS, isDone);
    if (!isDone) checkpoints.isDirty = true;
    if (checkpoints.areMarksAwaited) {
      checkpoints.areMarksAwaited = false;
      marksWritten(node, env, input, out);
    }
  } else {
    return;
  }
  if (input.kind === 'diskFailed') {
    if (input.error === 'io') exitNode(node, 1, `the log directory ${node.folder} failed: ${input.detail}`);
    const fields = new Map([['reason', `${input.error}: ${input.detail}`]]);
    if (isRetried) say(out, 'warn', 'a checkpoint could not be written; it is tried again', fields);
    // What was set aside may be what fills the disk.
    for (const removal of checkpoints.dropping.values()) if (removal !== null) emptySetAside(node, removal, out);
  }
  freeDropped(node, out);
  settleLowered(node, env, out);
  wakeCheckpoints(node, env, out);
}

/** The replacement of a file has ended; one that failed may be in place all the same. */
export function settleWrite(node: Node, env: Env, name: string, isDone: boolean): void {
  const file = fileOf(node, name);
  if (isDone && file.writing !== null) file.names = file.writing;
  else if (file.writing !== null) addLineNames(file.names, file.writing);
  file.writing = null;
  if (isDone) file.written = file.begun;
  file.retryMs = isDone ? 0 : env.nowMs + RETRY_MS;
  if (isDone) return;
  for (const dropped of node.checkpoints.dropping.keys()) {
    if (hasLineName(file.names, dropped)) file.isRewriteDue = true;
  }
}

/** Names that no file mentions any more are free. */
function freeDropped(node: Node, out: Outbox): void {
  const { dropping, files } = node.checkpoints;
  for (const [name, removal] of dropping) {
    if ([...files.values()].some((file) => mentions(file, name))) continue;
    dropping.delete(name);
    linesGone(node, name, removal, out);
  }
}

/**
 * Writes all three files for a clean stop, on behalf of `owner`, and returns the tickets to wait for. One in the making
 * is given up: nobody is left who waits for it.
 */
export function writeAllCheckpoints(node: Node, owner: number, out: Outbox): number[] {
  return [RECOVERY_POINTS, HIGH_WATERMARKS, LOG_STARTS].map((name) => {
    const round = beginRound(node, name, owner, nextTicket(node.ids));
    addRest(node, round);
    replace(node, fileOf(node, name), round, out);
    return round.ticket;
  });
}

/** Begins to write where logs start, as DeleteRecords wants it; whoever calls wakes the checkpoints after this. */
export function writeStarts(node: Node, owner: number, ticket: number, out: Outbox): void {
  grow(node, fileOf(node, LOG_STARTS), beginRound(node, LOG_STARTS, owner, ticket), out);
}

function highWatermarkMs(node: Node): number {
  return node.config['replica.high.watermark.checkpoint.interval.ms'];
}

/** Gives the heap the next deadline. */
export function scheduleCheckpoints(node: Node): void {
  const { checkpoints } = node;
  const recovery = fileOf(node, RECOVERY_POINTS);
  const marks = fileOf(node, HIGH_WATERMARKS);
  const begins = fileOf(node, LOG_STARTS);
  const isServing = node.stage === 'serving';
  let deadlineMs = Number.POSITIVE_INFINITY;
  if (mayWrite(node) && checkpoints.highWatermarkTicket === 0) {
    if (marks.isRewriteDue || checkpoints.areMarksWanted) deadlineMs = marks.retryMs;
    else if (isServing && checkpoints.isDirty) {
      deadlineMs = Math.max(marks.retryMs, checkpoints.writtenMs + highWatermarkMs(node));
    }
  }
  const wantsRecovery = recovery.isRewriteDue || (isServing && checkpoints.isRecoveryDue);
  if (mayWrite(node) && wantsRecovery && checkpoints.recoveryTicket === 0) {
    deadlineMs = Math.min(deadlineMs, recovery.retryMs);
  }
  const { starts } = checkpoints;
  if (mayWrite(node) && begins.isRewriteDue && starts.ticket === 0 && starts.writing.length === 0) {
    deadlineMs = Math.min(deadlineMs, begins.retryMs);
  }
  if (mayWrite(node) && [recovery, marks, begins].some(({ round }) => round !== null)) {
    deadlineMs = Math.min(deadlineMs, checkpoints.sliceMs);
  }
  setDeadline(node.deadlines, checkpoints, deadlineMs);
}

/** Asks for a file to be replaced by these lines; `settleWrite` follows unless the node stops. */
export function write(
  node: Node,
  name: string,
  lines: CheckpointLine[],
  owner: number,
  ticket: number,
  out: Outbox,
): void {
  const names = beginWriting(fileOf(node, name));
  for (const { topic, partition } of lines) addLineName(names, topic, partition);
  const bytes = encodeUtf8(formatCheckpoint(lines));
  out.push({ kind: 'replace', path: `${node.folder}/${name}`, bytes, owner, ticket });
}
