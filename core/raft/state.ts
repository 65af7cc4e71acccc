/**
 * What one member of a quorum remembers. Plain data; `raft.ts` has the theory, `role-state.ts` what each role knows.
 * The invariants stand beside the fields of `Raft` and hold between any two steps; `checkRaft` asserts most of them.
 *
 * A crash loses all of it but what the disk has: the log, the snapshots, and in `quorum-state` the epoch with the vote
 * or the leader of it.
 */
import type { Ids } from '../lib/ids.ts';
import type { Env, FileId, Outbox } from '../lib/world.ts';
import { type Log, latestEpoch } from '../log/log.ts';
import type { LogConfig } from '../log/types.ts';
import type { RecordBatch } from './batches.ts';
import type { CheckpointReader } from './checkpoint-read.ts';
import type { SnapshotId } from './names.ts';
import type { QuorumState } from './quorum-state.ts';
import type {
  Call,
  Campaign,
  Changing,
  Deferred,
  Follow,
  Installing,
  Lead,
  PeerEvent,
  Role,
  SnapshotServing,
} from './role-state.ts';
import { isVoter, type Voter, type VoterEndpoint, type VoterSet, voterOf } from './voters.ts';

export type { Lead, Role } from './role-state.ts';

/** What the operator decided. */
export interface RaftConfig {
  /** Of the metadata log. `flushMessages` must be 1: a quorum counts only what is synced. */
  readonly log: LogConfig;
  /** metadata.log.max.record.bytes.between.snapshots */
  readonly snapshotBytes: number;
  /** metadata.log.max.snapshot.interval.ms; Infinity for never. */
  readonly snapshotIntervalMs: number;
}

/** How long a member of a quorum of several waits. */
export interface RaftTimes {
  /** controller.quorum.election.timeout.ms: from there to twice of it without news, and a voter asks for votes. */
  readonly electionTimeoutMs: number;
  /** controller.quorum.fetch.timeout.ms: a follower that heard nothing from the leader so long looks for another. */
  readonly fetchTimeoutMs: number;
  /** controller.quorum.election.backoff.max.ms: the longest pause between two candidacies. */
  readonly electionBackoffMaxMs: number;
  /** controller.quorum.request.timeout.ms: a call that is not answered by then is lost. */
  readonly requestTimeoutMs: number;
}

/** What a member needs to know to have others. */
export interface PeerOptions {
  /** Requests that name another are refused; null to name none and refuse none. */
  readonly clusterId: string | null;
  /** For jitter; an unsigned 32-bit integer, fresh at each start. */
  readonly seed: number;
  readonly times: RaftTimes;
  /** Of controller.quorum.bootstrap.servers; the host knows the i-th of them as node -1 - i. */
  readonly bootstrapCount: number;
  /** Whether a node that is no voter may follow as an observer; else it is refused at the opening. */
  readonly mayObserve: boolean;
  /** Of the listener for controllers that members use among themselves; a new voter must have one of this name. */
  readonly listenerName: string;
  /**
   * Where this member, as a voter, is reached; the voters' record is made to say so. Empty for one that never votes, or
   * that does not know where others reach it: then the record stays as it is.
   */
  readonly endpoints: readonly VoterEndpoint[];
  /** controller.quorum.auto.join.enable: an observer asks to be made a voter. */
  readonly autoJoins: boolean;
}

/** Options of a new member. */
export interface RaftOptions {
  /** Also the owner of what its log asks. */
  readonly owner: number;
  readonly ids: Ids;
  /** The log directory, absolute; the metadata log is a folder in it. */
  readonly folder: string;
  readonly nodeId: number;
  /** Of `folder`, from meta.properties. */
  readonly directoryId: string;
  /** controller.quorum.voters; needed where kraft.version is 0, else empty. */
  readonly staticVoters: readonly Voter[];
  readonly config: RaftConfig;
  /** Absent for a quorum of one that nobody observes. */
  readonly peers?: PeerOptions;
}

/** What was asked of the disk, by ticket. */
export type RaftAsk =
  | { readonly kind: 'list' }
  | { readonly kind: 'quorumState' }
  | { readonly kind: 'files' }
  | { readonly kind: 'changing' }
  | { readonly kind: 'checkpoint'; readonly file: FileId }
  | { readonly kind: 'writing'; readonly file: FileId }
  | { readonly kind: 'download'; readonly file: FileId }
  | { readonly kind: 'serving'; readonly file: FileId }
  | { readonly kind: 'tidy' };

/** Where an opening stands. */
export interface Opening {
  readonly found: RaftFound;
  phase: 'list' | 'files' | 'checkpoint' | 'log' | 'controls';
  /** Answers that the phase waits for. */
  pending: number;
  quorumState: QuorumState | null;
  /** Where the first file of the log begins; Infinity when there is none. */
  logBase: number;
  /** Where the walk over the log's control batches goes on, and the read that it waits for; -1 for none. */
  offset: number;
  ticket: number;
}

