/**
 * An administrator: questions go in by ticket, and every ticket gets exactly one event.
 *
 * A question is asked again while its time lasts and its attempts are not used up, after a connection that was lost and
 * after errors that say 'again'. An attempt that nobody answered, or that was answered by an error behind which the
 * change may stand all the same, is counted in `unsureAttempts`: unless that is 0, the change may have been made, or be
 * made yet, once for each, whatever the last answer says. That a topic exists already may then be one's own doing.
 *
 * Not done: any broker is asked, which is right in a cluster of one; leaders and the controller are not looked for.
 * A crash loses the administrator; questions without an event may have been carried out.
 */
import { backoffMs } from '../channel/backoff.ts';
import type { Address, Answer, ChannelEvent, Peer } from '../channel/channel.ts';
import { assert } from '../lib/assert.ts';
import { type Ids, nextTicket } from '../lib/ids.ts';
import type { Env, NetworkInput, Outbox } from '../lib/world.ts';
import { ErrorCode, errorInfo } from '../protocol/errors.ts';
import { type AdminRequest, type AdminResult, callAdmin, isChange, readAnswer } from './admin-calls.ts';
import {
  type Cluster,
  checkCluster,
  closeCluster,
  clusterDeadlineMs,
  createCluster,
  driveCluster,
  findPeer,
  openAnother,
  stepCluster,
} from './cluster.ts';
import { doubtsLeader } from './outcomes.ts';

/** How an administrator behaves; all of it plain data. */
export interface AdminOptions {
  readonly clientId: string;
  /** Shared by all machines of one node or client process. */
  readonly ids: Ids;
  readonly bootstrap: readonly Address[];
  /** Of one attempt. */
  readonly requestTimeoutMs: number;
  /** From the question to the event, at most. */
  readonly timeoutMs: number;
  /** Attempts of one question, at most. */
  readonly attemptsMax: number;
  readonly retryBackoffMs: number;
  /** An unsigned 32-bit integer: jitter of back-offs. */
  readonly seed: number;
}

/** What became of a question. */
export interface AdminEvent {
  readonly ticket: number;
  readonly request: AdminRequest;
  /** A Kafka error code: NONE where it was done, NETWORK_EXCEPTION where nobody answered in time. */
  readonly error: number;
  readonly message: string;
  readonly result: AdminResult;
  /** Attempts of which nobody knows whether they were, or will be, carried out. */
  readonly unsureAttempts: number;
  /** Those of them that nobody answered: they may be carried out later than what was asked after them. */
  readonly lostAttempts: number;
}

/** What an administrator is told. */
export type AdminInput = NetworkInput | { readonly kind: 'wake' };

interface Task {
  readonly ticket: number;
  readonly request: AdminRequest;
  readonly untilMs: number;
  readonly attemptsMax: number;
  attempts: number;
  unsure: number;
  lost: number;
  retryAtMs: number;
  /** The call that is out; 0 for none. */
  call: number;
  /** Brokers that have said that they do not lead what it is about: the others are asked first. */
  strangers: string[];
}

/** An administrator's state: plain data. */
export interface Admin {
  readonly options: AdminOptions;
  readonly cluster: Cluster;
  /** By ticket, in the order of asking. */
  readonly tasks: Map<number, Task>;
  /** Something can be done that could not at `drivenAtMs`. */
  isDirty: boolean;
  isStopped: boolean;
  drivenAtMs: number;
}

/** The longest wait between two attempts. */
const RETRY_BACKOFF_MAX_MS = 1000;
const IN_FLIGHT_MAX = 5;

/** An administrator that has not connected yet. */
export function createAdmin(options: AdminOptions): Admin {
  assert(options.attemptsMax >= 1, 'a question is asked at least once');
  const cluster = createCluster({ ...options, inFlightMax: IN_FLIGHT_MAX, createsTopics: false });
  return { options, cluster, tasks: new Map(), isDirty: false, isStopped: false, drivenAtMs: 0 };
}

