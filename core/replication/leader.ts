/**
 * One partition that this node leads: it orders batches, knows how far they are committed, and says when a producer may
 * be answered.
 *
 * Theory of operation, of a partition and its replicas. The controller lets one of them lead, under a leader epoch that
 * no other life of a node ever has. That one appends; the others fetch from it, append the bytes as they came and sync
 * them, and where a follower fetches from, up to there it has synced. What every replica of the in-sync set has synced
 * is committed: the high watermark stands behind it, and readers see no further. The controller elects from that set
 * only, and only the controller changes it, so whoever leads has all that was committed before. What a former leader
 * alone had never was: when it follows, the leader epochs of both logs tell where they part, and it cuts its own there.
 *
 * Where to read on:
 * - `in-sync.ts`: who counts for the high watermark. `alter-partition.ts`: how the controller is asked for another set.
 * - `serve.ts`: what a leader says to a Fetch. `fetcher.ts`, `fetch-answers.ts`: how a follower fetches.
 * - `followed.ts`: one partition that is followed, and how its log is cut or begun anew.
 *
 * With this node as the only replica the high watermark is `log.durable`. A producer that asked for acks=1 is answered
 * when the batch is durable here (with flush off: written), one that asked for acks=-1 when the high watermark has
 * passed it. A crash forgets all of this; producers see a broken connection and ask again.
 */
import { assert } from '../lib/assert.ts';
import { createQueue, dequeue, enqueue, peek, type Queue, queueAt, sift } from '../lib/queue.ts';
import type { Env, Outbox } from '../lib/world.ts';
import { appendAsLeader, appendOwn, assignEpoch, type Log } from '../log/log.ts';
import type { AppendOutcome, RecordFault } from '../log/types.ts';
import { ErrorCode } from '../protocol/errors.ts';
import {
  type BrokerStates,
  checkInSync,
  committedEnd,
  createInSync,
  type InSync,
  noteGrowth,
  type PartitionState,
  takeState,
  wantedInSync,
  wantsToGrow,
  wantsToShrink,
} from './in-sync.ts';

/** How many appends of one partition may be under way; one more is refused, to be tried again. */
export const APPENDS_MAX = 65_536;

/** Whoever waits for answers, perhaps from several partitions: a Produce request. */
export interface Waiter {
  /** The partitions that have not answered. At 0 the waiter is pushed into `finished`. */
  remaining: number;
}

/** What a partition answers to one batch: the fields of ProduceResponse that a leader fills in. */
export interface ProduceAnswer {
  errorCode: number;
  errorMessage: string | null;
  recordErrors: readonly RecordFault[];
  baseOffset: number;
  logAppendTimeMs: number;
  logStartOffset: number;
}

/** One batch that is in the log but not yet below the high watermark. */
interface Append<W extends Waiter> {
  readonly nextOffset: number;
  readonly sizeBytes: number;
  /** Null once it is answered, or when nobody waits. Both are null, or neither. */
  waiter: W | null;
  answer: ProduceAnswer | null;
  readonly untilMs: number;
  /** Its producer waits for all replicas in sync. */
  readonly isAll: boolean;
}

/** An append that nobody waits for here. */
const BY_NOBODY = { waiter: null, answer: null, untilMs: Number.POSITIVE_INFINITY, isAll: true } as const;

/** The state of a partition that this node leads. */
export interface Leader<W extends Waiter> {
  readonly log: Log;
  /** Ascends; two lives of a node never have the same. -1 while this node does not lead. */
  epoch: number;
  /** Readers see records below it, so it never goes back. `highWatermark <= log.durable`. */
  highWatermark: number;
  /** min.insync.replicas: an append with acks=-1 is refused when fewer are in sync of the replicas that there are. */
  inSyncMin: number;
  /** The other replicas; null where there are none, or while this node does not lead. */
  inSync: InSync | null;
  /** This node, and replica.lag.time.max.ms: as they were when it took the lead. */
  self: number;
  lagMaxMs: number;
  /** Where its log ended then. */
  epochStart: number;
  /** Every append above the high watermark, in the order of appends; at most APPENDS_MAX. */
  readonly appends: Queue<Append<W>>;
  /** The appends with acks=1 that are not durable yet; each is in `appends` too. */
  readonly unsynced: Queue<Append<W>>;
  /** Bytes of batches that have passed the high watermark in this life. */
  committedBytes: number;
  /** No waiter runs out of time before this; a lower bound, Infinity when nobody waits. */
  expiryMs: number;
}

