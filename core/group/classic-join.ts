/**
 * JoinGroup of the classic protocol.
 *
 * A dynamic member comes without an id, is given one (and must come again with it, from version 4 on, so that a client
 * that gave up in between leaves no member behind), and waits for the next generation. A static member is known by
 * its instance id: one that comes without an id takes the place of its former self, without a rebalance where that
 * changes nothing for the others. Whoever is in the group and says nothing new hears of the generation at once.
 */
import { ErrorCode } from '../protocol/errors.ts';
import type { GroupRecord } from '../protocol/group-records.ts';
import type { JoinGroupRequest } from '../protocol/messages/11-join-group.ts';
import { answerJoin, answerSync, joined, joinedAs, joinRefused, syncRefused } from './classic-answers.ts';
import {
  addMember,
  type ClassicGroup,
  type ClassicMember,
  createClassicGroup,
  createMember,
  isGathering,
  isSameProtocols,
  type MemberProtocol,
  NO_BYTES,
  protocolBytes,
  removeMember,
  selectProtocol,
  setJoinWaiter,
  supportsProtocols,
  updateMember,
} from './classic-group.ts';
import { completeIfAllJoined, prepareRebalance, rebalanceOrComplete, touch, wakeBy } from './classic-rebalance.ts';
import { memberError } from './classic-sync.ts';
import {
  distinctProtocols,
  generationRecord,
  generationSize,
  newGroupRecord,
  owesPartitions,
  renamedRecord,
  sharesWhatThereIs,
  topicsOf,
} from './classic-written.ts';
import { consumerTombstones, joinConsumerGroup } from './consumer.ts';
import { MEMBER_ID_SINCE, newMemberId } from './member-ids.ts';
import type { GroupCallOf, GroupWork } from './shapes.ts';
import { type Group, type GroupState, groupOf } from './state.ts';
import { groupIdError, isStorable } from './texts.ts';

/** A new member whose JoinGroup waits is given up after this time, ms: it cannot say that it is alive. */
const NEW_MEMBER_TIMEOUT_MS = 5 * 60_000;
/** Ids of one group that were given out and not used yet, at most. */
const PENDING_MEMBERS_MAX = 10_000;
/**
 * What the members of a group may say of themselves, all protocols together, in records that may be written of it: a
 * generation is one record, so most of more than this could never be written, and would only be held.
 */
const HELD_RECORDS_MAX = 4;
/** Characters of a client's own name that go into the id of its member. */
const ID_PREFIX_CHARS_MAX = 249;
/** From this version on a leader can be told to leave the assignment as it is. */
const SKIP_SINCE = 9;

/** A call with all that follows from it. */
interface Join {
  readonly waiter: number;
  readonly call: GroupCallOf<'joinGroup'>;
  readonly body: JoinGroupRequest;
  readonly protocols: readonly MemberProtocol[];
  readonly rebalanceTimeoutMs: number;
}

/** Takes a JoinGroup: answers at once, or when the next generation begins. */
export function joinGroup(state: GroupState, work: GroupWork, waiter: number, call: GroupCallOf<'joinGroup'>): void {
  const { body } = call;
  const { groupId, memberId } = body;
  const error = callError(state, call);
  if (error !== ErrorCode.NONE) {
    work.answers.push({ waiter, body: joinRefused(error, memberId) });
    return;
  }
  const found = groupOf(state, groupId);
  if (found?.kind === 'consumer' && found.members.size > 0) {
    joinConsumerGroup(state, work, waiter, found, call);
    return;
  }
  const isKnown = found?.kind === 'classic';
  if (!isKnown && memberId !== '') {
    work.answers.push({ waiter, body: joinRefused(ErrorCode.UNKNOWN_MEMBER_ID, memberId) });
    return;
  }
  const group = found?.kind === 'classic' ? found : beginGroup(state, work, groupId, found);
  const before = work.records.length;
  joinClassicGroup(state, work, group, createJoin(waiter, call));
  // The group exists from now on, whatever becomes of who asked.
  if (!isKnown && work.records.length === before) work.records.push(newGroupRecord(group));
}

