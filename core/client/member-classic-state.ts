/**
 * The state of a member of a classic group; `member-classic.ts` has the theory.
 */
import type { ClientAssignorName } from '../assignors/client-assignors.ts';
import type { TopicPartitions } from '../assignors/client-shapes.ts';

/** How a member of a classic group behaves; all of it plain data, under Kafka's names. */
export interface ClassicMemberOptions {
  /** `group.instance.id`; null for a dynamic member. */
  readonly instanceId: string | null;
  /** `client.rack`; null where it is not known. */
  readonly rack: string | null;
  readonly sessionTimeoutMs: number;
  readonly heartbeatIntervalMs: number;
  /** `max.poll.interval.ms`: how long the owner may stay away, and how long others wait for this member to join. */
  readonly maxPollIntervalMs: number;
  readonly retryBackoffMs: number;
  readonly requestTimeoutMs: number;
  /** `partition.assignment.strategy`, the preferred one first. */
  readonly assignors: readonly ClientAssignorName[];
}

/**
 * idle: wants nothing. preparing: is to join and gives up first what must be given up. joining: JoinGroup.
 * assigning: leads, and waits to know all topics. syncing: SyncGroup. completing: takes over its assignment. stable.
 * leaving: LeaveGroup. stalled: its owner stayed away for too long; it joins again when it comes back.
 * failed: does nothing until it is told to want something anew.
 */
export type ClassicPhase =
  | 'idle'
  | 'preparing'
  | 'joining'
  | 'assigning'
  | 'syncing'
  | 'completing'
  | 'stable'
  | 'leaving'
  | 'stalled'
  | 'failed';

/** Bytes of a member's subscription, as the leader is told them. */
export interface ToldMember {
  readonly memberId: string;
  readonly groupInstanceId: string | null;
  readonly metadata: Uint8Array;
}

/** The state, plain data. */
export interface ClassicMember {
  readonly options: ClassicMemberOptions;
  phase: ClassicPhase;
  /** Topics that are wanted, sorted; null for no membership. */
  topics: readonly string[] | null;
  /** What the last JoinGroup said. */
  joinedTopics: readonly string[];
  /** Empty until the coordinator has given one. */
  memberId: string;
  /** -1 outside of any. */
  generation: number;
  /** The assignor of the generation; empty for none. */
  protocol: string;
  isLeader: boolean;
  /** What a leader is to share out, in 'assigning' and 'syncing'. */
  told: readonly ToldMember[];
  /** The leader is to leave things as they are. */
  skipsAssignment: boolean;
  /** What is owned, and since which generation. */
  owned: readonly TopicPartitions[];
  ownedGeneration: number;
  /** The last assignment, for assignors that remember; kept when it is given up. */
  previous: readonly TopicPartitions[];
  previousGeneration: number;
  /** What the owner has been told and has not called done. */
  awaits: 'revoke' | 'lost' | 'assign' | null;
  /** In 'completing': what is to be owned when the owner has done with the rest. */
  next: readonly TopicPartitions[];
  /** The JoinGroup, SyncGroup or LeaveGroup that is out; 0 for none. */
  call: number;
  /** The heartbeat that is out; 0 for none. */
  heartbeat: number;
  /** The generation that it was sent for. */
  heartbeatGeneration: number;
  heartbeatAtMs: number;
  /** How long after that one the next one is due; at most `heartbeat.interval.ms`. */
  paceMs: number;
  /** When the coordinator was last heard of. */
  heardMs: number;
  /** When the owner last came for records; Infinity while it waits for some. */
  polledMs: number;
  /** The group, or the owner, wants another generation. */
  needsRejoin: boolean;
  /** For the log of the broker. */
  reason: string;
  /** The membership was taken away: what is owned is lost. */
  isOusted: boolean;
  retryAtMs: number;
  failures: number;
  /** What the leader knew of the topics when it shared them out: partitions and racks of each. */
  seen: ReadonlyMap<string, string>;
  seenRefreshes: number;
  leaveUntilMs: number;
  /** Leaving, a static member gives up its place too. */
  isRemoved: boolean;
}

/** A member that wants nothing yet. */
export function createClassicMember(options: ClassicMemberOptions): ClassicMember {
  return {
    options,
    phase: 'idle',
    topics: null,
    joinedTopics: [],
    memberId: '',
    generation: -1,
    protocol: '',
    isLeader: false,
    told: [],
    skipsAssignment: false,
    owned: [],
    ownedGeneration: -1,
    previous: [],
    previousGeneration: -1,
    awaits: null,
    next: [],
    call: 0,
    heartbeat: 0,
    heartbeatGeneration: -1,
    heartbeatAtMs: 0,
    paceMs: 0,
    heardMs: 0,
    polledMs: 0,
    needsRejoin: false,
    reason: '',
    isOusted: false,
    retryAtMs: 0,
    failures: 0,
    seen: new Map(),
    seenRefreshes: -1,
    leaveUntilMs: 0,
    isRemoved: false,
  };
}
