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
 *
 * A follower that hears of a new start of its leader's log writes it down the same way. Where there are several
 * replicas a client is answered when all of them that are in sync have done so, and they are as many as acks=all wants:
 * whoever comes to lead begins no lower.
 */
import { assert } from '../../lib/assert.ts';
import { nextTicket } from '../../lib/ids.ts';
import type { DiskInput, Env, Outbox } from '../../lib/world.ts';
import { deleteBelow } from '../../log/log.ts';
import { ErrorCode } from '../../protocol/errors.ts';
import type { ResponseInputOf } from '../../protocol/messages/index.ts';
import { giveUpStart, startFollowed } from '../../replication/fetcher.ts';
import { lowestStart } from '../../replication/in-sync.ts';
import { isShort } from '../../replication/leader.ts';
import { answer } from '../answers.ts';
import { wantMarks, writeStarts } from '../checkpoints/checkpoints.ts';
import { exitNode } from '../exit.ts';
import type { Node, Partition, Request } from '../state.ts';
import { markDirty } from './fetch-sessions.ts';
import { touchFetcher } from './followers.ts';
import { takeEvents, touch } from './partitions.ts';

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
  /** Other replicas are waited for until then, `env.nowMs`. */
  readonly untilMs: number;
}

/** One partition of one request; without a request where a leader has told of the start of its log. */
export type WantedStart = { readonly partition: Partition; readonly offset: number } & (
  | { readonly wait: StartWait; readonly reply: StartReply }
  | { readonly wait: null; readonly reply: null }
);

/** One that waits for other replicas. */
export type AwaitedStart = Extract<WantedStart, { readonly wait: StartWait }>;

/** Starts that are being written down, and those that come after them. */
export interface Starts {
  /** 0 while no replacement of the file is under way, also while high watermarks are being written for it. */
  ticket: number;
  writing: WantedStart[];
  next: WantedStart[];
  /** Written down here; other replicas have not said that they have done so. */
  readonly awaited: Map<Partition, AwaitedStart[]>;
}

/** The log of a partition is to begin at `offset`, which is within the log and below the high watermark. */
export function wantStart(node: Node, env: Env, wanted: WantedStart, out: Outbox): void {
  const { partition, offset, wait } = wanted;
  if (wait !== null) wait.remaining += 1;
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
    const { partition, wait, reply } = wanted;
    if (partition.phase !== 'gone') {
      if (isDone) begin(node, env, wanted, out);
      else if (reply !== null) reply.errorCode = ErrorCode.KAFKA_STORAGE_ERROR;
      else if (partition.followed !== null) giveUpStart(partition.followed);
      forgetWanted(node, partition);
    }
    if (wait === null) continue;
    const { leader } = partition;
    const isOver = reply.errorCode !== ErrorCode.NONE || partition.phase === 'gone' || leader.inSync === null;
    if (isOver) finishOne(node, wait);
    else awaitOthers(node, wanted);
  }
  writeNext(node, env, out);
}

function begin(node: Node, env: Env, { partition, offset, reply }: WantedStart, out: Outbox): void {
  const { log, leader, followed, fetcher } = partition;
  if (followed !== null && fetcher !== null) {
    startFollowed(fetcher, followed, offset, out, node.events);
    touchFetcher(node, fetcher);
  } else if (leader.epoch >= 0 && log.state === 'open') deleteBelow(log, offset, out, node.events);
  // Reads below the new start have failed, and are told.
  takeEvents(node, env, partition, out);
  touch(node, partition);
  for (const subscription of partition.subscriptions) markDirty(subscription);
  if (reply === null) return;
  if (leader.epoch < 0) reply.errorCode = ErrorCode.NOT_LEADER_OR_FOLLOWER;
  else reply.lowWatermark = log.start;
}

/** The start is written down here; the answer waits for the other replicas. */
export function awaitOthers(node: Node, wanted: AwaitedStart): void {
  const { awaited } = node.checkpoints.starts;
  const { partition } = wanted;
  const others = awaited.get(partition);
  if (others === undefined) awaited.set(partition, [wanted]);
  else others.push(wanted);
  touch(node, partition);
}

/** Answers those whose start all replicas in sync have. When it is to be asked again, `env.nowMs`. */
export function settleAwaited(node: Node, env: Env, partition: Partition): number {
  const { awaited } = node.checkpoints.starts;
  const list = awaited.get(partition);
  if (list === undefined) return Number.POSITIVE_INFINITY;
  const { leader, log } = partition;
  const { inSync } = leader;
  const lowest = inSync === null ? log.start : lowestStart(inSync, log.start);
  const isSure = inSync === null || !isShort(leader);
  const left = list.filter(({ wait, reply, offset }) => {
    if (leader.epoch < 0) reply.errorCode = ErrorCode.NOT_LEADER_OR_FOLLOWER;
    else if (isSure && lowest >= offset) reply.lowWatermark = lowest;
    else if (env.nowMs >= wait.untilMs) reply.errorCode = ErrorCode.REQUEST_TIMED_OUT;
    else return true;
    if (reply.errorCode !== ErrorCode.NONE) reply.lowWatermark = -1;
    finishOne(node, wait);
    return false;
  });
  if (left.length > 0) awaited.set(partition, left);
  else awaited.delete(partition);
  return left.reduce((untilMs, { wait }) => Math.min(untilMs, wait.untilMs), Number.POSITIVE_INFINITY);
}

/** What was written is not wanted any more, nor what could not be, unless others want it still. */
function forgetWanted(node: Node, partition: Partition): void {
  partition.wantedStart = -1;
  for (const { partition: other, offset } of node.checkpoints.starts.next) {
    if (other === partition) partition.wantedStart = Math.max(partition.wantedStart, offset);
  }
}

/** The partition is gone: whoever wanted records of it deleted is told. */
export function failStart(node: Node, partition: Partition, error: ErrorCode): void {
  const { starts } = node.checkpoints;
  for (const { partition: other, reply } of [...starts.writing, ...starts.next]) {
    if (other !== partition || reply === null) continue;
    reply.errorCode = error;
    reply.lowWatermark = -1;
  }
  const awaited = starts.awaited.get(partition) ?? [];
  starts.awaited.delete(partition);
  for (const { reply, wait } of awaited) {
    reply.errorCode = error;
    reply.lowWatermark = -1;
    finishOne(node, wait);
  }
}

/** One partition is done. */
export function finishOne(node: Node, wait: StartWait): void {
  wait.remaining -= 1;
  if (wait.remaining === 0) answer(node, wait.request, KEY, wait.response);
}