/** A leader of a log that is not open yet. */
export function createLeader<W extends Waiter>(log: Log, inSyncMin: number): Leader<W> {
  return {
    log,
    epoch: -1,
    highWatermark: 0,
    inSyncMin,
    inSync: null,
    self: -1,
    lagMaxMs: 0,
    epochStart: 0,
    appends: createQueue(),
    unsynced: createQueue(),
    committedBytes: 0,
    expiryMs: Number.POSITIVE_INFINITY,
  };
}

/** What a leader has to know when it begins. */
export interface Lead {
  readonly self: number;
  readonly state: PartitionState;
  readonly lagMaxMs: number;
  readonly nowMs: number;
}

/**
 * Takes the lead of an open log under the epoch that the controller gave, or goes on under a newer one. What this node
 * knew to be committed, as a follower or from its checkpoint, is the high watermark already. False where the log claims
 * a later epoch than the controller ever gave: its batches are damaged, or not of this cluster. Then that epoch is
 * forgotten.
 */
export function takeLead<W extends Waiter>(leader: Leader<W>, { self, state, lagMaxMs, nowMs }: Lead): boolean {
  const { log } = leader;
  const { leaderEpoch: epoch, replicas } = state;
  assert(epoch > leader.epoch, 'the epochs of a leader ascend');
  assert(log.truncation === null, 'a log that is being cut is not led');
  const isAlone = replicas.length === 1;
  if (isAlone && leader.epoch < 0) leader.highWatermark = Math.max(leader.highWatermark, log.durable);
  leader.inSync = isAlone ? null : createInSync(self, state, log.end, nowMs, lagMaxMs);
  leader.self = self;
  leader.lagMaxMs = lagMaxMs;
  leader.epochStart = log.end;
  leader.epoch = epoch;
  return assignEpoch(log, epoch, log.end);
}

/**
 * A later word of the controller about the replicas under this leader's epoch: who is in sync, and who has come. False
 * when it says nothing new.
 */
export function takePartitionState<W extends Waiter>(
  leader: Leader<W>,
  env: Env,
  state: PartitionState,
  finished: W[],
): boolean {
  const { inSync, self, epochStart, lagMaxMs } = leader;
  if (state.leaderEpoch !== leader.epoch || !state.isr.includes(self)) return false;
  if (inSync === null) {
    if (state.replicas.length === 1) return false;
    env.reached('replication.first_follower');
    leader.inSync = createInSync(self, state, epochStart, env.nowMs, lagMaxMs);
  } else if (!takeState(inSync, state, env.nowMs)) return false;
  if (isShort(leader)) failTooFew(leader, env, finished);
  return true;
}

/** Whether fewer replicas are in sync than acks=all wants; one that is alone is all that there are. */
export function isShort<W extends Waiter>({ inSync, inSyncMin }: Leader<W>): boolean {
  return inSync !== null && inSync.isr.length < wantedInSync(inSync, inSyncMin);
}

/** What so few hold does not count as committed: who waits for all is told, and may try again. */
function failTooFew<W extends Waiter>(leader: Leader<W>, env: Env, finished: W[]): void {
  const { appends } = leader;
  const text = 'the in-sync set shrank below min.insync.replicas after the append';
  for (let i = 0; i < appends.size; i++) {
    const append = queueAt(appends, i);
    if (!append.isAll || append.waiter === null) continue;
    env.reached('replication.too_few_after_append');
    fail(append, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, text, finished);
  }
}

/** Everyone who waits is told `error` now. The batches stay in the log, and may be committed later. */
export function failWaiting<W extends Waiter>(
  { appends }: Leader<W>,
  error: ErrorCode,
  message: string,
  finished: W[],
): void {
  for (let i = 0; i < appends.size; i++) fail(queueAt(appends, i), error, message, finished);
}

/**
 * The in-sync set to propose to the controller; null for none. To be asked when the partition was touched, when its
 * deadline has come, and, for partitions that lack replicas, when the metadata of brokers has changed.
 */
export function wantedChange<W extends Waiter>(
  leader: Leader<W>,
  brokers: BrokerStates,
  nowMs: number,
): readonly number[] | null {
  const { inSync, log, highWatermark } = leader;
  if (inSync === null) return null;
  inSync.logStart = log.start;
  return wantsToShrink(inSync, log.end, nowMs) ?? wantsToGrow(inSync, brokers, highWatermark, log.end, nowMs);
}

