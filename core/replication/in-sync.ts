/**
 * What a leader knows of its followers: how far each has synced, which count as in sync, and what follows from that for
 * the high watermark.
 *
 * A follower's fetch offset says what it has synced. The in-sync set belongs to the controller; a leader proposes
 * changes (`alter-partition.ts`) and, while one is not decided, reckons with the larger of both sets, so that no record
 * counts as committed that a replica which may be in sync does not have.
 *
 * A follower joins only once it holds all that is committed, and once its log begins no lower than the leader's: one
 * that came to lead would bring deleted records back. While it is about to join, the high watermark waits for it, or it
 * could never catch up with a busy leader. The high watermark does not move while fewer replicas are in sync than are
 * wanted (KIP-966): what so few hold may be lost with them.
 *
 * Nothing here ticks: a follower that stands at the end of the log is in sync however long it has been silent, so an
 * idle partition has no deadline. One that lags is looked at when it may have lagged for too long. A crash forgets all
 * of it; the next leader learns it from fetches.
 */
import { assert } from '../lib/assert.ts';

/** What the metadata says of a broker, as far as the in-sync set is concerned. */
export interface BrokerState {
  /** The offset of its registration. */
  readonly epoch: number;
  readonly fenced: boolean;
  readonly inControlledShutdown: boolean;
}

/** Brokers by id. */
export type BrokerStates = ReadonlyMap<number, BrokerState>;

/** One other replica of the partition. */
export interface Follower {
  readonly id: number;
  /** Its registration when it last fetched under this leader; -1 before. */
  brokerEpoch: number;
  /** Records below it are synced there; -1 before it has fetched under this leader epoch. */
  fetchOffset: number;
  /**
   * A later life of it has begun behind what an earlier one had synced while it counted as in sync: its disk is another
   * one. Where that earlier life had come; -1 once it has come as far again, or the controller has let it go, as it
   * does as soon as this leader hears of it. It is counted where it stands.
   */
  lostBelow: number;
  /** Its log's start; -1 if not known. */
  logStart: number;
  /** The last moment at which it had everything that was in the leader's log then, `env.nowMs`. */
  caughtUpMs: number;
  /** When it last fetched, and where the leader's log ended then. */
  fetchedMs: number;
  fetchedEnd: number;
}

/** What the controller has said of the partition. */
export interface PartitionState {
  readonly leaderEpoch: number;
  readonly partitionEpoch: number;
  readonly replicas: readonly number[];
  readonly isr: readonly number[];
}

/** A change of the in-sync set that the controller has not decided. */
export interface Proposal {
  readonly isr: readonly number[];
  /** Of the state that it changes. */
  readonly partitionEpoch: number;
  readonly leaderEpoch: number;
}

/** The replicas of a partition that this node leads. */
export interface InSync {
  readonly self: number;
  /** The last word of the controller that was heard: the state of `partitionEpoch`, which ascends. */
  leaderEpoch: number;
  partitionEpoch: number;
  replicas: readonly number[];
  /** Replicas that have lost their log directory, or are being mended: the controller lets none of them join. */
  lost: readonly number[];
  /** Holds this node. The high watermark is at or below the fetch offset of every follower in it or in `pending`. */
  isr: readonly number[];
  /** Where the leader's epoch began in its log: a follower below it does not have all that was committed. */
  epochStart: number;
  /** Where the leader's log begins, as it was when it was last asked for a change of the set. */
  logStart: number;
  /** The other replicas, by id. */
  readonly followers: Map<number, Follower>;
  /** What was proposed on top of `partitionEpoch` and is not decided: one at a time, null for none. */
  pending: Proposal | null;
  /** replica.lag.time.max.ms */
  lagMaxMs: number;
  /** No growth is proposed before, `env.nowMs`: the controller has refused one. */
  growMs: number;
  /** A follower may have lagged for too long by then, `env.nowMs`; a lower bound, Infinity when none lags. */
  lagMs: number;
  /** One that is about to join holds the high watermark up until then, `env.nowMs`, at most; Infinity for none. */
  joinMs: number;
}

/** The replicas as a new leader sees them: nobody has fetched, all in sync have until `lagMaxMs` from now. */
export function createInSync(
  self: number,
  state: PartitionState,
  logEnd: number,
  nowMs: number,
  lagMaxMs: number,
): InSync {
  assert(state.isr.includes(self), 'a leader is in sync');
  const inSync: InSync = {
    self,
    leaderEpoch: state.leaderEpoch,
    partitionEpoch: state.partitionEpoch,
    replicas: state.replicas,
    lost: [],
    isr: state.isr,
    epochStart: logEnd,
    logStart: 0,
    followers: new Map(),
    pending: null,
    lagMaxMs,
    growMs: -Infinity,
    lagMs: state.isr.length > 1 ? nowMs + lagMaxMs : Infinity,
    joinMs: Infinity,
  };
  for (const id of state.replicas) if (id !== self) inSync.followers.set(id, freshFollower(state, id, nowMs));
  return inSync;
}