/** What is wrong with the call, whatever the group. */
function callError(state: GroupState, { body, clientId }: GroupCallOf<'joinGroup'>): number {
  const { sessionTimeoutMs, memberId, groupInstanceId, protocolType, protocols } = body;
  const { sessionTimeoutMinMs, sessionTimeoutMaxMs } = state.config;
  const idError = groupIdError(body.groupId);
  if (idError !== ErrorCode.NONE) return idError;
  if (sessionTimeoutMs < sessionTimeoutMinMs || sessionTimeoutMs > sessionTimeoutMaxMs) {
    return ErrorCode.INVALID_SESSION_TIMEOUT;
  }
  const texts = [clientId, memberId, groupInstanceId ?? '', protocolType, ...protocols.map(({ name }) => name)];
  return texts.every(isStorable) ? ErrorCode.NONE : ErrorCode.INVALID_REQUEST;
}

/** A new group; in the place of an empty one of the other protocol, if there is one, whose records go. */
function beginGroup(state: GroupState, work: GroupWork, groupId: string, found: Group | undefined): ClassicGroup {
  const group = createClassicGroup(groupId, work.wallMs);
  if (found?.kind === 'consumer') {
    work.records.push(...consumerTombstones(found));
    state.downgraded.set(groupId, group);
  } else {
    state.groups.set(groupId, group);
  }
  return group;
}

function createJoin(waiter: number, call: GroupCallOf<'joinGroup'>): Join {
  const { body, apiVersion } = call;
  const protocols = distinctProtocols(body.protocols);
  // Version 0 has one time-out for both.
  const rebalanceTimeoutMs = apiVersion === 0 ? body.sessionTimeoutMs : body.rebalanceTimeoutMs;
  return { waiter, call, body, protocols, rebalanceTimeoutMs };
}

function joinClassicGroup(state: GroupState, work: GroupWork, group: ClassicGroup, join: Join): void {
  const { memberId, protocolType, groupInstanceId } = join.body;
  if (!hasRoom(state, group, memberId) || !hasMemory(state, group, join)) {
    dropPending(group, memberId);
    refuse(work, join, ErrorCode.GROUP_MAX_SIZE_REACHED, '');
    return;
  }
  if (!supportsProtocols(group, protocolType, join.protocols)) {
    refuse(work, join, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, memberId);
  } else if (memberId === '') {
    joinAsNew(state, work, group, join);
  } else if (group.pendingMembers.has(memberId)) {
    // An id was given out for a dynamic member; it cannot become a static one's.
    if (groupInstanceId !== null) refuse(work, join, ErrorCode.UNKNOWN_MEMBER_ID, memberId);
    else enroll(state, work, group, memberId, join);
  } else {
    joinAgain(state, work, group, join);
  }
}

function refuse(work: GroupWork, join: Join, errorCode: number, memberId: string): void {
  work.answers.push({ waiter: join.waiter, body: joinRefused(errorCode, memberId) });
}

function dropPending(group: ClassicGroup, memberId: string): void {
  if (!group.members.has(memberId)) removeMember(group, memberId);
}

/**
 * Whether the group may take the member. While a rebalance is prepared those who wait count, not those who may come:
 * so a group that is too large gets small again.
 */
function hasRoom(state: GroupState, group: ClassicGroup, memberId: string): boolean {
  const { sizeMax } = state.config;
  const member = group.members.get(memberId);
  switch (group.state) {
    case 'Empty':
      return true;
    case 'PreparingRebalance':
      return (member !== undefined && member.joinWaiter >= 0) || group.joiningCount < sizeMax;
    default:
      return member !== undefined || group.members.size < sizeMax;
  }
}