/** When the leader next has something to do by itself, `env.nowMs`. */
export function leaderDeadlineMs<W extends Waiter>({ expiryMs, inSync }: Leader<W>): number {
  if (inSync === null) return expiryMs;
  const growMs = inSync.growMs === Number.NEGATIVE_INFINITY ? Number.POSITIVE_INFINITY : inSync.growMs;
  return Math.min(expiryMs, inSync.lagMs, inSync.joinMs, growMs);
}

/** Leads no more: everyone who waits is told to ask the new leader. */
export function loseLead<W extends Waiter>(leader: Leader<W>, finished: W[]): void {
  failAll(leader, ErrorCode.NOT_LEADER_OR_FOLLOWER, 'this node leads the partition no more', finished);
  leader.epoch = -1;
  leader.inSync = null;
}

/** What a Produce request asks of one partition. */
export interface AppendRequest<W extends Waiter> {
  readonly records: Uint8Array;
  readonly acks: number;
  readonly untilMs: number;
  readonly waiter: W;
  readonly answer: ProduceAnswer;
}

/**
 * Appends one batch. True when `request.answer` is complete at once; false when it will be once the batch is durable
 * or committed: then `waiter.remaining` has been raised by one.
 */
export function appendToLeader<W extends Waiter>(
  leader: Leader<W>,
  env: Env,
  request: AppendRequest<W>,
  out: Outbox,
): boolean {
  const { acks, answer, waiter, untilMs, records } = request;
  if (leader.epoch < 0) return refuse(answer, ErrorCode.NOT_LEADER_OR_FOLLOWER, null);
  if (acks === -1 && isShort(leader)) {
    env.reached('replication.too_few');
    return refuse(answer, ErrorCode.NOT_ENOUGH_REPLICAS, null);
  }
  if (leader.appends.size >= APPENDS_MAX) {
    return refuse(answer, ErrorCode.REQUEST_TIMED_OUT, 'too many batches of this partition wait for the disk');
  }
  const endBefore = leader.log.end;
  const outcome = appendAsLeader(leader.log, env, records, leader.epoch, out);
  if (leader.inSync !== null && leader.log.end > endBefore) noteGrowth(leader.inSync, endBefore, env.nowMs);
  if (outcome.error !== ErrorCode.NONE) {
    answer.recordErrors = outcome.faults;
    return refuse(answer, outcome.error, outcome.message);
  }
  answer.baseOffset = outcome.baseOffset;
  answer.logAppendTimeMs = outcome.logAppendTimeMs;
  answer.logStartOffset = leader.log.start;
  const reached = acks === -1 ? leader.highWatermark : leader.log.durable;
  const waits = acks !== 0 && outcome.nextOffset > reached;
  if (outcome.nextOffset > leader.highWatermark) {
    const append: Append<W> = {
      nextOffset: outcome.nextOffset,
      sizeBytes: outcome.duplicate ? 0 : records.length,
      waiter: waits ? waiter : null,
      answer: waits ? answer : null,
      untilMs,
      isAll: acks === -1,
    };
    enqueue(leader.appends, append);
    if (waits && acks !== -1) enqueue(leader.unsynced, append);
  }
  if (!waits) return true;
  waiter.remaining += 1;
  if (untilMs < leader.expiryMs) leader.expiryMs = untilMs;
  return false;
}

/**
 * Appends one batch that this node itself made and nobody waits for here; the log must have room. It is committed once
 * the high watermark is at or above the offset behind it.
 */
export function appendOwnToLeader<W extends Waiter>(
  leader: Leader<W>,
  env: Env,
  records: Uint8Array,
  out: Outbox,
): AppendOutcome {
  const { log, epoch, inSync, appends } = leader;
  const endBefore = log.end;
  const outcome = appendOwn(log, env, records, epoch, out);
  if (inSync !== null) noteGrowth(inSync, endBefore, env.nowMs);
  enqueue(appends, { nextOffset: outcome.nextOffset, sizeBytes: records.length, ...BY_NOBODY });
  return outcome;
}

/**
 * The log's durable end, or a follower, has moved: raises the high watermark and answers those whom it has passed.
 * Returns the bytes that became visible; waiters with nothing left to wait for are pushed into `finished`. `brokers`
 * and `nowMs` matter where there are other replicas.
 */