/** Takes a question: its ticket. The next step asks it, and again `attemptsMax` times in all, at most. */
export function askAdmin(
  admin: Admin,
  env: Env,
  request: AdminRequest,
  attemptsMax: number = admin.options.attemptsMax,
): number {
  const ticket = nextTicket(admin.options.ids);
  const untilMs = env.nowMs + admin.options.timeoutMs;
  const fresh = { attempts: 0, unsure: 0, lost: 0, retryAtMs: 0, call: 0, strangers: [] };
  admin.tasks.set(ticket, { ticket, request, untilMs, attemptsMax, ...fresh });
  admin.isDirty = true;
  return ticket;
}

/** Handles one input. Inputs for connections of others are ignored. */
export function stepAdmin(admin: Admin, env: Env, input: AdminInput, out: Outbox, events: AdminEvent[]): void {
  admin.isDirty = false;
  if (admin.isStopped) return;
  const told: ChannelEvent[] = [];
  stepCluster(admin.cluster, env, input, out, told);
  for (const event of told) {
    if (event.kind !== 'answered' && event.kind !== 'lost') continue;
    const task = taskOf(admin, event.ticket);
    if (task === undefined) continue;
    task.call = 0;
    if (event.kind === 'answered') takeAnswer(admin, env, task, event, out, events);
    else {
      if (isChange(task.request)) task.lost += 1;
      again(admin, env, task, ErrorCode.NETWORK_EXCEPTION, true, events);
    }
  }
  drive(admin, env, out, events);
}

function taskOf(admin: Admin, call: number): Task | undefined {
  for (const task of admin.tasks.values()) if (task.call === call) return task;
  return undefined;
}

function takeAnswer(admin: Admin, env: Env, task: Task, event: Answer, out: Outbox, events: AdminEvent[]): void {
  const { error, message, result } = readAnswer(task.request, event);
  if (isWorthAgain(error)) {
    // Questions go to brokers in turn: the one that leads may not be among those that are up.
    if (doubtsLeader(error)) {
      task.strangers.push(event.peer);
      openAnother(admin.cluster, env, out);
    }
    again(admin, env, task, error, isDoubtful(error), events);
    return;
  }
  if (isDoubtful(error) && isChange(task.request)) task.unsure += 1;
  finish(admin, task, { error, message: message ?? errorInfo(error).message, result }, events);
}

/** That there is no such topic is an answer here, not an error of the moment. */
function isWorthAgain(error: number): boolean {
  if (error === ErrorCode.UNKNOWN_TOPIC_OR_PARTITION || error === ErrorCode.UNKNOWN_TOPIC_ID) return false;
  return errorInfo(error).retriable;
}

/** Errors behind which the change may stand: somebody lost the lead, time ran out, a file failed at its end. */
function isDoubtful(error: number): boolean {
  return (
    error === ErrorCode.REQUEST_TIMED_OUT ||
    error === ErrorCode.NOT_CONTROLLER ||
    // A start that is written down waits for other replicas, and the lead may go meanwhile.
    error === ErrorCode.NOT_LEADER_OR_FOLLOWER ||
    error === ErrorCode.NOT_COORDINATOR ||
    error === ErrorCode.COORDINATOR_NOT_AVAILABLE ||
    error === ErrorCode.KAFKA_STORAGE_ERROR ||
    error === ErrorCode.UNKNOWN_SERVER_ERROR ||
    error === ErrorCode.NETWORK_EXCEPTION
  );
}

function again(admin: Admin, env: Env, task: Task, error: number, isUnsure: boolean, events: AdminEvent[]): void {
  if (isUnsure && isChange(task.request)) task.unsure += 1;
  const waitMs = backoffMs(admin.cluster.channel, task.attempts, admin.options.retryBackoffMs, RETRY_BACKOFF_MAX_MS);
  task.retryAtMs = env.nowMs + waitMs;
  if (task.attempts < task.attemptsMax && task.retryAtMs < task.untilMs) return;
  finish(admin, task, { error, message: errorInfo(error).message, result: {} }, events);
}

