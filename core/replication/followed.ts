/**
 * One partition that this node follows: where it stands, and how its log is brought onto the leader's history.
 *
 * Stages: ready (to be listed in a fetch) → syncing (what a fetch brought is on its way to the disk) → ready; or
 * lowering (the owner lowers its checkpoints) → cutting (the log cuts its tail) → ready; or asking (out of range:
 * where does the leader's log begin and end?) → one of the above; or waiting (for a later try, or for its rate). While
 * it is not ready the partition is out of the fetch session, so that a slow disk holds back nobody else.
 *
 * A diverging log is cut before the watermark of the leader is believed (KAFKA-14704).
 */

import type { Outbox } from '../lib/world.ts';
import type { Log } from '../log/log.ts';
import { endOffsetForEpoch, keepTail } from '../log/log.ts';

/** The state of a partition that this node follows. */
export interface Followed {
  /** A fetch offset is its end, and is sent when all below is synced. */
  readonly log: Log;
  readonly topicId: string;
  /** For ListOffsets, which knows topics by name. */
  readonly topic: string;
  readonly index: number;
  /** Under which it is followed; ascends. What was asked or answered under an earlier one does not count. */
  leaderEpoch: number;
  /**
   * Readers of this replica see records below it. `highWatermark <= log.durable`; it goes back only where the leader
   * has lost committed records (an unclean election).
   */
  highWatermark: number;
  /** What the leader has said last; it may lie above what is synced here. */
  leaderHighWatermark: number;
  /** Where the leader's log begins, as it has said last; -1 before it has vouched for this log (`isUnvouched`). */
  leaderStart: number;
  /** The start that the owner is writing down; -1 for none. */
  wantedStart: number;
  stage: 'ready' | 'syncing' | 'lowering' | 'cutting' | 'asking' | 'waiting';
  /** Number of the request that told the leader of this stage; 0: none has. Answers to earlier ones are not for it. */
  listedIn: number;
  /** The leader's session holds it, as far as the requests that were sent say. */
  isInSession: boolean;
  /** Where it is cut; with `isReset` nothing is kept. */
  cutTo: number;
  isReset: boolean;
  /** It is cut because what follows is damaged here, and the leader has it. */
  isMending: boolean;
  /** Its bytes are damaged and it still counts as in sync: what its epochs say is not believed, and nothing is cut. */
  standsDown: boolean;
  /** What was asked last when out of range. */
  asked: 'latest' | 'earliest';
  /**
   * Whether its bytes count for the rate of throttled replicas, and whether it has to keep that rate itself: one that
   * is in sync does not.
   */
  throttled: 'no' | 'counted' | 'bound';
  /** When a waiting one is ready again, `env.nowMs`, and how long it waits the next time. */
  retryAtMs: number;
  retryMs: number;
}

/** The shortest wait before another try, ms; doubled each time. */
export const WAIT_MS_MIN = 20;

/** What it takes to follow. */
export interface FollowOptions {
  readonly log: Log;
  readonly topicId: string;
  readonly topic: string;
  readonly index: number;
  readonly leaderEpoch: number;
  /** What this node knows to be committed: from its lead, from an earlier leader, or from its checkpoint. */
  readonly highWatermark: number;
}

/** A partition that nobody has been asked about yet. The log is open. */
export function createFollowed(options: FollowOptions): Followed {
  const { log } = options;
  return {
    ...options,
    highWatermark: Math.min(options.highWatermark, log.durable),
    leaderHighWatermark: -1,
    leaderStart: -1,
    wantedStart: -1,
    stage: firstStage(log),
    listedIn: 0,
    isInSession: false,
    cutTo: -1,
    isReset: false,
    isMending: false,
    standsDown: false,
    asked: 'latest',
    throttled: 'no',
    retryAtMs: Infinity,
    retryMs: WAIT_MS_MIN,
  };
}

/** A tail that is not synced yet, or a reset that has gone too far to be left, comes first. */
export function firstStage(log: Log): Followed['stage'] {
  if (log.truncation !== null && !keepTail(log)) return 'cutting';
  return log.durable < log.end ? 'syncing' : 'ready';
}

/** Where a log that parts from the leader's is cut, given the leader's last epoch in common and its end (KIP-595). */
export function divergingCut(log: Log, epoch: number, endOffset: number): number {
  const own = endOffsetForEpoch(log, epoch);
  const ownEnd = own.endOffset < 0 ? log.end : own.endOffset;
  return Math.min(endOffset, ownEnd, log.end);
}

/** Whether a cut at `offset` leaves nothing: the log begins above it. */
export function isBelowLog(log: Log, offset: number): boolean {
  const first = log.segments[0];
  return first !== undefined && offset < first.base;
}

/** Committed records are about to go: the leader was elected uncleanly, or has lost its disk. Loudly. */
export function sayCut(followed: Followed, leaderId: number, offset: number, out: Outbox): void {
  const { topic, index, leaderEpoch, highWatermark } = followed;
  const fields = new Map<string, string | number>([
    ['partition', `${topic}-${index}`],
    ['from', offset],
    ['to', highWatermark],
    ['leader', leaderId],
    ['leaderEpoch', leaderEpoch],
  ]);
  const text = 'records that were committed are cut, because the leader does not have them: they are lost';
  out.push({ kind: 'say', level: 'error', text, fields });
}

/** Raises the high watermark to what the leader has said, as far as it is synced here. True if it has moved. */
export function raiseWatermark(followed: Followed): boolean {
  const reached = Math.min(followed.leaderHighWatermark, followed.log.durable);
  if (reached <= followed.highWatermark) return false;
  followed.highWatermark = reached;
  return true;
}

/**
 * Whether the leader's first answer under an epoch, of a log that begins at `start`, vouches for none of this one: all
 * of it lies below, where the leader knows no epochs any more, so that nothing says whether it went the same way. It is
 * to begin anew there before the leader's watermark is believed, or readers would see it until it is deleted.
 */
export function isUnvouched({ log, leaderStart }: Followed, start: number): boolean {
  return leaderStart < 0 && log.start < log.end && log.end <= start;
}

/**
 * Where this log is to begin because the leader's does, once the owner has written that down; -1 for nowhere new. What
 * is not known to be committed stays: it may yet have to be cut.
 */
export function startToWrite(followed: Followed): number {
  const { leaderStart, wantedStart, log, highWatermark } = followed;
  if (leaderStart <= Math.max(log.start, wantedStart) || leaderStart > highWatermark) return -1;
  followed.wantedStart = leaderStart;
  return leaderStart;
}
