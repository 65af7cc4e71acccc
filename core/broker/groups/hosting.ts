/**
 * The coordinators of groups that this node hosts: one for each partition of `__consumer_offsets` that it leads.
 *
 * Theory of operation. When this node begins to lead such a partition a host is made for it, reads the log
 * (`loading.ts`) and becomes active. From then on each call goes through `core/coordination`: handled at once,
 * appended, answered when the high watermark covers it. Log and state go on together through newer epochs of the same
 * lead. When the lead or the partition goes, or an append fails, the host goes with all that it knew: whoever waits is
 * told to look for the coordinator anew.
 *
 * The machine has changed who waits and which timers run by the time that it says what is to be appended. So room is
 * asked for before, and where a decision still cannot be appended the host is made anew from the log.
 *
 * What the machine does by itself (times that are over, topics that went) is done in a wake of its own, and only with
 * room: with too few replicas in sync nobody is thrown out, as nobody can be let in.
 */
import {
  type CoordinatorEvent,
  commitTo,
  createCoordinator,
  PARKED_MAX,
  submit,
} from '../../coordination/coordinator.ts';
import { GROUP_MACHINE, groupDeadlineMs } from '../../group/machine.ts';
import type { ClientCallKind, GroupAnswer, GroupCall, GroupShapes, TopicPattern } from '../../group/shapes.ts';
import type { GroupState } from '../../group/state.ts';
import { assert } from '../../lib/assert.ts';
import { setDeadline } from '../../lib/heap.ts';
import { createQueue, dequeue, enqueue, queueAt } from '../../lib/queue.ts';
import { utf8Size } from '../../lib/utf8.ts';
import type { Env, Outbox } from '../../lib/world.ts';
import { BATCH_HEADER_BYTES } from '../../protocol/batch.ts';
import { ErrorCode } from '../../protocol/errors.ts';
import type { OffsetCommitRequest } from '../../protocol/messages/08-offset-commit.ts';
import { partitionName } from '../checkpoints/files.ts';
import { mayBeContradicted } from '../partitions/contact.ts';
import { say } from '../say.ts';
import type { Node, Partition } from '../state.ts';
import { endCall } from './calls.ts';
import { batchBytesMaxOf, journalOf, roomOf } from './journal.ts';
import { advanceLoad, beginLoading, endLoading } from './loading.ts';
import { OFFSETS_TOPIC } from './names.ts';
import { refusalOf } from './refusals.ts';
import type { Awaiting, ClientCall, GroupHost, Waiting } from './state.ts';

/** What a host does by itself is tried again after this while its log has no room, ms. */
const RETRY_MS = 500;
/** Batches that there must be room for before a call is handled: one decision is few. */
const ROOM_MIN = 64;

/** Bytes of a committed offset in a batch beside the names of its group and topic and its text, at most. */
const COMMIT_OVERHEAD_BYTES_MAX = 96;
/** The longest name of a topic. */
const NAME_BYTES_MAX = 249;

/** Calls whose answer may need a record. */
const WRITING: ReadonlySet<ClientCallKind> = new Set<ClientCallKind>([
  'joinGroup',
  'syncGroup',
  'leaveGroup',
  'offsetCommit',
  'offsetDelete',
  'deleteGroup',
  'consumerGroupHeartbeat',
]);

/** This node leads a partition, perhaps under a newer epoch: if it is one of groups, they are served here. */
export function leadGroups(node: Node, env: Env, partition: Partition, out: Outbox): void {
  if (partition.topic.name !== OFFSETS_TOPIC) return;
  const { host } = partition;
  if (host !== null && host.stage !== 'failed') return;
  if (host !== null) dropHost(node, host);
  makeHost(node, env, partition, out);
}

function makeHost(node: Node, env: Env, partition: Partition, out: Outbox): void {
  const host: GroupHost = {
    kind: 'groupHost',
    deadlineMs: Number.POSITIVE_INFINITY,
    heapIndex: -1,
    partition,
    coordinator: createCoordinator(),
    stage: 'loading',
    load: null,
    waiters: new Map(),
    awaiting: createQueue(),
    overCount: 0,
    deletedTopics: [],
    notBeforeMs: Number.NEGATIVE_INFINITY,
    checkedTo: 0,
  };
  partition.host = host;
  node.groups.hosts.add(host);
  beginLoading(node, env, host, out);
}

/** The groups of a partition are not served here any more. */
export function dropHost(node: Node, host: GroupHost): void {
  const { partition } = host;
  assert(partition.host === host, 'a host is dropped once');
  host.stage = 'gone';
  endLoading(node, host);
  host.load = null;
  partition.host = null;
  node.groups.hosts.delete(host);
  setDeadline(node.deadlines, host, Number.POSITIVE_INFINITY);
  refuseWaiting(node, host, ErrorCode.NOT_COORDINATOR);
}