/** Whether the group may hold what the member says of itself, in the place of what it said before. */
function hasMemory({ config }: GroupState, group: ClassicGroup, { body, protocols }: Join): boolean {
  const { memberId, groupInstanceId } = body;
  const formerId = groupInstanceId === null ? memberId : group.staticMembers.get(groupInstanceId);
  const former = group.members.get(formerId ?? '');
  const heldBytes = group.heldBytes - protocolBytes(former?.protocols ?? []);
  return heldBytes + protocolBytes(protocols) <= HELD_RECORDS_MAX * config.recordSizeMax;
}

function joinAsNew(state: GroupState, work: GroupWork, group: ClassicGroup, join: Join): void {
  const { body, call } = join;
  const { groupInstanceId } = body;
  if (groupInstanceId !== null) {
    const memberId = newMemberId(groupInstanceId, work.uuid);
    const formerId = group.staticMembers.get(groupInstanceId);
    const renamed = renamedRecord(group, groupInstanceId, memberId);
    if (formerId === undefined) {
      work.records.push(...renamed);
      enroll(state, work, group, memberId, join);
    } else replaceStatic(state, work, group, { formerId, memberId, renamed }, join);
    return;
  }
  const memberId = newMemberId(shortened(call.clientId), work.uuid);
  if (call.apiVersion < MEMBER_ID_SINCE) {
    enroll(state, work, group, memberId, join);
  } else if (group.pendingMembers.size >= PENDING_MEMBERS_MAX) {
    refuse(work, join, ErrorCode.GROUP_MAX_SIZE_REACHED, '');
  } else {
    const lapsesMs = work.nowMs + body.sessionTimeoutMs;
    group.pendingMembers.set(memberId, lapsesMs);
    wakeBy(state, group, lapsesMs);
    refuse(work, join, ErrorCode.MEMBER_ID_REQUIRED, memberId);
  }
}

/** The beginning of a name, without half a character at its end. */
function shortened(name: string): string {
  const last = name.codePointAt(ID_PREFIX_CHARS_MAX - 1) ?? 0;
  return name.slice(0, last > 0xffff ? ID_PREFIX_CHARS_MAX - 1 : ID_PREFIX_CHARS_MAX);
}

/** Makes a member of whoever joins: it waits for the next generation. */
function enroll(state: GroupState, work: GroupWork, group: ClassicGroup, memberId: string, join: Join): void {
  const { call, body, protocols, rebalanceTimeoutMs, waiter } = join;
  const { clientId, clientHost } = call;
  const head = { memberId, groupInstanceId: body.groupInstanceId, clientId, clientHost };
  const timeouts = { rebalanceTimeoutMs, sessionTimeoutMs: body.sessionTimeoutMs };
  const member = createMember(head, timeouts, protocols, NO_BYTES);
  member.isNew = true;
  if (isGathering(group) && group.gathering !== null) group.gathering.hasNewMember = true;
  addMember(group, member, body.protocolType);
  setJoinWaiter(group, member, waiter);
  touch(state, work, group, member, NEW_MEMBER_TIMEOUT_MS);
  rebalanceOrComplete(state, work, group);
}

/** JoinGroup of a member that has an id. */
function joinAgain(state: GroupState, work: GroupWork, group: ClassicGroup, join: Join): void {
  const { memberId, groupInstanceId } = join.body;
  const error = memberError(group, memberId, groupInstanceId);
  const member = group.members.get(memberId);
  if (error !== ErrorCode.NONE || member === undefined) {
    refuse(work, join, error, memberId);
    return;
  }
  const saysNothingNew = isSameProtocols(member.protocols, join.protocols);
  const isLeader = group.leaderId === memberId;
  // In Stable the leader asks for a rebalance by joining: something has changed that only it sees.
  const isSettled = group.state === 'CompletingRebalance' || (group.state === 'Stable' && !isLeader);
  if (isSettled && saysNothingNew) {
    work.answers.push({ waiter: join.waiter, body: joinedAs(group, memberId) });
    return;
  }
  renew(work, group, member, join);
  rebalanceOrComplete(state, work, group);
}