function finish(
  admin: Admin,
  task: Task,
  outcome: { readonly error: number; readonly message: string; readonly result: AdminResult },
  events: AdminEvent[],
): void {
  const { ticket, request, unsure, lost } = task;
  admin.tasks.delete(ticket);
  events.push({ ticket, request, ...outcome, unsureAttempts: unsure, lostAttempts: lost });
}

/** Asks all that may be asked now. */
function drive(admin: Admin, env: Env, out: Outbox, events: AdminEvent[]): void {
  admin.drivenAtMs = env.nowMs;
  const { cluster, options } = admin;
  for (const task of [...admin.tasks.values()]) {
    // A call that is out ends by its own time; its connection goes with it.
    if (task.call !== 0) continue;
    if (task.untilMs <= env.nowMs) {
      const error = ErrorCode.NETWORK_EXCEPTION;
      finish(admin, task, { error, message: errorInfo(error).message, result: {} }, events);
      continue;
    }
    if (task.retryAtMs > env.nowMs) continue;
    const peer = peerFor(admin, env, task, out);
    if (peer === null) continue;
    task.attempts += 1;
    task.call = callAdmin(cluster.channel, env, peer.key, task.request, options.requestTimeoutMs, out);
    if (task.call >= 0) continue;
    const error = ErrorCode.UNSUPPORTED_VERSION;
    finish(admin, task, { error, message: errorInfo(error).message, result: {} }, events);
  }
  if (admin.tasks.size > 0) driveCluster(cluster, env, out);
}

/** A broker that has not been found to lead nothing here; where no other is up, they all are asked once more. */
function peerFor({ cluster }: Admin, env: Env, task: Task, out: Outbox): Peer | null {
  const peer = findPeer(cluster, env, out, task.strangers);
  if (peer !== null || task.strangers.length === 0) return peer;
  task.strangers = [];
  return findPeer(cluster, env, out);
}

/** Ends: connections are closed and every open question comes to its event. */
export function stopAdmin(admin: Admin, out: Outbox, events: AdminEvent[]): void {
  if (admin.isStopped) return;
  admin.isStopped = true;
  closeCluster(admin.cluster, out, []);
  const error = ErrorCode.NETWORK_EXCEPTION;
  for (const task of [...admin.tasks.values()]) {
    if (task.call !== 0 && isChange(task.request)) {
      task.unsure += 1;
      task.lost += 1;
    }
    finish(admin, task, { error, message: 'the administrator was stopped', result: {} }, events);
  }
}

/** When the administrator next wants a 'wake', on the monotonic clock; Infinity for never. */
export function adminDeadlineMs(admin: Admin): number {
  if (admin.isStopped) return Number.POSITIVE_INFINITY;
  if (admin.isDirty) return admin.drivenAtMs;
  let deadlineMs = clusterDeadlineMs(admin.cluster);
  for (const { call, retryAtMs, untilMs } of admin.tasks.values()) {
    if (call !== 0) continue;
    deadlineMs = Math.min(deadlineMs, untilMs);
    if (retryAtMs > admin.drivenAtMs) deadlineMs = Math.min(deadlineMs, retryAtMs);
  }
  return admin.tasks.size === 0 ? Number.POSITIVE_INFINITY : deadlineMs;
}

/** True between any two steps. */
export function checkAdmin(admin: Admin): void {
  checkCluster(admin.cluster);
  for (const [ticket, task] of admin.tasks) {
    assert(task.ticket === ticket, 'a question is filed under another ticket');
    assert(task.unsure <= task.attempts, 'more attempts are in doubt than were made');
    assert(task.attempts <= task.attemptsMax, 'a question was asked too often');
  }
}
