/**
 * What a member knows in each of its roles (KIP-595, KIP-996), what it asked of other members, and who waits for it.
 * Plain data. All of it is forgotten with the role, and by a crash.
 */
import type { FileId } from '../lib/world.ts';
import type { RequestInputOf, RequestOf, ResponseInputOf, ResponseOf } from '../protocol/messages/index.ts';
import type { CheckpointHead, CheckpointReader } from './checkpoint-read.ts';
import type { SnapshotId } from './names.ts';
import type { QuorumState } from './quorum-state.ts';
import type { Voter } from './voters.ts';

/**
 * Kafka's names. 'voted' and 'observer' are no roles of their own here: the first is unattached with a vote given, the
 * second is whoever is no voter (`stateName` says it all).
 */
export type Role = 'unattached' | 'follower' | 'prospective' | 'candidate' | 'leader' | 'resigned';

/**
 * The APIs of a member: Fetch, Vote, Begin- and EndQuorumEpoch, FetchSnapshot; and those that change the voters, Add-,
 * Remove- and UpdateRaftVoter, of which operators use the first two.
 */
export type PeerKey = 1 | 52 | 53 | 54 | 59 | 80 | 81 | 82;

/** What a member asks of others: these, and ApiVersions of one that is to become a voter. */
export type CallKey = PeerKey | 18;

/** A request to another member. */
export type PeerRequest = {
  [K in CallKey]: { readonly apiKey: K; readonly body: RequestInputOf<K> };
}[CallKey];

/** How a call ended. refused: nothing listens there, so the process is dead. timedOut, closed: nobody knows. */
export type CallOutcome =
  | { readonly response: ResponseOf<CallKey> }
  | { readonly failure: 'refused' | 'timedOut' | 'closed' };

/** What the host must carry to others, or back to them. */
export type PeerEvent =
  /** `takeCallAnswer` with this ticket must follow, once. A negative node is a bootstrap server: -1 is the first. */
  | ({
      readonly kind: 'call';
      readonly ticket: number;
      readonly nodeId: number;
      readonly timeoutMs: number;
    } & PeerRequest)
  /** Answers the request that was handed in with `waiter`. */
  | {
      readonly kind: 'reply';
      readonly waiter: number;
      readonly apiKey: PeerKey;
      readonly response: ResponseInputOf<PeerKey>;
    };

/** A call under way. */
export interface Call {
  readonly apiKey: CallKey;
  readonly nodeId: number;
}

/** What another member asked and waits for. */
export interface Deferred {
  readonly apiKey: PeerKey;
  readonly version: number;
  readonly body: RequestOf<PeerKey>;
  readonly waiter: number;
}

/** quorum-state is being written: the role that begins with it, and the vote that may be told once it is there. */
export interface Changing {
  readonly next: QuorumState;
  readonly role: 'unattached' | 'follower' | 'candidate' | 'leader';
  readonly vote: VoteWaiter | null;
}

/** Who waits to hear of a vote. */
export interface VoteWaiter {
  readonly waiter: number;
  readonly isGranted: boolean;
}

/** An election, or the question whether one would be won (pre-vote). */
export interface Campaign {
  /** Of the other voters, by id. */
  readonly granted: Set<number>;
  readonly refused: Set<number>;
  /** Voters that were asked and have not answered. */
  readonly asked: Set<number>;
  /** Voters whose last answer was lost: nothing can be expected of them for the moment. */
  readonly silent: Set<number>;
  /** When those are asked again whose answer was lost, `env.nowMs`; Infinity when none was. */
  retryAtMs: number;
}

/** What a leader knows of one member that fetches from it. */
export interface Replica {
  readonly id: number;
  readonly directoryId: string;
  /** What it has synced: the offset of its last sound fetch; -1 before that. */
  end: number;
  /** Of its last fetch: `env.nowMs` and `env.wallMs`; -1 for the latter before the first. */
  fetchedAtMs: number;
  fetchedWallMs: number;
  /** When it last had all that the leader had at the fetch before, `env.nowMs`; -Infinity before that. */
  caughtUpAtMs: number;
  /** The same, ms since 1970; -1 before that. */
  caughtUpWallMs: number;
  /** The end of the leader's log at its last fetch. */
  leaderEndAtFetch: number;
}