/** The member says anew what it can do, and waits. One that waited in its name before is told to come again. */
function renew(work: GroupWork, group: ClassicGroup, member: ClassicMember, join: Join): void {
  const { body, protocols, rebalanceTimeoutMs, waiter } = join;
  answerJoin(work, group, member, joinRefused(ErrorCode.REBALANCE_IN_PROGRESS, member.memberId));
  answerSync(work, member, syncRefused(ErrorCode.REBALANCE_IN_PROGRESS));
  updateMember(group, member, { protocols, rebalanceTimeoutMs, sessionTimeoutMs: body.sessionTimeoutMs });
  setJoinWaiter(group, member, waiter);
}

/** The place of a static member: its ids, former and new, and what is written so that it is known under the new one. */
interface Place {
  readonly formerId: string;
  readonly memberId: string;
  readonly renamed: readonly GroupRecord[];
}

/** A static member came without an id: it takes the place of its former self, who is fenced. */
function replaceStatic(
  state: GroupState,
  work: GroupWork,
  group: ClassicGroup,
  { formerId, memberId, renamed }: Place,
  join: Join,
): void {
  const former = group.members.get(formerId);
  if (former === undefined) return;
  const formerLeaderId = group.leaderId;
  const isOwing = owesPartitions(group, former);
  const formerTopics = topicsOf(group, former);
  const isShared = formerLeaderId !== formerId || sharesWhatThereIs(group, work.image);
  const member = takePlace(work, group, former, memberId);
  touch(state, work, group, member);
  renew(work, group, member, join);
  if (group.state === 'PreparingRebalance') {
    work.records.push(...renamed);
    completeIfAllJoined(state, work, group);
  } else if (isShared && isGoneOnWith(state, group) && !isOwing && isSameSet(formerTopics, topicsOf(group, member))) {
    work.records.push(generationRecord(group, (id) => group.members.get(id)?.assignment ?? NO_BYTES));
    const isLeader = group.leaderId === memberId;
    const canSkip = join.call.apiVersion >= SKIP_SINCE;
    // An older leader would make a new assignment: it must not find itself named as the leader.
    const said = canSkip
      ? { leaderId: group.leaderId, skipsAssignment: isLeader, namesMembers: isLeader }
      : { leaderId: formerLeaderId, skipsAssignment: false, namesMembers: false };
    answerJoin(work, group, member, joined(group, memberId, said));
  } else {
    // The leader may have been told of the former member: its assignment would miss the new one. And what the former
    // member had yet to give up would stay without an owner: the new one does not know that it is to join again. So
    // would topics that only the new one reads, as one that chooses by a pattern may, and what has come while no
    // process led.
    work.records.push(...renamed);
    prepareRebalance(state, work, group);
  }
}

function isSameSet(a: ReadonlySet<string> | null, b: ReadonlySet<string> | null): boolean {
  if (a === null || b === null) return a === b;
  return a.size === b.size && [...a].every((one) => b.has(one));
}

/** Whether a stable generation may stay: not where members now prefer another protocol, or its record is too large. */
function isGoneOnWith({ config }: GroupState, group: ClassicGroup): boolean {
  if (group.state !== 'Stable') return false;
  if (selectProtocol(group) !== group.protocolName) return false;
  return generationSize(group, (id) => group.members.get(id)?.assignment ?? NO_BYTES) <= config.recordSizeMax;
}

/** The same member under another id, at its place among the members. */
function takePlace(work: GroupWork, group: ClassicGroup, former: ClassicMember, memberId: string): ClassicMember {
  answerJoin(work, group, former, joinRefused(ErrorCode.FENCED_INSTANCE_ID, former.memberId));
  answerSync(work, former, syncRefused(ErrorCode.FENCED_INSTANCE_ID));
  const wasLeader = group.leaderId === former.memberId;
  const { protocolType } = group;
  const member = createMember({ ...former, memberId }, former, former.protocols, former.assignment);
  removeMember(group, former.memberId);
  addMember(group, member, protocolType);
  if (wasLeader) group.leaderId = memberId;
  return member;
}