/** One that is not in sync has never been: nobody waits for it before it has caught up. */
function freshFollower({ isr }: PartitionState, id: number, nowMs: number): Follower {
  const never = { brokerEpoch: -1, fetchOffset: -1, lostBelow: -1, logStart: -1, fetchedMs: -1, fetchedEnd: -1 };
  return { id, ...never, caughtUpMs: isr.includes(id) ? nowMs : Number.NEGATIVE_INFINITY };
}

/**
 * A later word of the controller under the same leader epoch. False when it is no later than what is known: answers
 * and metadata come in either order, and the older of them says nothing.
 */
export function takeState(inSync: InSync, state: PartitionState, nowMs: number): boolean {
  assert(state.leaderEpoch === inSync.leaderEpoch, 'another leader epoch is another leader');
  if (state.partitionEpoch <= inSync.partitionEpoch) return false;
  inSync.partitionEpoch = state.partitionEpoch;
  inSync.isr = state.isr;
  inSync.pending = null;
  inSync.replicas = state.replicas;
  for (const follower of inSync.followers.values()) if (!state.isr.includes(follower.id)) follower.lostBelow = -1;
  for (const id of inSync.followers.keys()) if (!state.replicas.includes(id)) inSync.followers.delete(id);
  for (const id of state.replicas) {
    if (id !== inSync.self && !inSync.followers.has(id)) inSync.followers.set(id, freshFollower(state, id, nowMs));
  }
  if (inSync.isr.length > 1) inSync.lagMs = Math.min(inSync.lagMs, nowMs);
  return true;
}

/** Whether a replica is in the in-sync set, or in the one that was proposed. */
function countsAsInSync(inSync: InSync, id: number): boolean {
  return inSync.isr.includes(id) || inSync.pending?.isr.includes(id) === true;
}

/** So many replicas must be in sync for acks=all: min.insync.replicas, but never more than there are. */
export function wantedInSync(inSync: InSync, inSyncMin: number): number {
  return Math.min(inSyncMin, inSync.replicas.length);
}

/** What a fetch of a follower has said. */
export interface FollowerFetch {
  readonly id: number;
  readonly brokerEpoch: number;
  readonly fetchOffset: number;
  readonly logStart: number;
}

/**
 * Notes a fetch at an offset that is the follower's own history: one that was told to truncate, or is out of range,
 * says nothing of what it holds. False when it is no replica, or when the fetch is old: of an earlier life of that
 * broker, or of a connection that it has given up, which a slow network brings late. Under one leader epoch a follower
 * cuts nothing of what it has once said to have synced, so an offset that goes back within its life is always old.
 */
export function noteFetch(inSync: InSync, fetch: FollowerFetch, logEnd: number, nowMs: number): boolean {
  const follower = inSync.followers.get(fetch.id);
  if (follower === undefined || fetch.brokerEpoch < follower.brokerEpoch) return false;
  if (fetch.brokerEpoch === follower.brokerEpoch && fetch.fetchOffset < follower.fetchOffset) return false;
  if (fetch.fetchOffset >= logEnd) follower.caughtUpMs = nowMs;
  else if (fetch.fetchOffset >= follower.fetchedEnd && follower.fetchedMs >= 0) {
    follower.caughtUpMs = Math.max(follower.caughtUpMs, follower.fetchedMs);
  }
  noteLoss(inSync, follower, fetch.fetchOffset);
  follower.brokerEpoch = fetch.brokerEpoch;
  follower.fetchOffset = fetch.fetchOffset;
  follower.logStart = fetch.logStart;
  follower.fetchedMs = nowMs;
  follower.fetchedEnd = logEnd;
  return true;
}

/** A replica that counts must never stand below what it had, but for a later life of it with another disk. */
function noteLoss(inSync: InSync, follower: Follower, fetchOffset: number): void {
  if (fetchOffset >= follower.lostBelow) follower.lostBelow = -1;
  if (fetchOffset >= follower.fetchOffset || !countsAsInSync(inSync, follower.id)) return;
  follower.lostBelow = Math.max(follower.lostBelow, follower.fetchOffset);
}

/** The leader's log grows from `logEnd` on: whoever stands there has been caught up until now. */
export function noteGrowth(inSync: InSync, logEnd: number, nowMs: number): void {
  for (const follower of inSync.followers.values()) if (follower.fetchOffset >= logEnd) follower.caughtUpMs = nowMs;
  if (inSync.lagMs === Infinity && inSync.isr.length > 1) inSync.lagMs = nowMs + inSync.lagMaxMs;
}

function isCaughtUp(follower: Follower, logEnd: number, nowMs: number, lagMaxMs: number): boolean {
  return follower.fetchOffset >= logEnd || nowMs - follower.caughtUpMs <= lagMaxMs;
}