/** The groups of all partitions are not served here any more. */
export function dropHosts(node: Node): void {
  for (const host of node.groups.hosts) dropHost(node, host);
}

/** What a host knows is not what its log holds: it begins again with the log. */
export function reloadHost(node: Node, env: Env, host: GroupHost, out: Outbox): void {
  const { partition } = host;
  env.reached('broker.groups_reloaded');
  dropHost(node, host);
  if (partition.leader.epoch >= 0) makeHost(node, env, partition, out);
}

/** Everyone who waits for this host hears of an error now. */
export function refuseWaiting(node: Node, host: GroupHost, error: ErrorCode): void {
  for (const waiter of host.waiters.keys()) refuseOne(node, host, waiter, error);
}

/** False where nobody waits under that number any more. */
function refuseOne(node: Node, host: GroupHost, waiter: number, error: ErrorCode): boolean {
  const waiting = takeWaiter(node, host, waiter);
  if (waiting !== null) endCall(node, waiting, refusalOf(waiting.call, error));
  return waiting !== null;
}

/** Whoever waits under a number, and does so no more; null for nobody, as whose client has gone. */
function takeWaiter({ groups }: Node, { waiters }: GroupHost, waiter: number): Waiting | null {
  const waiting = waiters.get(waiter) ?? null;
  if (waiters.delete(waiter)) groups.waitersCount -= 1;
  return waiting;
}

/** Why a call is not taken now; NONE if it is. */
function refusalNow(node: Node, env: Env, host: GroupHost, call: ClientCall): ErrorCode {
  const { partition, coordinator } = host;
  const { kind } = call;
  if (host.stage === 'loading') return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS;
  const isCoordinator = host.stage === 'active' && !mayBeContradicted(node, env.nowMs, partition.leader);
  if (!isCoordinator) return ErrorCode.NOT_COORDINATOR;
  if (coordinator.parked.size >= PARKED_MAX) return ErrorCode.COORDINATOR_NOT_AVAILABLE;
  if (kind === 'offsetCommit' && commitBytes(call.body) > batchBytesMaxOf(partition)) {
    return ErrorCode.UNKNOWN_SERVER_ERROR;
  }
  return WRITING.has(kind) && !hasRoom(host) ? ErrorCode.COORDINATOR_NOT_AVAILABLE : ErrorCode.NONE;
}

/** The bytes of the batch that a commit becomes, at most: it must be one. */
function commitBytes({ groupId, topics }: OffsetCommitRequest): number {
  const groupBytes = utf8Size(groupId);
  let sizeBytes = BATCH_HEADER_BYTES;
  for (const { name, partitions } of topics) {
    // Where it goes by its id its name is as long as it may be.
    const nameBytes = name === '' ? NAME_BYTES_MAX : utf8Size(name);
    sizeBytes += partitions.length * (COMMIT_OVERHEAD_BYTES_MAX + groupBytes + nameBytes);
    for (const { committedMetadata } of partitions) sizeBytes += utf8Size(committedMetadata ?? '');
  }
  return sizeBytes;
}

function hasRoom({ partition, coordinator }: GroupHost): boolean {
  return roomOf(partition) >= ROOM_MIN && coordinator.parked.size < PARKED_MAX;
}

/** A call for the groups of this host: it is answered in this step or later, once. */
export function submitCall(node: Node, env: Env, host: GroupHost, waiting: Waiting, uuid: string, out: Outbox): void {
  const { call, gather } = waiting;
  const refused = refusalNow(node, env, host, call);
  if (refused !== ErrorCode.NONE) {
    endCall(node, waiting, refusalOf(call, refused));
    return;
  }
  const { groups } = node;
  groups.lastWaiter += 1;
  groups.waitersCount += 1;
  const waiter = groups.lastWaiter;
  host.waiters.set(waiter, waiting);
  gather.at.push({ host, waiter });
  decide(node, env, host, waiter, uuid, call, out);
  remind(node, env, host);
}

/** Lets the machine decide; its answers leave once nothing that they saw or did is uncommitted. */
function decide(
  node: Node,
  env: Env,
  host: GroupHost,
  waiter: number,
  uuid: string,
  call: GroupCall,
  out: Outbox,
): void {
  const { coordinator, partition } = host;
  const { image, config } = node;
  const request = {
    waiter,
    wallMs: env.wallMs,
    uuid,
    image,
    compilePattern: env.compilePattern ?? understandsNone,
    call,
  };
  const awaiting: Awaiting = { untilMs: env.nowMs + config['offsets.commit.timeout.ms'], answers: [] };
  const submission = submit(coordinator, GROUP_MACHINE, env, journalOf(node, env, partition, out), request, awaiting);
  if (submission.kind === 'answered') {
    deliver(node, host, submission.response);
  } else if (submission.kind === 'parked') {
    awaiting.answers = submission.response;
    enqueue(host.awaiting, awaiting);
  } else {
    giveBack(node, env, host, waiter, submission.reason, out);
  }
}

