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
 * member's or null; `protocolCounts`, `joiningCount` and `heldBytes` count what is in `members`.
 */
import { assert } from '../lib/assert.ts';
import { isSameBytes } from '../lib/bytes.ts';
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
  readonly clientId: string;
  readonly clientHost: string;
  rebalanceTimeoutMs: number;
  sessionTimeoutMs: number;
  /** In the member's order of preference. Changed by `updateMember` only. */
  protocols: readonly MemberProtocol[];
  assignment: Uint8Array;
  /** Whoever waits for JoinGroup; -1: nobody. Changed by `setJoinWaiter` only. */
  joinWaiter: number;
  /** Whoever waits for SyncGroup; -1: nobody. */
  syncWaiter: number;
  /** The member's first JoinGroup has not been answered: waiting does not keep it alive for ever. */
  isNew: boolean;
  /** When it is given up if nothing is heard of it, `nowMs`; Infinity: while it waits, or until it is heard of. */
  sessionDeadlineMs: number;
}

/** While the first members of an empty group gather. */
export interface Gathering {
  /** What was waited for last, ms. */
  delayMs: number;
  /** How much longer may be waited, ms. */
  remainingMs: number;
  /** Somebody came since: it is worth waiting on. */
  hasNewMember: boolean;
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
  /** Members of the generation that have not called SyncGroup yet. */
  readonly pendingSync: Set<string>;
  /** How many members can do each protocol. */
  readonly protocolCounts: Map<string, number>;
  /** How many members wait for JoinGroup. */
  joiningCount: number;
  /** What the protocols of all members take in memory, about. */
  heldBytes: number;
  /** The topics that members of protocol type 'consumer' read; null: unknown. */
  subscribedTopics: ReadonlySet<string> | null;
  /** PreparingRebalance: when those who have not joined are given up, `nowMs`. */
  joinDeadlineMs: number;
  /** PreparingRebalance of a group that was empty; null otherwise. */
  gathering: Gathering | null;
  /** CompletingRebalance, Stable: when those who have not called SyncGroup are given up, `nowMs`. */
  syncDeadlineMs: number;
}

/** Of a protocol beside its name and what is said under it. */
const PROTOCOL_BYTES = 64;

/** A group without members and records. */
export function createClassicGroup(groupId: string, stateTimestampMs: number): ClassicGroup {
  return {
    kind: 'classic',
    groupId,
    deadlineMs: Number.POSITIVE_INFINITY,
    heapIndex: -1,
    written: null,
    state: 'Empty',
    stateTimestampMs,
    generation: 0,
    protocolType: '',
    protocolName: null,
    leaderId: null,
    members: new Map(),
    staticMembers: new Map(),
    pendingMembers: new Map(),
    pendingSync: new Set(),
    protocolCounts: new Map(),
    joiningCount: 0,
    heldBytes: 0,
    subscribedTopics: null,
    joinDeadlineMs: Number.POSITIVE_INFINITY,
    gathering: null,
    syncDeadlineMs: Number.POSITIVE_INFINITY,
  };
}

/** A member that nobody waits for and that is not new. */
export function createMember(
  head: Pick<ClassicMember, 'memberId' | 'groupInstanceId' | 'clientId' | 'clientHost'>,
  timeouts: Pick<ClassicMember, 'rebalanceTimeoutMs' | 'sessionTimeoutMs'>,
  protocols: readonly MemberProtocol[],
  assignment: Uint8Array,
): ClassicMember {
  const { memberId, groupInstanceId, clientId, clientHost } = head;
  const { rebalanceTimeoutMs, sessionTimeoutMs } = timeouts;
  return {
    memberId,
    groupInstanceId,
    clientId,
    clientHost,
    rebalanceTimeoutMs,
    sessionTimeoutMs,
    protocols,
    assignment,
    joinWaiter: -1,
    syncWaiter: -1,
    isNew: false,
    sessionDeadlineMs: Number.POSITIVE_INFINITY,
  };
}

/** Whether joining members gather in a group that was empty: it is not over before its time. */
export function isGathering(group: ClassicGroup): boolean {
  return group.state === 'PreparingRebalance' && group.gathering !== null;
}

/** Adds a member; the first decides the type of the protocol and leads. */
export function addMember(group: ClassicGroup, member: ClassicMember, protocolType: string): void {
  const { memberId, groupInstanceId } = member;
  assert(!group.members.has(memberId), 'a member is added once');
  if (groupInstanceId !== null) {
    assert(!group.staticMembers.has(groupInstanceId), 'an instance has one member');
    group.staticMembers.set(groupInstanceId, memberId);
  }
  if (group.members.size === 0) group.protocolType = protocolType;
  assert(group.protocolType === protocolType, 'all members speak one type of protocol');
  group.leaderId ??= memberId;
  group.members.set(memberId, member);
  group.pendingMembers.delete(memberId);
  countProtocols(group, member, 1);
  if (member.joinWaiter >= 0) group.joiningCount += 1;
}

/** Removes a member, or an id that was given out; whoever waited for it was answered before. */
export function removeMember(group: ClassicGroup, memberId: string): void {
  group.pendingMembers.delete(memberId);
  group.pendingSync.delete(memberId);
  const member = group.members.get(memberId);
  if (member === undefined) return;
  assert(member.joinWaiter < 0, 'whoever waits to join is answered before its member goes');
  assert(member.syncWaiter < 0, 'whoever waits for an assignment is answered before its member goes');
  group.members.delete(memberId);
  countProtocols(group, member, -1);
  if (member.groupInstanceId !== null) group.staticMembers.delete(member.groupInstanceId);
  if (group.leaderId === memberId) group.leaderId = group.members.keys().next().value ?? null;
}

