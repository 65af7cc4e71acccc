/**
 * What a leader says to one partition of a Fetch, before any byte is read: who may read, from where, up to where.
 *
 * The order matters. The epoch comes first, so that neither a leader nor a follower of an earlier reign is believed
 * (KIP-320). A log that went another way is told where it parts before anything is made of its offset: what a diverged
 * follower claims to hold is not what the leader has (KAFKA-13141). Only an offset within the log counts as synced.
 * Pure functions on the state of the leader.
 */
import type { Env } from '../lib/world.ts';
import { endOffsetForEpoch, type Log } from '../log/log.ts';
import { writtenEnd } from '../log/settle.ts';
import { ErrorCode } from '../protocol/errors.ts';
import { fence, fenceEpoch } from './fencing.ts';
import type { Followed } from './followed.ts';
import { noteFetch } from './in-sync.ts';
import type { Leader, Waiter } from './leader.ts';

/** What a Fetch says of a partition. */
export interface Asked {
  readonly currentLeaderEpoch: number;
  readonly fetchOffset: number;
  readonly lastFetchedEpoch: number;
  readonly logStartOffset: number;
}

/** What is to be answered. */
export type Verdict =
  | { readonly kind: 'error'; readonly error: ErrorCode }
  | { readonly kind: 'diverging'; readonly epoch: number; readonly endOffset: number }
  /** Records below `upTo` may be read. */
  | { readonly kind: 'read'; readonly upTo: number };

/** What a Fetch of a client may read: records below the high watermark. */
export function judgeClient<W extends Waiter>(leader: Leader<W>, asked: Asked): Verdict {
  return judge(leader.log, fence(leader, Math.max(asked.currentLeaderEpoch, -1)), asked, leader.highWatermark);
}

/** What a Fetch of a client may read of a replica that follows (KIP-392): no more than of its leader. */
export function judgeReader(followed: Followed, asked: Asked): Verdict {
  const { log, leaderEpoch, highWatermark } = followed;
  return judge(log, fenceEpoch(leaderEpoch, Math.max(asked.currentLeaderEpoch, -1)), asked, highWatermark);
}

/**
 * What a Fetch of a replica may read: all that the disk has taken, synced or not. What it may still refuse is cut back
 * under the same epoch, and other records may then get the same offsets: nobody may have seen the first ones.
 */
export function judgeReplica<W extends Waiter>(leader: Leader<W>, id: number, asked: Asked): Verdict {
  const { log } = leader;
  const verdict = judge(log, fence(leader, Math.max(asked.currentLeaderEpoch, -1)), asked, writtenEnd(log));
  if (verdict.kind === 'error' && verdict.error !== ErrorCode.OFFSET_OUT_OF_RANGE) return verdict;
  const isKnown = leader.inSync?.followers.has(id) === true;
  return isKnown ? verdict : { kind: 'error', error: ErrorCode.NOT_LEADER_OR_FOLLOWER };
}

/**
 * Notes what a replica says by listing the partition in a request: once for each request that lists it, and not again
 * for those that only go on with the session, or when a parked request is looked at. `advance` is due afterwards.
 * False when it says nothing: a log that parts from ours, an offset out of range, an earlier life of that broker.
 */
export function noteReplica<W extends Waiter>(
  leader: Leader<W>,
  env: Env,
  replica: { readonly id: number; readonly brokerEpoch: number },
  asked: Asked,
): boolean {
  const { inSync, log } = leader;
  if (inSync === null || judgeReplica(leader, replica.id, asked).kind !== 'read') return false;
  const { id, brokerEpoch } = replica;
  const { fetchOffset, logStartOffset: logStart } = asked;
  return noteFetch(inSync, { id, brokerEpoch, fetchOffset, logStart }, log.end, env.nowMs);
}

function judge(log: Log, fenced: ErrorCode, asked: Asked, upTo: number): Verdict {
  if (fenced !== ErrorCode.NONE) return { kind: 'error', error: fenced };
  if (asked.lastFetchedEpoch >= 0) {
    const known = endOffsetForEpoch(log, asked.lastFetchedEpoch);
    if (known.endOffset < 0) return { kind: 'error', error: ErrorCode.OFFSET_OUT_OF_RANGE };
    if (known.leaderEpoch < asked.lastFetchedEpoch || known.endOffset < asked.fetchOffset) {
      return { kind: 'diverging', epoch: known.leaderEpoch, endOffset: known.endOffset };
    }
  }
  if (asked.fetchOffset < log.start || asked.fetchOffset > log.end) {
    return { kind: 'error', error: ErrorCode.OFFSET_OUT_OF_RANGE };
  }
  return { kind: 'read', upTo };
}

/** A replica and where it stands, for a reader who would rather read nearby. */
export interface RackOf {
  readonly rack: string | null;
  readonly fenced: boolean;
}

/**
 * The in-sync replica in the reader's rack that can serve `offset` and has come furthest (KIP-392); -1 where the leader
 * is as near, or nobody is nearer. A replica serves what lies below the high watermark that it knows, so one that is
 * not in sync is never named.
 */
export function preferredReplica<W extends Waiter>(
  leader: Leader<W>,
  brokers: ReadonlyMap<number, RackOf>,
  rack: string,
  offset: number,
): number {
  const { inSync } = leader;
  if (inSync === null || rack === '' || brokers.get(inSync.self)?.rack === rack) return -1;
  let best = -1;
  let bestOffset = -1;
  for (const id of inSync.isr) {
    const follower = inSync.followers.get(id);
    const broker = brokers.get(id);
    if (follower === undefined || broker === undefined || broker.fenced || broker.rack !== rack) continue;
    if (follower.logStart > offset || follower.fetchOffset < offset || follower.fetchOffset <= bestOffset) continue;
    best = id;
    bestOffset = follower.fetchOffset;
  }
  return best;
}
