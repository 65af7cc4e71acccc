/**
 * A consumer group as it will be when the records of the call at hand are replayed: the group, and over it what the
 * call has decided so far. Handlers read and change drafts; the group itself changes by replay.
 *
 * Invariant: what a draft says is what the group says after its records are replayed in order. Lives for one call.
 */
import type { PartitionsByTopic } from '../assignors/server-shapes.ts';
import { setDeadline } from '../lib/heap.ts';
import { ErrorCode } from '../protocol/errors.ts';
import type { GroupRecord } from '../protocol/group-records.ts';
import { answerAll } from './classic-answers.ts';
import { memberTombstones } from './consumer-records.ts';
import {
  type ConsumerGroup,
  type ConsumerMember,
  createConsumerGroup,
  type MemberTimers,
  type ResolvedRegex,
} from './consumer-state.ts';
import type { GroupConfig, GroupWork } from './shapes.ts';
import type { GroupState } from './state.ts';

/** Why a call is refused. */
export interface Refusal {
  readonly refused: number;
  readonly message: string;
}

/** Refuses a call with one of Kafka's error codes. */
export function refuse(refused: number, message: string): Refusal {
  return { refused, message };
}

/** Whether it is a refusal. */
export function isRefusal<T extends object>(value: T | Refusal): value is Refusal {
  return 'refused' in value;
}

/** No such member. */
export function unknownMember(groupId: string, memberId: string): Refusal {
  return refuse(ErrorCode.UNKNOWN_MEMBER_ID, `Member ${memberId} is not a member of group ${groupId}.`);
}

/** The draft. */
export interface Draft {
  readonly group: ConsumerGroup;
  readonly config: GroupConfig;
  readonly work: GroupWork;
  /** Members that are new or other than in the group, by id; null: gone. */
  readonly changed: Map<string, ConsumerMember | null>;
  /** Targets that are new, by member id. Those of members that are gone do not count. */
  readonly targets: Map<string, PartitionsByTopic>;
  /** Expressions that are new or looked up anew; null: gone. */
  readonly regexes: Map<string, ResolvedRegex | null>;
  epoch: number;
  targetEpoch: number;
}

/** A draft without changes. `group` need not be in `state.groups` yet: see `settleDraft`. */
export function createDraft(state: GroupState, work: GroupWork, group: ConsumerGroup): Draft {
  return {
    group,
    config: state.config,
    work,
    changed: new Map(),
    targets: new Map(),
    regexes: new Map(),
    epoch: group.epoch,
    targetEpoch: group.targetEpoch,
  };
}

/** Writes a record. */
export function write(draft: Draft, ...records: readonly GroupRecord[]): void {
  draft.work.records.push(...records);
}

/** A member as it will be; undefined if there is none. */
export function draftMember(draft: Draft, memberId: string): ConsumerMember | undefined {
  const changed = draft.changed.get(memberId);
  return changed === undefined ? draft.group.members.get(memberId) : (changed ?? undefined);
}

/** All members as they will be. */
export function* draftMembers(draft: Draft): IterableIterator<ConsumerMember> {
  for (const member of draft.group.members.values()) if (!draft.changed.has(member.memberId)) yield member;
  for (const member of draft.changed.values()) if (member !== null) yield member;
}

/** How many members there will be. */
export function draftSize(draft: Draft): number {
  let size = draft.group.members.size;
  for (const [memberId, member] of draft.changed) {
    const isThere = draft.group.members.has(memberId);
    if (member === null && isThere) size -= 1;
    else if (member !== null && !isThere) size += 1;
  }
  return size;
}

const NOTHING: PartitionsByTopic = new Map();

/** What a member is to have. */
export function draftTarget(draft: Draft, memberId: string): PartitionsByTopic {
  return draft.targets.get(memberId) ?? draft.group.targets.get(memberId) ?? NOTHING;
}

/** What an expression means; undefined if it was not looked up. */
export function draftRegex(draft: Draft, regex: string): ResolvedRegex | undefined {
  const changed = draft.regexes.get(regex);
  return changed === undefined ? draft.group.regexes.get(regex) : (changed ?? undefined);
}

/** Whether nobody but `memberId`, or members that go by this very draft, has a partition. */
export function isFreeFor(draft: Draft, memberId: string, topicId: string, partition: number): boolean {
  const owner = draft.group.owners.get(topicId)?.get(partition);
  return owner === undefined || owner === memberId || draft.changed.get(owner) === null;
}

/** Takes a member out of the group. */
export function removeMember(draft: Draft, memberId: string): void {
  write(draft, ...memberTombstones(draft.group.groupId, memberId));
  draft.changed.set(memberId, null);
  draft.targets.delete(memberId);
}

/** The timers of a member, made if there are none. */
export function timersOf(group: ConsumerGroup, memberId: string): MemberTimers {
  const timers = group.timers.get(memberId);
  if (timers !== undefined) return timers;
  const never = Number.POSITIVE_INFINITY;
  const made = { sessionMs: never, rebalanceMs: never, joinMs: never, syncMs: never };
  group.timers.set(memberId, made);
  return made;
}

/**
 * Sees to it that the group is there when its records are replayed: what is soft in it must outlive the call. A group
 * that is new, or takes the place of a classic one, begins as a shell without anything hard in it.
 */
export function settleDraft(state: GroupState, draft: Draft): ConsumerGroup {
  const { group } = draft;
  const before = state.groups.get(group.groupId);
  if (before === group) return group;
  if (before !== undefined) setDeadline(state.deadlines, before, Number.POSITIVE_INFINITY);
  // They join again, and are members of the new group then.
  if (before?.kind === 'classic') answerAll(draft.work, before, ErrorCode.REBALANCE_IN_PROGRESS);
  const shell = createConsumerGroup(group.groupId);
  for (const [memberId, timers] of group.timers) {
    shell.timers.set(memberId, timers);
    wakeBy(state, shell, timers.sessionMs);
  }
  shell.seen = group.seen;
  shell.regexesDueMs = group.regexesDueMs;
  shell.hashed = group.hashed;
  state.groups.set(shell.groupId, shell);
  return shell;
}

/** Wakes the group no later than `deadlineMs`. */
export function wakeBy(state: GroupState, group: ConsumerGroup, deadlineMs: number): void {
  if (deadlineMs < group.deadlineMs) setDeadline(state.deadlines, group, deadlineMs);
}