/** A broker may join the in-sync set: alive, staying, and the very life of it that fetched (KIP-841, KIP-903). */
function isEligible({ lost }: InSync, follower: Follower, brokers: BrokerStates): boolean {
  const broker = brokers.get(follower.id);
  if (broker === undefined || broker.fenced || broker.inControlledShutdown || lost.includes(follower.id)) return false;
  return follower.brokerEpoch === broker.epoch;
}

/**
 * Up to where every replica that counts has synced, given the leader's own synced end. -1 while too few are in sync.
 * To be asked again at `joinMs`: who has not joined by then is waited for no longer.
 */
export function committedEnd(
  inSync: InSync,
  brokers: BrokerStates,
  synced: number,
  logEnd: number,
  wanted: number,
  nowMs: number,
): number {
  inSync.joinMs = Infinity;
  if (inSync.isr.length < wanted) return -1;
  let end = synced;
  for (const follower of inSync.followers.values()) {
    if (follower.fetchOffset >= end) continue;
    const counts = countsAsInSync(inSync, follower.id);
    const isJoining =
      !counts &&
      follower.fetchOffset >= inSync.epochStart &&
      isCaughtUp(follower, logEnd, nowMs, inSync.lagMaxMs) &&
      isEligible(inSync, follower, brokers);
    if (!counts && !isJoining) continue;
    end = follower.fetchOffset;
    if (isJoining) inSync.joinMs = Math.min(inSync.joinMs, follower.caughtUpMs + inSync.lagMaxMs + 1);
  }
  return end;
}

/**
 * The set to propose because followers have caught up: each of them holds all that is committed, and its own history
 * reaches into this leader's epoch (KAFKA-7128). Null when there is nothing to propose.
 *
 * To be asked again whenever something of it may have changed: a fetch has listed the partition, the controller has
 * spoken, a broker has come to life. A follower at rest lists nothing and would wait for ever.
 */
export function wantsToGrow(
  inSync: InSync,
  brokers: BrokerStates,
  highWatermark: number,
  logEnd: number,
  nowMs: number,
): readonly number[] | null {
  if (inSync.isr.length === inSync.replicas.length || inSync.pending !== null || nowMs < inSync.growMs) return null;
  inSync.growMs = -Infinity;
  const joins = (id: number): boolean => {
    const follower = inSync.followers.get(id);
    if (follower === undefined || !isEligible(inSync, follower, brokers)) return false;
    const { fetchOffset } = follower;
    if (fetchOffset < highWatermark || fetchOffset < inSync.epochStart) return false;
    if (follower.logStart < inSync.logStart) return false;
    // One that was just dropped for its lag does not come back because the watermark stands still.
    return isCaughtUp(follower, logEnd, nowMs, inSync.lagMaxMs);
  };
  const isr = inSync.replicas.filter((id) => inSync.isr.includes(id) || joins(id));
  return isr.length > inSync.isr.length ? isr : null;
}

/** The set to propose because followers have lagged for too long; null when none has. Says when to look again. */
export function wantsToShrink(inSync: InSync, logEnd: number, nowMs: number): readonly number[] | null {
  if (nowMs < inSync.lagMs) return null;
  const { lagMaxMs } = inSync;
  inSync.lagMs = Infinity;
  const kept: number[] = [];
  for (const id of inSync.isr) {
    const follower = inSync.followers.get(id);
    if (follower === undefined) {
      kept.push(id);
      continue;
    }
    const isKept = isCaughtUp(follower, logEnd, nowMs, lagMaxMs);
    if (isKept) kept.push(id);
    if (follower.fetchOffset >= logEnd) continue;
    // One that is to go is looked at again if the controller does not let it go.
    inSync.lagMs = Math.min(inSync.lagMs, isKept ? follower.caughtUpMs + lagMaxMs + 1 : nowMs + lagMaxMs);
  }
  return inSync.pending === null && kept.length < inSync.isr.length ? kept : null;
}

/** Where the logs of all replicas begin that are in sync, or may be: below it nothing comes back. */
export function lowestStart(inSync: InSync, ownStart: number): number {
  let lowest = ownStart;
  for (const follower of inSync.followers.values()) {
    if (countsAsInSync(inSync, follower.id)) lowest = Math.min(lowest, follower.logStart);
  }
  return lowest;
}

/** Asserts the invariants. */
export function checkInSync(inSync: InSync, highWatermark: number): void {
  assert(inSync.isr.includes(inSync.self), 'a leader is in sync');
  assert(inSync.isr.length <= inSync.replicas.length, 'who is in sync is a replica');
  assert(inSync.pending === null || inSync.pending.partitionEpoch === inSync.partitionEpoch, 'a proposal is of now');
  for (const follower of inSync.followers.values()) {
    if (!countsAsInSync(inSync, follower.id) || follower.fetchOffset < inSync.epochStart) continue;
    if (follower.lostBelow >= 0) continue;
    assert(follower.fetchOffset >= highWatermark, 'a follower in sync has all that is committed');
  }
}