/** What the node knows of the metadata log beside its folder; 0 and false when nothing. */
export interface RaftFound {
  /** The node stopped cleanly. */
  readonly clean: boolean;
  /** Every record below it was synced, from recovery-point-offset-checkpoint. */
  readonly recoveryPoint: number;
}

/** A pass over what is committed: the newest snapshot, then the log. */
export interface Reading {
  /** The snapshot being read; null once the log is. */
  reader: CheckpointReader | null;
  /** The next offset of the log that is wanted. */
  offset: number;
  /** Of the log's read under way; -1 for none. */
  ticket: number;
  /** A slice was asked for and the owner has not taken it. */
  isAsked: boolean;
  /** Tells one pass from the next. */
  readonly pass: number;
}

/** A snapshot being written. */
export interface Writing {
  readonly id: SnapshotId;
  readonly file: FileId;
  stage: 'open' | 'truncate' | 'records' | 'append' | 'sync' | 'name';
  /** Answers that the stage waits for. */
  pending: number;
  /** Offset of the next record in the snapshot. */
  offset: number;
  /** Ms since 1970: when it was begun. */
  readonly timestampMs: number;
  readonly lastTimestampMs: number;
  isLast: boolean;
}

/** One member of a quorum; plain data. Others read only the fields above the line. */
export interface Raft {
  readonly owner: number;
  readonly nodeId: number;
  readonly directoryId: string;
  /** What a member tells others of its end (`fetchOffset`) is what it has synced. */
  readonly log: Log;
  stage: 'new' | 'opening' | 'open' | 'closing' | 'closed' | 'failed';
  role: Role;
  /** It never goes back. With vote and leader it is in `quorum-state` before it stands here: see `changing`. */
  epoch: number;
  /**
   * -1 when it is not known. An epoch has one at most, and once it is known this member votes for nobody in that epoch.
   * A leader that has resigned stands here still: in its own epoch it appends nothing any more. `knownLeader` is what
   * others are told.
   */
  leaderId: number;
  /** Whom this member voted for in this epoch, and with which directory; -1 for nobody. It never changes its vote. */
  votedId: number;
  votedDirectoryId: string;
  /** The latest voters that the log names, committed or not. */
  quorum: VoterSet;
  /**
   * Records below it are committed: every later leader has them. At most `log.durable`, and it never goes back. -1 when
   * it is not known: until an entry of an own epoch is committed, a leader has said it, or there is a snapshot.
   */
  highWatermark: number;
  /** Not null exactly while `role` is 'leader'. */
  lead: Lead | null;
  /** While nothing is changing: not null exactly if `role` is 'follower'. */
  follow: Follow | null;
  /** While nothing is changing: not null exactly if `role` is 'prospective' or 'candidate'. */
  campaign: Campaign | null;
  /** Ascending. Each ends at or below the high watermark, and the log begins at or below the newest one's end. */
  snapshots: SnapshotId[];
  // ----
  readonly ids: Ids;
  /** Of the metadata log. */
  readonly folder: string;
  readonly staticVoters: readonly Voter[];
  readonly config: RaftConfig;
  /** Whether the log, or a snapshot above offset 0, names the voters. */
  areVotersLogged: boolean;
  readonly peers: PeerOptions;
  /** Voter sets that the log named before the present one, ascending: what a cut of the log brings back. */
  earlierQuorums: EarlierQuorum[];
  /** quorum-state is being written: nobody is answered, nothing is decided, and requests wait in `deferred`. */
  changing: Changing | null;
  deferred: Deferred[];
  /** Those who asked in version 0. */
  bareWaiters: Set<number>;
  /** When the role has lasted long enough without news, `env.nowMs`; Infinity when it never does. */
  timerMs: number;
  /** Candidacies in vain since a leader was last heard of. */
  electFailures: number;
  dice: number;
  /** What other members were asked in the present role, by ticket. An answer to what is not here is dropped. */
  calls: Map<number, Call>;
  /** Where members listen that no voter set names, as others have said. */
  endpoints: Map<number, VoterEndpoint>;
  /** What the disk was asked, beside what the log itself asked, by ticket. */
  asks: Map<number, RaftAsk>;
  /** A snapshot is taking the place of the log: this member neither fetches nor stands for election until it has. */
  installing: Installing | null;
  /** Pieces of snapshots that are being read for others, by file. */
  serving: Map<FileId, SnapshotServing>;
  opening: Opening | null;
  reading: Reading | null;
  /** Passes that were begun. */
  passes: number;
  writing: Writing | null;
  /** Bytes appended since the newest snapshot, about. */
  unsnapshottedBytes: number;
  /** When a snapshot is due if anything was appended, `env.nowMs`. */
  snapshotAtMs: number;
  /** Files of snapshots that did not hold together; they go once there is a newer one. */
  badSnapshots: SnapshotId[];
}

