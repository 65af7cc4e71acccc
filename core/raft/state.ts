/**
 * What one member of a quorum remembers. Plain data; `raft.ts` has the theory.
 *
 * Invariants, always:
 * - `epoch` and `votedId` are in `quorum-state` on the disk before they stand here: a crash finds the same or newer.
 * - highWatermark <= log.durable, and it never goes back. -1 until an entry of an own epoch is committed.
 * - `lead` is not null exactly while `role` is 'leader'.
 * - `snapshots` ascends; each ends at or below the high watermark, and the log begins at or below the newest one's end.
 * - `asks` holds what was asked of the disk and not answered, beside what the log itself asked.
 */
import type { Ids } from '../lib/ids.ts';
import type { FileId } from '../lib/world.ts';
import type { Log } from '../log/log.ts';
import type { LogConfig } from '../log/types.ts';
import type { RecordBatch } from './batches.ts';
import type { CheckpointReader } from './checkpoint-read.ts';
import type { SnapshotId } from './names.ts';
import type { QuorumState } from './quorum-state.ts';
import type { Voter, VoterSet } from './voters.ts';

/** What the operator decided. */
export interface RaftConfig {
  /** Of the metadata log. `flushMessages` must be 1: a quorum counts only what is synced. */
  readonly log: LogConfig;
  /** metadata.log.max.record.bytes.between.snapshots */
  readonly snapshotBytes: number;
  /** metadata.log.max.snapshot.interval.ms; Infinity for never. */
  readonly snapshotIntervalMs: number;
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
}

/** Kafka's names (KIP-595). Those that a quorum of one never enters are not there yet. */
export type Role = 'unattached' | 'candidate' | 'leader' | 'resigned';

/** What only a leader knows. */
export interface Lead {
  /** Where the batch that began this epoch stands, and the offset behind it. */
  readonly epochStart: number;
  readonly epochStartNext: number;
  /** Whether that batch is committed: from then on the high watermark is known. */
  isConfirmed: boolean;
}

/** An election under way. */
export interface Candidacy {
  readonly epoch: number;
  /** Whose answer is awaited: that of the written vote, or of the written victory. */
  stage: 'vote' | 'victory';
}

/** What was asked of the disk, by ticket. */
export type RaftAsk =
  | { readonly kind: 'list' }
  | { readonly kind: 'quorumState' }
  | { readonly kind: 'files' }
  | { readonly kind: 'candidacy' }
  | { readonly kind: 'checkpoint'; readonly file: FileId }
  | { readonly kind: 'writing'; readonly file: FileId }
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
  readonly log: Log;
  stage: 'new' | 'opening' | 'open' | 'closing' | 'closed' | 'failed';
  role: Role;
  epoch: number;
  /** -1 when it is not known. */
  leaderId: number;
  quorum: VoterSet;
  /** Records below it are committed; -1 when it is not known. */
  highWatermark: number;
  lead: Lead | null;
  snapshots: SnapshotId[];
  // ----
  readonly ids: Ids;
  /** Of the metadata log. */
  readonly folder: string;
  readonly staticVoters: readonly Voter[];
  readonly config: RaftConfig;
  /** Whether the log, or a snapshot above offset 0, names the voters. */
  areVotersLogged: boolean;
  candidacy: Candidacy | null;
  /** When to stand for election again, `env.nowMs`; Infinity when not. */
  electAtMs: number;
  electBackoffMs: number;
  asks: Map<number, RaftAsk>;
  opening: Opening | null;
  reading: Reading | null;
  writing: Writing | null;
  /** Bytes appended since the newest snapshot, about. */
  unsnapshottedBytes: number;
  /** When a snapshot is due if anything was appended, `env.nowMs`. */
  snapshotAtMs: number;
  /** Files of snapshots that did not hold together; they go once there is a newer one. */
  badSnapshots: SnapshotId[];
}

/** What happened; pushed by `stepRaft` for the owner to act on. */
export type RaftEvent =
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
