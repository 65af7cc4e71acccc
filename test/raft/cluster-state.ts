/** What a quorum in a test consists of: its members, what will happen, and the manners of its network. Plain data. */
import type { Quorum, QuorumEvent } from '../../core/coordination/quorum.ts';
import type { CallKey, PeerKey } from '../../core/raft/raft.ts';
import type { Voter } from '../../core/raft/voters.ts';
import type { TallyShapes } from '../coordination/tally.ts';
import type { Dice, TestDisk } from '../log/disk.ts';

/** What one member tells, as the test hears it. */
export type TallyEvent = QuorumEvent<TallyShapes, number>;

/** One node. */
export interface Member {
  readonly id: number;
  /** Of its present disk. */
  directoryId: string;
  /** Whether that disk was formatted as a voter's. */
  isVoter: boolean;
  /** Where it says that it listens. */
  port: number;
  /** Whether it asks by itself to be made a voter. */
  autoJoins: boolean;
  disk: TestDisk;
  /** Null while it is down. */
  quorum: Quorum<TallyShapes, number> | null;
  /** Counts its starts: what belongs to an earlier one is dropped. */
  life: number;
  readonly ids: { owner: number; ticket: number; file: number; connection: number };
  /** Its clock is ahead of the cluster's by this. */
  readonly skewMs: number;
  pausedUntilMs: number;
  isDiskBusy: boolean;
  deadlineMs: number;
  /** What its recovery-point-offset-checkpoint says, and whether it stopped cleanly. */
  recoveryPoint: number;
  isClean: boolean;
  isStopping: boolean;
  /** What is in the image that it follows, from 'view', 'active' and 'changed': in this life, and ever. */
  seen: Set<string>;
  readonly everSeen: Set<string>;
}

/** Something that will happen. */
export interface Task {
  atMs: number;
  readonly order: number;
  /** Waits while that member is paused; null for the network's own. */
  readonly member: Member | null;
  readonly run: () => void;
}

/** The network's manners. */
export interface Network {
  delayMs: number;
  lossPercent: number;
  repeatPercent: number;
  /** 'from>to': nothing gets through that way, and nobody is told. */
  readonly cuts: Set<string>;
}

/** The whole. */
export interface Cluster {
  readonly dice: Dice;
  readonly members: Member[];
  readonly network: Network;
  readonly voters: readonly Voter[];
  readonly snapshotBytes: number;
  readonly isDynamic: boolean;
  nowMs: number;
  tasks: Task[];
  order: number;
  diskMs: number;
  waiters: Map<number, Waiting>;
  nextWaiter: number;
  readonly reached: Set<string>;
  /** Hears every event of a member, and every step. */
  onEvent: (member: Member, event: TallyEvent) => void;
  onStep: (member: Member) => void;
  /** Hears every answer, with the request. */
  onReply: (member: Member, apiKey: PeerKey, request: unknown, response: unknown) => void;
  /** Calls that were sent, by API key, for stories. */
  readonly sent: { readonly from: number; readonly to: number; readonly apiKey: CallKey; readonly body: unknown }[];
  /** Answers to calls, in the order in which they left, for stories. */
  readonly answered: { readonly by: number; readonly apiKey: PeerKey; readonly response: unknown }[];
}

/** An answer on its way. */
export interface Reply {
  readonly bytes: Uint8Array;
}

/** A request that a member has not answered. */
export interface Waiting {
  readonly member: Member;
  readonly version: number;
  readonly body: unknown;
  readonly end: (outcome: Reply | 'closed') => void;
}

/** Options of a cluster. */
export interface ClusterOptions {
  readonly dice?: Dice;
  readonly voters?: number;
  readonly observers?: number;
  readonly snapshotBytes?: number;
  /** kraft.version 1, from a bootstrap snapshot that names the voters; else 0, from the configuration. */
  readonly isDynamic?: boolean;
  /** Clocks that differ. */
  readonly isSkewed?: boolean;
}
