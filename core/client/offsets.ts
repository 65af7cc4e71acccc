/**
 * Committing offsets and reading them back: tasks by ticket, every one of which gets exactly one event.
 *
 * One task at a time goes to the coordinator, in the order of asking, so that a commit that is tried again is never
 * overtaken by a later one and offsets do not go back by our doing. A commit that nobody has answered may have been
 * stored all the same. A task is tried again while its time lasts, after errors that say 'again'; one asked for without
 * patience (`attemptsMax` 1, as Kafka's asynchronous commits) is not.
 *
 * A commit carries the membership of the moment in which it is sent. Invariants: at most one call is out, and it is the
 * first task's; at most TASKS_MAX wait. A crash loses all of it; commits without an event may be stored.
 */
import type { TopicPartitions } from '../assignors/client-shapes.ts';
import { backoffMs } from '../channel/backoff.ts';
import { type Answer, answerBody, type ChannelEvent } from '../channel/channel.ts';
import { assert } from '../lib/assert.ts';
import { type Ids, nextTicket } from '../lib/ids.ts';
import { ZERO_UUID } from '../lib/uuid.ts';
import type { Env, Outbox } from '../lib/world.ts';
import { ErrorCode, errorInfo } from '../protocol/errors.ts';
import {
  type Coordinator,
  callCoordinator,
  coordinatorVersion,
  isCoordinatorUp,
  isElsewhere,
  loseCoordinator,
  praiseCoordinator,
} from './coordinator.ts';
import type { Membership } from './member-shapes.ts';

/** An offset of a partition: the next one to be read. */
export interface OffsetMark {
  readonly topic: string;
  readonly partition: number;
  /** In answers -1 for none. */
  readonly offset: number;
  /** Of the record before it; -1 where it is not known. */
  readonly leaderEpoch: number;
  readonly metadata: string;
  /** In answers, a Kafka error code of this partition; NONE in questions. */
  readonly error: number;
}

/** What became of a task. */
export type OffsetsEvent =
  /** `error`: NONE where all were stored, else the first partition's that was not; `marks` has one for each. */
  | {
      readonly kind: 'committed';
      readonly ticket: number;
      readonly error: number;
      readonly marks: readonly OffsetMark[];
      /** As it was sent; null for none. */
      readonly membership: Membership | null;
    }
  | {
      readonly kind: 'fetched';
      readonly ticket: number;
      readonly error: number;
      readonly marks: readonly OffsetMark[];
      readonly membership: Membership | null;
    };

interface Task {
  readonly ticket: number;
  readonly what:
    | { readonly kind: 'commit'; readonly marks: readonly OffsetMark[] }
    | { readonly kind: 'fetch'; readonly partitions: readonly TopicPartitions[] };
  readonly untilMs: number;
  attemptsMax: number;
  attempts: number;
  membership: Membership | null;
}

/** The state, plain data. */
export interface Offsets {
  readonly ids: Ids;
  readonly tasks: Task[];
  /** The call that is out, about the first task; 0 for none. */
  call: number;
  retryAtMs: number;
  readonly requiresStable: boolean;
  readonly retryBackoffMs: number;
}

/** Tasks that wait, at most. */
export const TASKS_MAX = 10_000;
const OFFSET_COMMIT = 8;
const OFFSET_FETCH = 9;
/** Later versions name topics by id. */
const VERSION_MAX = 9;
/** The first version of OffsetFetch that asks about many groups. */
const GROUPS_SINCE = 8;
/** The first version of OffsetCommit that knows of static members. */
const INSTANCES_SINCE = 7;
/** The first version of OffsetFetch that can wait for transactions. */
const STABLE_SINCE = 7;
const BACKOFF_MAX_MS = 1000;

/** Nothing asked yet. `requiresStable`: offsets of open transactions are waited for. */
export function createOffsets(ids: Ids, retryBackoffMs: number, requiresStable: boolean): Offsets {
  return { ids, tasks: [], call: 0, retryAtMs: 0, requiresStable, retryBackoffMs };
}

/** Asks for offsets to be stored; the ticket, or -1 where too many tasks wait. */
export function askCommit(
  offsets: Offsets,
  marks: readonly OffsetMark[],
  untilMs: number,
  attemptsMax: number,
): number {
  return ask(offsets, { kind: 'commit', marks }, untilMs, attemptsMax);
}

/** Asks which offsets are stored; the ticket, or -1 where too many tasks wait. */
export function askCommitted(offsets: Offsets, partitions: readonly TopicPartitions[], untilMs: number): number {
  return ask(offsets, { kind: 'fetch', partitions }, untilMs, Number.POSITIVE_INFINITY);
}

function ask(offsets: Offsets, what: Task['what'], untilMs: number, attemptsMax: number): number {
  if (offsets.tasks.length >= TASKS_MAX) return -1;
  const ticket = nextTicket(offsets.ids);
  offsets.tasks.push({ ticket, what, untilMs, attemptsMax, attempts: 0, membership: null });
  return ticket;
}

