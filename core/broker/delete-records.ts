/**
 * DeleteRecords at work: the starts that clients want are written down together, and only when that is durable do logs
 * begin there and clients hear of it.
 *
 * Before that the high watermarks are: a start that lies above both other checkpoints of its log would not be believed
 * (`core/log/opened.ts`), and after a power loss the files below it may be there again in part, so that nothing else
 * says where the log was.
 *
 * One replacement of `log-start-offset-checkpoint` is under way at a time; what is wanted meanwhile goes into the next.
 * A crash before the file is durable leaves the old starts, one after it the new ones: the files below go at the next
 * cut. The state is `Checkpoints.starts`.
 */
import { assert } from '../lib/assert.ts';
import { nextTicket } from '../lib/ids.ts';
import type { DiskInput, Env, Outbox } from '../lib/world.ts';
import { deleteBelow } from '../log/log.ts';
import { ErrorCode } from '../protocol/errors.ts';
import type { ResponseInputOf } from '../protocol/messages/index.ts';
import { answer } from './answers.ts';
import { wantMarks, writeStarts } from './checkpoints.ts';
import { exitNode } from './exit.ts';
import { markDirty } from './fetch-sessions.ts';
import { takeEvents, touch } from './partitions.ts';
import type { Node, Partition, Request } from './state.ts';

const KEY = 21;

/** What is answered about one partition. */
export type StartReply = { -readonly [K in keyof Reply]: Reply[K] };
type Reply = ResponseInputOf<21>['topics'][number]['partitions'][number];

/** A request that waits. */
export interface StartWait {
  readonly request: Request;
  readonly response: ResponseInputOf<21>;
  /** Partitions that are not done. */
  remaining: number;
}

/** One partition of one request. */
export interface WantedStart {
  readonly wait: StartWait;
  readonly partition: Partition;
  readonly offset: number;
  readonly reply: StartReply;
}

/** Starts that are being written down, and those that come after them. */
export interface Starts {
  /** 0 while no replacement of the file is under way, also while high watermarks are being written for it. */
  ticket: number;
  writing: WantedStart[];
  next: WantedStart[];
}

/** The log of a partition is to begin at `offset`, which is within the log and below the high watermark. */
export function wantStart(node: Node, env: Env, wanted: WantedStart, out: Outbox): void {
  const { partition, offset, wait } = wanted;
  wait.remaining += 1;
  partition.wantedStart = Math.max(partition.wantedStart, offset);
  node.checkpoints.starts.next.push(wanted);
  writeNext(node, env, out);
}

function writeNext(node: Node, env: Env, out: Outbox): void {
  const { starts } = node.checkpoints;
  if (starts.ticket !== 0 || starts.writing.length > 0 || starts.next.length === 0) return;
  starts.writing = starts.next;
  starts.next = [];
  wantMarks(node, env, out);
}

/** High watermarks that are not below the starts are in place, or could not be written. */
export function marksWritten(node: Node, env: Env, input: DiskInput, out: Outbox): void {
  const { starts, owner } = node.checkpoints;
  if (input.kind === 'diskFailed') {
    startsWritten(node, env, input, out);
    return;
  }
  assert(starts.ticket === 0, 'the file of starts waits for that of high watermarks');
  starts.ticket = nextTicket(node.ids);
  writeStarts(node, owner, starts.ticket, out);
}

/** The file is in place, or could not be written. */
export function startsWritten(node: Node, env: Env, input: DiskInput, out: Outbox): void {
  const { starts } = node.checkpoints;
  starts.ticket = 0;
  const isDone = input.kind !== 'diskFailed';
  if (input.kind === 'diskFailed' && input.error === 'io') {
    exitNode(node, 1, `the log directory ${node.folder} failed: ${input.detail}`);
  }
  for (const wanted of starts.writing.splice(0)) {
    const { partition, reply } = wanted;
    if (partition.phase !== 'gone' && isDone) begin(node, env, wanted, out);
    else if (partition.phase !== 'gone') {
      reply.errorCode = ErrorCode.KAFKA_STORAGE_ERROR;
      forgetWanted(node, partition);
    }
    finishOne(node, wanted.wait);
  }
  writeNext(node, env, out);
}

function begin(node: Node, env: Env, { partition, offset, reply }: WantedStart, out: Outbox): void {
  const { log } = partition;
  if (log.state === 'open') deleteBelow(log, offset, out, node.events);
  // Reads below the new start have failed, and are told.
  takeEvents(node, env, partition, out);
  touch(node, partition);
  reply.lowWatermark = log.start;
  if (partition.wantedStart <= log.start) partition.wantedStart = -1;
  for (const subscription of partition.subscriptions) markDirty(subscription);
}

/** What could not be written is wanted no more, unless others want it still. */
function forgetWanted(node: Node, partition: Partition): void {
  partition.wantedStart = -1;
  for (const { partition: other, offset } of node.checkpoints.starts.next) {
    if (other === partition) partition.wantedStart = Math.max(partition.wantedStart, offset);
  }
}

/** The partition is gone: whoever wanted records of it deleted is told. */
export function failStart(node: Node, partition: Partition, error: ErrorCode): void {
  const { starts } = node.checkpoints;
  for (const wanted of [...starts.writing, ...starts.next]) {
    if (wanted.partition === partition) {
      wanted.reply.errorCode = error;
      wanted.reply.lowWatermark = -1;
    }
  }
}

/** One partition is done. */
export function finishOne(node: Node, wait: StartWait): void {
  wait.remaining -= 1;
  if (wait.remaining === 0) answer(node, wait.request, KEY, wait.response);
}