/** A member says anew what it can do and how long it may be silent. */
export function updateMember(
  group: ClassicGroup,
  member: ClassicMember,
  said: Pick<ClassicMember, 'protocols' | 'rebalanceTimeoutMs' | 'sessionTimeoutMs'>,
): void {
  countProtocols(group, member, -1);
  member.protocols = said.protocols;
  countProtocols(group, member, 1);
  member.rebalanceTimeoutMs = said.rebalanceTimeoutMs;
  member.sessionTimeoutMs = said.sessionTimeoutMs;
}

/** Says who waits for the answer to the member's JoinGroup; -1: nobody any more. */
export function setJoinWaiter(group: ClassicGroup, member: ClassicMember, waiter: number): void {
  if (member.joinWaiter < 0 && waiter >= 0) group.joiningCount += 1;
  if (member.joinWaiter >= 0 && waiter < 0) group.joiningCount -= 1;
  member.joinWaiter = waiter;
}

/** What a member says of itself takes so much memory, about, bytes: names, and what is said under each. */
export function protocolBytes(protocols: readonly MemberProtocol[]): number {
  let sizeBytes = 0;
  for (const { name, metadata } of protocols) sizeBytes += PROTOCOL_BYTES + name.length + metadata.length;
  return sizeBytes;
}

function countProtocols(group: ClassicGroup, member: ClassicMember, by: 1 | -1): void {
  group.heldBytes += by * protocolBytes(member.protocols);
  for (const { name } of member.protocols) {
    const count = (group.protocolCounts.get(name) ?? 0) + by;
    if (count === 0) group.protocolCounts.delete(name);
    else group.protocolCounts.set(name, count);
  }
}

/** Whether a member that can do `protocols` may be in the group: any will do in an empty one, else a common one. */
export function supportsProtocols(
  group: ClassicGroup,
  protocolType: string,
  protocols: readonly MemberProtocol[],
): boolean {
  if (group.state === 'Empty') return protocolType !== '' && protocols.length > 0;
  if (group.protocolType !== protocolType) return false;
  const { size } = group.members;
  return protocols.some(({ name }) => (group.protocolCounts.get(name) ?? 0) === size);
}

/** The protocol that all members can do and most prefer; the first of equals to be preferred by anybody. */
export function selectProtocol(group: ClassicGroup): string {
  const votes = new Map<string, number>();
  for (const member of group.members.values()) {
    const vote = member.protocols.find(({ name }) => group.protocolCounts.get(name) === group.members.size);
    assert(vote !== undefined, 'all members have a protocol in common');
    votes.set(vote.name, (votes.get(vote.name) ?? 0) + 1);
  }
  let best: string | null = null;
  for (const [name, count] of votes) if (best === null || count > (votes.get(best) ?? 0)) best = name;
  assert(best !== null, 'a protocol is chosen for members');
  return best;
}

/** What the member says of itself in a protocol; empty if it cannot do it. */
export function metadataOf(member: ClassicMember, protocolName: string | null): Uint8Array {
  return member.protocols.find(({ name }) => name === protocolName)?.metadata ?? NO_BYTES;
}

/** Whether two members can do the same, say the same under each and prefer the same. */
export function isSameProtocols(a: readonly MemberProtocol[], b: readonly MemberProtocol[]): boolean {
  if (a.length !== b.length) return false;
  return a.every(({ name, metadata }, i) => {
    const other = b[i];
    return other !== undefined && other.name === name && isSameBytes(other.metadata, metadata);
  });
}

/** Nothing assigned, nothing said. */
export const NO_BYTES = new Uint8Array(0);

/** Whether all members wait for the next generation and no id is out that may come yet. */
export function hasAllJoined(group: ClassicGroup): boolean {
  return group.joiningCount === group.members.size && group.pendingMembers.size === 0;
}

/** The longest time that any member asks for to join again, ms; 0 without members. */
export function rebalanceTimeoutMs(group: ClassicGroup): number {
  let longestMs = 0;
  for (const member of group.members.values()) longestMs = Math.max(longestMs, member.rebalanceTimeoutMs);
  return longestMs;
}

/** Throws AssertionError if an invariant is broken; true between any two calls. */
export function checkClassicGroup(group: ClassicGroup): void {
  const { state, members, leaderId } = group;
  let joining = 0;
  let heldBytes = 0;
  for (const member of members.values()) {
    const { memberId, groupInstanceId, joinWaiter, syncWaiter } = member;
    assert(!group.pendingMembers.has(memberId), 'a member is not pending');
    heldBytes += protocolBytes(member.protocols);
    if (joinWaiter >= 0) joining += 1;
    if (joinWaiter >= 0) assert(state === 'PreparingRebalance', 'members wait to join while a rebalance is prepared');
    if (syncWaiter >= 0) assert(state === 'CompletingRebalance', 'members wait for an assignment while it is made');
    if (groupInstanceId !== null) {
      assert(group.staticMembers.get(groupInstanceId) === memberId, 'a static member is known by its instance');
    }
  }
  assert(joining === group.joiningCount, 'those who wait to join are counted');
  assert(heldBytes === group.heldBytes, 'what members say of themselves is counted');
  assert(members.size > 0 || leaderId === null, 'nobody leads nobody');
  if (members.size > 0) assert(members.has(leaderId ?? ''), 'the leader is a member');
  if (state === 'Empty') assert(members.size === 0, 'an empty group has no members');
  if (state === 'PreparingRebalance') {
    assert(group.joinDeadlineMs < Number.POSITIVE_INFINITY, 'a rebalance that is prepared ends in its time');
  }
  if (group.pendingSync.size > 0) {
    assert(group.syncDeadlineMs < Number.POSITIVE_INFINITY, 'members have their time to ask for their assignment');
  }
}