/** Takes an answer, or the loss, of our call; false if it was not ours. */
export function takeOffsetsAnswer(
  offsets: Offsets,
  coordinator: Coordinator,
  env: Env,
  event: Answer | Extract<ChannelEvent, { readonly kind: 'lost' }>,
  events: OffsetsEvent[],
): boolean {
  if (offsets.call === 0 || event.ticket !== offsets.call) return false;
  const task = offsets.tasks[0];
  assert(task !== undefined, 'a call is out about no task');
  offsets.call = 0;
  if (task === undefined) return true;
  const marks = event.kind === 'lost' ? refused(task, ErrorCode.NETWORK_EXCEPTION) : read(task, event);
  const error = marks.find((mark) => mark.error !== ErrorCode.NONE)?.error ?? ErrorCode.NONE;
  if (isElsewhere(error)) loseCoordinator(coordinator, env);
  else if (event.kind === 'answered') praiseCoordinator(coordinator);
  if (isWorthAgain(task, error) && task.attempts < task.attemptsMax && env.nowMs < task.untilMs) {
    const waitMs = backoffMs(coordinator.channel, task.attempts, offsets.retryBackoffMs, BACKOFF_MAX_MS);
    offsets.retryAtMs = env.nowMs + waitMs;
    return true;
  }
  finish(offsets, task, error, marks, events);
  return true;
}

/** STALE_MEMBER_EPOCH: by the next attempt the member may know its new epoch. */
function isWorthAgain(task: Task, error: number): boolean {
  if (error === ErrorCode.STALE_MEMBER_EPOCH) return task.membership !== null;
  if (error === ErrorCode.REBALANCE_IN_PROGRESS) return false;
  return error !== ErrorCode.NONE && errorInfo(error).retriable;
}

function finish(
  offsets: Offsets,
  task: Task,
  error: number,
  marks: readonly OffsetMark[],
  events: OffsetsEvent[],
): void {
  offsets.tasks.splice(offsets.tasks.indexOf(task), 1);
  offsets.retryAtMs = 0;
  const { ticket, membership } = task;
  const kind = task.what.kind === 'commit' ? 'committed' : 'fetched';
  events.push({ kind, ticket, error, marks, membership });
}

function refused({ what }: Task, error: number): OffsetMark[] {
  if (what.kind === 'commit') return what.marks.map((mark) => ({ ...mark, error }));
  return what.partitions.flatMap(({ topic, partitions }) =>
    partitions.map((partition) => ({ topic, partition, offset: -1, leaderEpoch: -1, metadata: '', error })),
  );
}

function read(task: Task, event: Answer): OffsetMark[] {
  const { what } = task;
  if (what.kind === 'commit') {
    const { topics } = answerBody(event, OFFSET_COMMIT);
    const errors = new Map<string, Map<number, number>>();
    for (const { name, partitions } of topics) {
      errors.set(name, new Map(partitions.map(({ partitionIndex, errorCode }) => [partitionIndex, errorCode])));
    }
    const errorOf = ({ topic, partition }: OffsetMark): number =>
      errors.get(topic)?.get(partition) ?? ErrorCode.UNKNOWN_SERVER_ERROR;
    return what.marks.map((mark) => ({ ...mark, error: errorOf(mark) }));
  }
  const body = answerBody(event, OFFSET_FETCH);
  const group = event.version >= GROUPS_SINCE ? body.groups[0] : body;
  if (group === undefined) return refused(task, ErrorCode.UNKNOWN_SERVER_ERROR);
  if (group.errorCode !== ErrorCode.NONE) return refused(task, group.errorCode);
  const marks: OffsetMark[] = [];
  for (const { name, partitions } of group.topics) {
    for (const { partitionIndex, committedOffset, committedLeaderEpoch, metadata, errorCode } of partitions) {
      const where = { topic: name, partition: partitionIndex, offset: committedOffset };
      marks.push({ ...where, leaderEpoch: committedLeaderEpoch, metadata: metadata ?? '', error: errorCode });
    }
  }
  return marks;
}

/**
 * Partitions are given up or lost: what waits to be stored for them is not stored any more, and what is out is not
 * tried again, lest it overwrite what the next owner has stored.
 */
export function withdrawCommits(
  offsets: Offsets,
  partitions: readonly TopicPartitions[],
  error: number,
  events: OffsetsEvent[],
): void {
  const gone = new Map(partitions.map((one) => [one.topic, new Set(one.partitions)]));
  for (const [index, task] of [...offsets.tasks].entries()) {
    if (task.what.kind !== 'commit') continue;
    if (!task.what.marks.some(({ topic, partition }) => gone.get(topic)?.has(partition) === true)) continue;
    if (index === 0 && offsets.call !== 0) task.attemptsMax = task.attempts;
    else finish(offsets, task, error, refused(task, error), events);
  }
}

/**
 * Sends the first task if it may be sent, and ends those whose time is over. `membership`: null for nobody; who
 * `isMember` and is nobody at the moment commits nothing, because another may own what it had.
 */