export function advance<W extends Waiter>(
  leader: Leader<W>,
  finished: W[],
  brokers: BrokerStates,
  nowMs: number,
): number {
  const { log, appends, unsynced } = leader;
  while (unsynced.size > 0 && queueAt(unsynced, 0).nextOffset <= log.durable) {
    settle(dequeue(unsynced) as Append<W>, finished);
  }
  const end = reachedEnd(leader, brokers, nowMs);
  if (end <= leader.highWatermark) return 0;
  leader.highWatermark = end;
  let sizeBytes = 0;
  for (let first = peek(appends); first !== undefined; first = peek(appends)) {
    // A duplicate of an append that is still under way stands behind later ones; it waits for them, which is safe.
    if (first.nextOffset > leader.highWatermark) break;
    dequeue(appends);
    sizeBytes += first.sizeBytes;
    settle(first, finished);
  }
  leader.committedBytes += sizeBytes;
  return sizeBytes;
}

function reachedEnd<W extends Waiter>(leader: Leader<W>, brokers: BrokerStates, nowMs: number): number {
  const { log, inSync, inSyncMin } = leader;
  if (inSync === null) return log.durable;
  return committedEnd(inSync, brokers, log.durable, log.end, wantedInSync(inSync, inSyncMin), nowMs);
}

/** The appends from `offset` on did not happen: their producers are told so. */
export function cutBack<W extends Waiter>(leader: Leader<W>, offset: number, finished: W[]): void {
  assert(offset >= leader.highWatermark, 'records that were shown are never cut');
  sift(leader.unsynced, (append) => append.nextOffset <= offset);
  const cut = sift(leader.appends, (append) => append.nextOffset <= offset);
  for (const append of cut) fail(append, ErrorCode.KAFKA_STORAGE_ERROR, 'the disk did not take the batch', finished);
}

/** The disk is not to be trusted again, or the lead is lost: everyone who waits is told `error`. */
export function failAll<W extends Waiter>(leader: Leader<W>, error: ErrorCode, message: string, finished: W[]): void {
  sift(leader.unsynced, () => false);
  for (const append of sift(leader.appends, () => false)) fail(append, error, message, finished);
}

/** Answers those whose time is over. The batch stays in the log and may be committed later. */
export function expire<W extends Waiter>(leader: Leader<W>, nowMs: number, finished: W[]): void {
  if (nowMs < leader.expiryMs) return;
  leader.expiryMs = Number.POSITIVE_INFINITY;
  for (let i = 0; i < leader.appends.size; i++) {
    const append = queueAt(leader.appends, i);
    if (append.waiter === null) continue;
    if (append.untilMs <= nowMs) {
      fail(append, ErrorCode.REQUEST_TIMED_OUT, 'the batch was not confirmed in time', finished);
    } else if (append.untilMs < leader.expiryMs) {
      leader.expiryMs = append.untilMs;
    }
  }
}

/** Throws AssertionError if an invariant is broken. */
export function checkLeader<W extends Waiter>(leader: Leader<W>): void {
  const { log, highWatermark, appends } = leader;
  if (leader.epoch < 0) return;
  assert(highWatermark <= log.durable, 'records were shown before they were durable');
  assert(log.durable <= log.end, 'durable lies beyond the end');
  const first = peek(appends);
  assert(first === undefined || first.nextOffset > highWatermark, 'a committed batch still waits');
  if (leader.inSync !== null) checkInSync(leader.inSync, highWatermark);
  assert(leader.unsynced.size <= appends.size, 'an append waits for the disk but is not known');
}

function refuse(answer: ProduceAnswer, error: number, message: string | null): true {
  answer.errorCode = error;
  answer.errorMessage = message;
  answer.baseOffset = -1;
  answer.logAppendTimeMs = -1;
  answer.logStartOffset = -1;
  return true;
}

function settle<W extends Waiter>(append: Append<W>, finished: W[]): void {
  const { waiter } = append;
  if (waiter === null) return;
  append.waiter = null;
  append.answer = null;
  assert(waiter.remaining > 0, 'a waiter was answered more often than it asked');
  waiter.remaining -= 1;
  if (waiter.remaining === 0) finished.push(waiter);
}

function fail<W extends Waiter>(append: Append<W>, error: number, message: string, finished: W[]): void {
  if (append.answer !== null) refuse(append.answer, error, message);
  settle(append, finished);
}