function understandsNone(): TopicPattern | null {
  return null;
}

/** A decision was made that the log does not take. */
function giveBack(node: Node, env: Env, host: GroupHost, waiter: number, reason: string, out: Outbox): void {
  const fields = new Map([
    ['partition', partitionName(host.partition.topic.name, host.partition.index)],
    ['reason', reason],
  ]);
  say(out, 'error', 'a change of a group cannot be written; its coordinator begins again', fields);
  const isTooLarge = reason === 'tooLarge';
  refuseOne(node, host, waiter, isTooLarge ? ErrorCode.UNKNOWN_SERVER_ERROR : ErrorCode.COORDINATOR_NOT_AVAILABLE);
  reloadHost(node, env, host, out);
}

/** Answers that may leave. */
function deliver(node: Node, host: GroupHost, answers: readonly GroupAnswer[]): void {
  for (const { waiter, body } of answers) {
    const waiting = takeWaiter(node, host, waiter);
    if (waiting !== null) endCall(node, waiting, body);
  }
}

/** The high watermark of a host's partition has moved. */
export function groupsCommitted(node: Node, host: GroupHost): void {
  if (host.stage !== 'active') return;
  const events: CoordinatorEvent<GroupShapes, Awaiting>[] = [];
  commitTo(host.coordinator, host.partition.leader.highWatermark, events);
  for (const event of events) {
    if (event.kind !== 'answered') continue;
    assert(dequeue(host.awaiting) === event.waiter, 'answers wait in the order of their records');
    if (host.overCount > 0) host.overCount -= 1;
    deliver(node, host, event.waiter.answers);
  }
}

/** The deadline of a host has come, or might have. */
export function wakeHost(node: Node, env: Env, host: GroupHost, out: Outbox): void {
  if (host.stage === 'loading') advanceLoad(node, env, host, out);
  if (host.stage !== 'active') return;
  giveUp(node, env, host);
  if (env.nowMs >= host.notBeforeMs) actAlone(node, env, host, out);
  remind(node, env, host);
}

/** Whoever waits for replicas too long waits no more; what was appended may be committed later. */
function giveUp(node: Node, env: Env, host: GroupHost): void {
  const { awaiting } = host;
  for (; host.overCount < awaiting.size; host.overCount++) {
    const { untilMs, answers } = queueAt(awaiting, host.overCount);
    if (untilMs > env.nowMs) break;
    for (const { waiter } of answers) {
      const wasWaiting = refuseOne(node, host, waiter, ErrorCode.COORDINATOR_NOT_AVAILABLE);
      if (wasWaiting) env.reached('broker.group_commit_timed_out');
    }
  }
}

/** What the machine does without being asked. */
function actAlone(node: Node, env: Env, host: GroupHost, out: Outbox): void {
  if (!isDue(env, host)) return;
  if (!hasRoom(host)) {
    host.notBeforeMs = env.nowMs + RETRY_MS;
    return;
  }
  if (isTopicsDue(host)) {
    const { deletedTopics } = host;
    host.deletedTopics = [];
    decide(node, env, host, -1, '', { kind: 'topicsDeleted', topics: deletedTopics }, out);
  }
  const isStill = host.stage === 'active';
  if (isStill && groupDeadlineMs(stateOf(host)) <= env.nowMs) decide(node, env, host, -1, '', { kind: 'tick' }, out);
}

function isDue(env: Env, host: GroupHost): boolean {
  return isTopicsDue(host) || groupDeadlineMs(stateOf(host)) <= env.nowMs;
}

/** Whether the machine is to be told of topics that went. */
function isTopicsDue({ deletedTopics }: GroupHost): boolean {
  return deletedTopics === null || deletedTopics.length > 0;
}

function stateOf({ coordinator }: GroupHost): GroupState {
  const { state } = coordinator;
  assert(state !== null, 'an active coordinator has a state');
  return state;
}

/** Gives the heap the next deadline of a host. */
export function remind(node: Node, env: Env, host: GroupHost): void {
  if (host.stage !== 'active') return;
  const { awaiting, overCount, notBeforeMs } = host;
  const aloneMs = isTopicsDue(host) ? env.nowMs : groupDeadlineMs(stateOf(host));
  const waitMs = overCount < awaiting.size ? queueAt(awaiting, overCount).untilMs : Number.POSITIVE_INFINITY;
  setDeadline(node.deadlines, host, Math.min(waitMs, Math.max(aloneMs, notBeforeMs, env.nowMs + 1)));
}
