/**
 * A classic group: what its last record says, and what its members are about at the moment.
 *
 * `written` is the replay of records alone. All else is soft: it is made from `written` when the coordinator becomes
 * active, changed by handlers, and lost in a crash; members then come back, or their sessions end. The life of a group
 * is Kafka's:
 *
 *   Empty → PreparingRebalance   the first member joins
 *   PreparingRebalance → CompletingRebalance   all members have joined, or had their time: a new generation
 *   PreparingRebalance → Empty   nobody is left
 *   CompletingRebalance → Stable   the leader has brought the assignment
 *   CompletingRebalance, Stable → PreparingRebalance   somebody joins, leaves or goes silent
 *
 * A group that is removed is gone: nobody holds on to it.
 *
 * Invariants: members have ids that are not among `pendingMembers`; a static member's id is in `staticMembers`; only
 * in PreparingRebalance does anybody wait for JoinGroup, only in CompletingRebalance for SyncGroup; `leaderId` is a
 * member's or null.
 */
import type { Timed } from '../lib/heap.ts';
import type { GroupMetadataValue } from '../protocol/groups/classic.ts';

/** Kafka's names for the states, as they are described to clients. */
export type ClassicState = 'Empty' | 'PreparingRebalance' | 'CompletingRebalance' | 'Stable';

/** A protocol that a member can do, with its subscription in it. */
export interface MemberProtocol {
  readonly name: string;
  readonly metadata: Uint8Array;
}

/** A member. */
export interface ClassicMember {
  readonly memberId: string;
  readonly groupInstanceId: string | null;
  clientId: string;
  clientHost: string;
  rebalanceTimeoutMs: number;
  sessionTimeoutMs: number;
  protocolType: string;
  /** In the member's order of preference. */
  protocols: readonly MemberProtocol[];
  assignment: Uint8Array;
  /** Whoever waits for JoinGroup; -1: nobody. */
  joinWaiter: number;
  /** Whoever waits for SyncGroup; -1: nobody. */
  syncWaiter: number;
  /** The member is new and its first JoinGroup has not been answered: only its client's time-out ends it. */
  isNew: boolean;
  /** When its session ends if nothing is heard of it, `nowMs`; it holds while the member waits for an answer, too. */
  sessionDeadlineMs: number;
  /** The generation in which the coordinator heard its SyncGroup last; -1: in none. */
  syncedGeneration: number;
}

/** The group. */
export interface ClassicGroup extends Timed {
  readonly kind: 'classic';
  readonly groupId: string;
  /** The last record of the group; null where there is none. Changed by replay alone. */
  written: GroupMetadataValue | null;

  state: ClassicState;
  /** When the group came to its state, ms since 1970; -1: unknown. */
  stateTimestampMs: number;
  generation: number;
  /** Empty: none, a group that only keeps offsets. */
  protocolType: string;
  protocolName: string | null;
  leaderId: string | null;
  readonly members: Map<string, ClassicMember>;
  /** The id of each static member, by its instance id. */
  readonly staticMembers: Map<string, string>;
  /** Ids that were given out and not used yet, with the time when they lapse, `nowMs`. */
  readonly pendingMembers: Map<string, number>;
  /** The topics that members of protocol type 'consumer' read; null: unknown. */
  subscribedTopics: ReadonlySet<string> | null;
  /** PreparingRebalance: when those who have not joined are given up, `nowMs`. */
  joinDeadlineMs: number;
  /** While the first members of an empty group gather: how much longer may be waited, and for whom. Null: no more. */
  gathering: { remainingMs: number; hasNewMember: boolean } | null;
  /** CompletingRebalance: when those who have not called SyncGroup are given up, `nowMs`. */
  syncDeadlineMs: number;
}

/** A group without members and records. */
export function createClassicGroup(groupId: string, wallMs: number): ClassicGroup {
  return {
    kind: 'classic',
    groupId,
    deadlineMs: Number.POSITIVE_INFINITY,
    heapIndex: -1,
    written: null,
    state: 'Empty',
    stateTimestampMs: wallMs,
    generation: 0,
    protocolType: '',
    protocolName: null,
    leaderId: null,
    members: new Map(),
    staticMembers: new Map(),
    pendingMembers: new Map(),
    subscribedTopics: null,
    joinDeadlineMs: Number.POSITIVE_INFINITY,
    gathering: null,
    syncDeadlineMs: Number.POSITIVE_INFINITY,
  };
}