/** A fetch that waits for something to fetch. */
export interface ParkedFetch {
  readonly waiter: number;
  readonly version: number;
  readonly replicaId: number;
  readonly directoryId: string;
  readonly offset: number;
  readonly sizeBytesMax: number;
  /** What the follower takes for the high watermark; the largest number if it did not say. */
  readonly highWatermark: number;
  /** Answered empty then, `env.nowMs`. */
  readonly untilMs: number;
}

/** A voter that is being added or removed: one at a time. */
export interface VoterChange {
  readonly kind: 'add' | 'remove';
  readonly voter: Voter;
  /** Who is answered, -1 once that is done; in Kafka's terms, whether only when it is committed. */
  waiter: number;
  readonly acksWhenCommitted: boolean;
  /** asking: what the new voter supports. catchingUp: until it has what the leader has. Then it is in the log. */
  stage: 'asking' | 'catchingUp' | 'committing';
  /** The levels of kraft.version that the new voter says it supports; null before it has. */
  versions: { readonly min: number; readonly max: number } | null;
  /** Where the batch with the new voters stands; -1 before it was appended. */
  offset: number;
  /** Given up then, `env.nowMs`; what is in the log by then stays. */
  untilMs: number;
}

/** What only a leader knows. */
export interface Lead {
  /** Where the batch that began this epoch stands, and the offset behind it. */
  readonly epochStart: number;
  readonly epochStartNext: number;
  /** Whether that batch is committed: from then on the high watermark is known. */
  isConfirmed: boolean;
  /** Everyone who fetches, by node id: voters, from the start of the epoch on, and observers. */
  readonly replicas: Map<number, Replica>;
  /** In the order in which they came; one a replica at most. */
  parked: ParkedFetch[];
  /** Fetches whose bytes are being read from files, by the log's ticket. */
  readonly reading: Map<number, ParkedFetch>;
  /** When voters that do not fetch are told again who leads, `env.nowMs`; Infinity without other voters. */
  beginAtMs: number;
  /** Something was appended since parked fetches were last looked through. */
  hasNews: boolean;
  voterChange: VoterChange | null;
}

/** A snapshot that is being fetched from the leader. */
export interface Download {
  readonly id: SnapshotId;
  readonly file: FileId;
  stage: 'open' | 'truncate' | 'fetch' | 'append' | 'sync' | 'check';
  /** Bytes that were written. */
  position: number;
  /** -1 before the leader has said it. */
  sizeBytes: number;
  /** Answers of the disk that the stage waits for. */
  pending: number;
  /** Looks through what was written before it is believed. */
  reader: CheckpointReader | null;
}

/** A snapshot of the leader that takes the place of the log, whatever the role becomes meanwhile. */
export interface Installing {
  readonly id: SnapshotId;
  /** What was fetched into: answers for files of earlier attempts may still come. -1 where it was here already. */
  readonly file: number;
  /** Null where it was here already. */
  readonly head: CheckpointHead | null;
  stage: 'name' | 'reset';
  /** Answers of the disk that the name waits for. */
  pending: number;
}

/** What only a follower knows. */
export interface Follow {
  /** A fetch has succeeded since the leader was found, and none has failed since: the leader lives. */
  hasFetched: boolean;
  /** The leader has said that it leads no more. */
  hasEnded: boolean;
  /** A fetch is under way. */
  isFetching: boolean;
  /** Failures in a row, and when the next fetch may be tried, `env.nowMs`; Infinity when nothing has failed. */
  failures: number;
  retryAtMs: number;
  /** What the leader said is committed, of a log that holds what this one holds; -1 before it did. */
  leaderHighWatermark: number;
  /** The log is being cut or begun anew: nothing is fetched. */
  isCutting: boolean;
  download: Download | null;
  /** When the leader may next be asked to change what the voters' record says of this member, `env.nowMs`. */
  voterNewsAtMs: number;
}

/** A piece of a snapshot that is being read for another member. */
export interface SnapshotServing {
  readonly waiter: number;
  readonly id: SnapshotId;
  readonly position: number;
  readonly sizeBytesMax: number;
  /** Of the whole file; -1 before it is open. */
  sizeBytes: number;
}