/** A voter set, and the offset of the batch that replaced it. */
export interface EarlierQuorum {
  readonly replacedAt: number;
  readonly quorum: VoterSet;
  readonly areVotersLogged: boolean;
}

/** What one step works with: the member, the world's time and functions, and where effects and events go. */
export interface Turn {
  readonly raft: Raft;
  readonly env: Env;
  readonly out: Outbox;
  readonly events: RaftEvent[];
}

/** What happened; pushed by `stepRaft` for the owner to act on. */
export type RaftEvent =
  | PeerEvent
  /** Who leads, or the epoch, has changed: see `knownLeader`. */
  | { readonly kind: 'leaderChanged' }
  /** A snapshot of the leader has taken the place of the log: what was read before is behind it. */
  | { readonly kind: 'snapshotLoaded' }
  /** This node leads `epoch`, and an entry of it is committed: the high watermark is known. */
  | { readonly kind: 'leading'; readonly epoch: number }
  /** `raft.highWatermark` has moved up. */
  | { readonly kind: 'committed' }
  /** This node leads no more: what it appended and did not see committed may be there later, or not. */
  | { readonly kind: 'resigned' }
  /** The next piece of what is committed, asked for by `readMore`. */
  | ({ readonly kind: 'slice' } & Slice)
  /** The snapshot being written wants records: `writeSnapshot`. */
  | { readonly kind: 'snapshotWants' }
  /** The snapshot is durable, or was given up. */
  | { readonly kind: 'snapshotEnded'; readonly isDone: boolean }
  | { readonly kind: 'closed' }
  /** The member is of no use any more, and the node with it. `detail` is a sentence for the operator. */
  | { readonly kind: 'failed'; readonly detail: string };

/** A piece of what is committed. */
export interface Slice {
  /** The pass that it belongs to: see `acceptSlice`. */
  readonly pass: number;
  /** The snapshot whose records these are; null when they are the log's. Offsets within a snapshot mean nothing. */
  readonly snapshot: (SnapshotId & { readonly lastTimestampMs: number }) | null;
  /** The snapshot ends with these, or there is none. */
  readonly isWhole: boolean;
  /** In order, without control batches. */
  readonly batches: readonly RecordBatch[];
  /** Everything below is in the slices so far, once the snapshot is done with. */
  readonly nextOffset: number;
  /** Nothing more is committed at the moment. */
  readonly isEnd: boolean;
}

/** Who leads, as far as this member can say; -1 when it cannot. */
export function knownLeader(raft: Raft): number {
  return raft.leaderId === raft.nodeId && raft.lead === null ? -1 : raft.leaderId;
}

/** Whether this member votes in the quorum as it is known now. */
export function isOwnVoter(raft: Raft): boolean {
  const { nodeId, directoryId, quorum } = raft;
  return quorum.voters.some((voter) => isVoter(voter, nodeId, directoryId));
}

/** This member as the voters' record should have it; null where it does not know. */
export function ownVoterOf(raft: Raft): Voter | null {
  const { nodeId, directoryId, peers } = raft;
  return peers.endpoints.length === 0 ? null : voterOf(nodeId, directoryId, peers.endpoints);
}

/**
 * Whether this member may ask for votes: as a voter, or as one whose removal is not known to be committed. In the
 * latter case nobody else may be able to lead: the only other one with a say may lack the very record of the removal
 * (Ongaro's dissertation, section 4.2.2).
 */
export function mayStand(raft: Raft): boolean {
  const { nodeId, directoryId, earlierQuorums, highWatermark } = raft;
  if (isOwnVoter(raft)) return true;
  return earlierQuorums.some(
    ({ replacedAt, quorum }) =>
      replacedAt >= highWatermark && quorum.voters.some((voter) => isVoter(voter, nodeId, directoryId)),
  );
}

/** The voters beside this member. */
export function otherVoters(raft: Raft): readonly Voter[] {
  const { nodeId, directoryId, quorum } = raft;
  return quorum.voters.filter((voter) => !isVoter(voter, nodeId, directoryId));
}

/** What operators and metrics call the state of a member (KIP-595, KIP-996). */
export function stateName(raft: Raft): Role | 'voted' | 'observer' {
  const isQuiet = raft.role === 'unattached' || raft.role === 'follower';
  if (isQuiet && raft.quorum.voters.length > 0 && !isOwnVoter(raft)) return 'observer';
  return raft.role === 'unattached' && raft.votedId >= 0 ? 'voted' : raft.role;
}

/** The epoch of the last record of the log, or of what a snapshot at its end holds, and the offset behind it. */
export function logEnd(raft: Raft): { readonly epoch: number; readonly offset: number } {
  const newest = raft.snapshots[raft.snapshots.length - 1];
  // One that is about to take the place of the log ends above it.
  const isAtEnd = newest !== undefined && newest.endOffset >= raft.log.end;
  const epoch = Math.max(latestEpoch(raft.log), isAtEnd ? newest.epoch : 0);
  return { epoch, offset: isAtEnd ? newest.endOffset : raft.log.end };
}