export function driveOffsets(
  offsets: Offsets,
  coordinator: Coordinator,
  env: Env,
  membership: Membership | null,
  isMember: boolean,
  out: Outbox,
  events: OffsetsEvent[],
): void {
  expire(offsets, coordinator, env, events);
  const task = offsets.tasks[0];
  if (task === undefined || offsets.call !== 0 || offsets.retryAtMs > env.nowMs) return;
  if (isMember && membership === null && task.what.kind === 'commit') {
    finish(offsets, task, ErrorCode.UNKNOWN_MEMBER_ID, refused(task, ErrorCode.UNKNOWN_MEMBER_ID), events);
    return;
  }
  if (!isCoordinatorUp(coordinator)) return;
  task.membership = membership;
  task.attempts += 1;
  const apiKey = task.what.kind === 'commit' ? OFFSET_COMMIT : OFFSET_FETCH;
  const version = coordinatorVersion(coordinator, apiKey, VERSION_MAX);
  if (version < 0) {
    finish(offsets, task, ErrorCode.UNSUPPORTED_VERSION, refused(task, ErrorCode.UNSUPPORTED_VERSION), events);
    return;
  }
  offsets.call =
    task.what.kind === 'commit'
      ? callCommit(coordinator, env, version, task.what.marks, membership, out)
      : callFetch(coordinator, env, version, task.what.partitions, membership, offsets.requiresStable, out);
}

function callCommit(
  coordinator: Coordinator,
  env: Env,
  version: number,
  marks: readonly OffsetMark[],
  membership: Membership | null,
  out: Outbox,
): number {
  const { groupId } = coordinator;
  const instance = version < INSTANCES_SINCE ? null : (membership?.instanceId ?? null);
  const who = { memberId: membership?.memberId ?? '', groupInstanceId: instance };
  const generation = membership?.generation ?? -1;
  const body = { groupId, generationIdOrMemberEpoch: generation, ...who, topics: byTopic(marks) };
  return callCoordinator(coordinator, env, { apiKey: OFFSET_COMMIT, version, body }, out);
}

function callFetch(
  coordinator: Coordinator,
  env: Env,
  version: number,
  partitions: readonly TopicPartitions[],
  membership: Membership | null,
  requiresStable: boolean,
  out: Outbox,
): number {
  const { groupId } = coordinator;
  const topics = partitions.map((one) => ({
    name: one.topic,
    topicId: ZERO_UUID,
    partitionIndexes: one.partitions,
  }));
  const known = membership?.protocol === 'consumer' ? membership : null;
  const who = { memberId: known?.memberId ?? null, memberEpoch: known?.generation ?? -1 };
  const isMany = version >= GROUPS_SINCE;
  const body = {
    groupId: isMany ? '' : groupId,
    topics: isMany ? [] : topics,
    groups: isMany ? [{ groupId, ...who, topics }] : [],
    requireStable: requiresStable && version >= STABLE_SINCE,
  };
  return callCoordinator(coordinator, env, { apiKey: OFFSET_FETCH, version, body }, out);
}

function byTopic(marks: readonly OffsetMark[]): {
  name: string;
  topicId: string;
  partitions: {
    partitionIndex: number;
    committedOffset: number;
    committedLeaderEpoch: number;
    committedMetadata: string;
  }[];
}[] {
  const topics = new Map<string, ReturnType<typeof byTopic>[number]>();
  for (const { topic, partition, offset, leaderEpoch, metadata } of marks) {
    const entry = topics.get(topic) ?? { name: topic, topicId: ZERO_UUID, partitions: [] };
    topics.set(topic, entry);
    const where = { partitionIndex: partition, committedOffset: offset };
    entry.partitions.push({ ...where, committedLeaderEpoch: leaderEpoch, committedMetadata: metadata });
  }
  return [...topics.values()];
}

/** What is out is awaited; whoever waits behind it, or for the coordinator, ends with its time. */
function expire(offsets: Offsets, { refusal }: Coordinator, env: Env, events: OffsetsEvent[]): void {
  for (const task of [...offsets.tasks]) {
    if (offsets.call !== 0 && task === offsets.tasks[0]) continue;
    const error = refusal !== ErrorCode.NONE ? refusal : ErrorCode.REQUEST_TIMED_OUT;
    if (refusal === ErrorCode.NONE && env.nowMs < task.untilMs) continue;
    finish(offsets, task, error, refused(task, error), events);
  }
}

/** When the tasks next want a 'wake', given that all that was possible at `drivenAtMs` has been done. */
export function offsetsDeadlineMs(offsets: Offsets, drivenAtMs: number): number {
  let deadlineMs = Number.POSITIVE_INFINITY;
  for (const [index, { untilMs }] of offsets.tasks.entries()) {
    if (index > 0 || offsets.call === 0) deadlineMs = Math.min(deadlineMs, untilMs);
  }
  if (offsets.call === 0 && offsets.tasks.length > 0 && offsets.retryAtMs > drivenAtMs) {
    deadlineMs = Math.min(deadlineMs, offsets.retryAtMs);
  }
  return deadlineMs;
}

/** True between any two steps. */
export function checkOffsets(offsets: Offsets): void {
  assert(offsets.call === 0 || offsets.tasks.length > 0, 'a call is out about no task');
  assert(offsets.tasks.length <= TASKS_MAX, 'too many offsets are to be stored');
}
