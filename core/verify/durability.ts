/**
 * Judges what is called committed by what lies on the disks: a promise that is kept by luck is broken all the same.
 *
 * Histories show a fault only where somebody loses by it: the power must fail at the right nodes at the right moment.
 * Here the world is asked instead, at the moment at which anybody calls a record committed: what would be left if every
 * machine lost its power now? Then the in-sync replicas must all have the record, for any of them may lead next; the
 * voters of a quorum must have it such that nobody can be elected without it; and no reader may be shown what is not of
 * the history that the leader has.
 *
 * Pure functions; whoever calls them has read the disks.
 */
import type { Complaint } from './history.ts';

/** That all records below an offset are committed. */
export interface Claim {
  /** The log's name, to people. */
  readonly log: string;
  /** Who says so, to people. */
  readonly by: string;
  readonly offset: number;
  /** The leader epoch of the last record below `offset`; -1 where it is not known. */
  readonly epoch: number;
}

/** What one replica of a log would have after a power loss. */
export interface Holder {
  readonly node: number;
  /** Eligible: out of sync, but it may lead when nobody is in sync (KIP-966). */
  readonly standing: 'inSync' | 'eligible' | 'out';
  /** Everything below it is there. */
  readonly end: number;
  /** The leader epoch of its last record below the claim; -1 where it has none there, or does not know. */
  readonly epoch: number;
}

const STANDINGS = { inSync: 'is in sync', eligible: 'may lead', out: 'is out of sync' } as const;

/**
 * A committed record is durable on each replica that may come to lead, as the same record, and on as many replicas as
 * acks=all asks for (`wanted`, 0 where that is not asked).
 */
export function judgeClaim(claim: Claim, holders: readonly Holder[], wanted: number): Complaint | null {
  const { log, by, offset, epoch } = claim;
  let holding = 0;
  for (const { node, standing, end, epoch: own } of holders) {
    const isOther = epoch >= 0 && own >= 0 && own !== epoch;
    if (end >= offset && !isOther) {
      holding += 1;
      continue;
    }
    if (standing === 'out') continue;
    const who = `node ${node}, which ${STANDINGS[standing]},`;
    if (end < offset) {
      const has = `${who} has only ${end} of it on its disk for sure`;
      return complaint('committed-in-memory', 1, `${log} is committed up to ${offset} says ${by}, and ${has}`);
    }
    const has = `${who} has one of epoch ${own} there`;
    return complaint(
      'committed-elsewhere',
      2,
      `${log}@${offset - 1} of epoch ${epoch} is committed says ${by}, and ${has}`,
    );
  }
  if (holding >= wanted) return null;
  const has = `only ${holding} of the ${wanted} replicas that it takes have it on their disks`;
  return complaint('committed-by-few', 1, `${log} is committed up to ${offset} says ${by}, and ${has}`);
}

/** What one voter of a quorum would have after a power loss. */
export interface VoterLog {
  readonly node: number;
  readonly end: number;
  /** The epoch of its last record; -1 where it has none. */
  readonly lastEpoch: number;
  /** As in `Holder`. */
  readonly epoch: number;
}

/**
 * A record that the leader of `leaderEpoch` calls committed is durable on a majority; nobody who lacks it would be
 * elected by logs as they are; and the newest of what was committed is of the leader's own epoch, for of older records
 * it does not help that a majority has them (Raft, section 5.4.2).
 */
export function judgeQuorumClaim(claim: Claim, leaderEpoch: number, voters: readonly VoterLog[]): Complaint | null {
  const { log, by, offset, epoch } = claim;
  const says = (): string => `${log} is committed up to ${offset} says ${by}`;
  const has = (voter: VoterLog): boolean =>
    voter.end >= offset && (epoch < 0 || voter.epoch < 0 || voter.epoch === epoch);
  const holding = voters.filter(has);
  if (2 * holding.length <= voters.length) {
    const nodes = holding.map(({ node }) => node).join(', ');
    return complaint('committed-in-memory', 1, `${says()}, and only nodes [${nodes}] have it on their disks for sure`);
  }
  for (const one of voters) {
    if (has(one)) continue;
    const electors = voters.filter((other) => !isNewer(other, one));
    if (2 * electors.length <= voters.length) continue;
    const sentence = `${says()}, and node ${one.node}, which lacks it, could be elected with epoch ${one.lastEpoch}`;
    return complaint('committed-electable', 1, sentence);
  }
  if (epoch < 0 || epoch >= leaderEpoch) return null;
  const sentence = `${says()} in epoch ${leaderEpoch}, and the last of it is of epoch ${epoch}`;
  return complaint('committed-of-old-epoch', 1, sentence);
}

/** Whether a log is newer than another one, as votes are given. */
function isNewer(one: VoterLog, other: VoterLog): boolean {
  return one.lastEpoch > other.lastEpoch || (one.lastEpoch === other.lastEpoch && one.end > other.end);
}

/** Where a replica's log begins. */
export interface Begun {
  readonly log: string;
  readonly node: number;
  readonly start: number;
}

/** What a follower shows to its readers. */
export interface Shown {
  readonly log: string;
  readonly node: number;
  readonly highWatermark: number;
  /** The epoch of its last record below that; -1 where it is not known. */
  readonly epoch: number;
}

/**
 * A follower shows nothing that no leader has called committed, and no record but the leader's. `committed`: the
 * furthest that anybody has said; `epoch`: of the true record below the high watermark, -1 where it is not known.
 */
export function judgeShown(
  { log, node, highWatermark, epoch: own }: Shown,
  committed: number,
  epoch: number,
): Complaint | null {
  if (highWatermark > committed) {
    const sentence = `node ${node} shows ${log} up to ${highWatermark}`;
    return complaint('shown-early', 3, `${sentence}, and nobody has called more than ${committed} committed`);
  }
  if (own < 0 || epoch < 0 || own === epoch) return null;
  const sentence = `node ${node} shows ${log}@${highWatermark - 1} of epoch ${own}`;
  return complaint('shown-elsewhere', 3, `${sentence}, and committed is one of epoch ${epoch}`);
}

/** No log begins above what anybody has called committed: what was deleted below that has been there for all. */
export function judgeStart({ log, node, start }: Begun, committed: number): Complaint | null {
  if (start <= committed) return null;
  const sentence = `${log} begins at ${start} on node ${node}, and nobody has called more than ${committed} committed`;
  return complaint('deleted-early', 1, sentence);
}

function complaint(checker: string, promise: number, sentence: string): Complaint {
  return { checker, promise, partition: -1, sentence };
}
