/**
 * Watches what coordinators of groups forget: offsets of the constant topic, which is never deleted. Where somebody has
 * asked for that, one goes only while nobody is in the group; else only by its age, and that runs only then. It looks
 * after each step of a node, stays without assertions, and tells the history what went when, so that other judges miss
 * nothing that was due.
 */
import type { GroupHost } from '../../core/broker/groups/state.ts';
import type { Node } from '../../core/broker/node.ts';
import type { Group } from '../../core/group/state.ts';
import type { GroupHistory } from '../../core/verify/group-history.ts';
import { type Complaint, complain, type History } from '../../core/verify/history.ts';
import type { Actor } from '../actor.ts';
import { TOPIC } from '../cast/casting.ts';
import { wallMs } from '../clock.ts';
import type { Plan } from '../scenario.ts';
import { WALL_SWING_MAX_MS } from '../trouble/rebalances.ts';

/** What was seen last of a group in one coordinator. */
interface Sight {
  isThere: boolean;
  isClassic: boolean;
  members: number;
  /** Members read the topic, as all do; of the classic protocol once they have a generation. */
  isRead: boolean;
  /** The partitions with an offset. */
  partitions: readonly number[];
  /** The date of its node when it was seen to become empty; null where that was not seen. */
  emptyMs: number | null;
}

/** What was seen last, by coordinator and group. Plain data. */
export interface ExpiryNotes {
  readonly retentionMs: number;
  readonly sights: Map<object, Map<string, Sight>>;
}

/** Coordinators that are remembered at most: more than live at one time. */
const REMEMBERED_MAX = 100;
const RETENTION = 'offsets.retention.minutes';
const RETENTION_MINUTES = 10_080;

/** Nothing was seen. */
export function createExpiryNotes({ settings }: Plan): ExpiryNotes {
  const minutes = settings.find(([name]) => name === RETENTION)?.[1] ?? RETENTION_MINUTES;
  return { retentionMs: Number(minutes) * 60_000, sights: new Map() };
}

/** Looks at the coordinators of a node after a step of it, at a time in microseconds. */
export function watchExpiry(notes: ExpiryNotes, history: History, { clock }: Actor, node: Node, nowUs: number): void {
  for (const host of node.groups.hosts) {
    if (host.stage !== 'active') continue;
    const sights = sightsIn(notes, host.coordinator);
    for (const group of history.groups) look(notes, history, sights, group, host, wallMs(clock, nowUs), nowUs);
  }
}

function sightsIn({ sights }: ExpiryNotes, coordinator: object): Map<string, Sight> {
  let known = sights.get(coordinator);
  if (known === undefined) {
    known = new Map();
    sights.set(coordinator, known);
    const [oldest] = sights.keys();
    if (sights.size > REMEMBERED_MAX && oldest !== undefined) sights.delete(oldest);
  }
  return known;
}

function look(
  notes: ExpiryNotes,
  history: History,
  sights: Map<string, Sight>,
  group: GroupHistory,
  { coordinator }: GroupHost,
  dateMs: number,
  nowUs: number,
): void {
  const { groupId } = group;
  const now = coordinator.state?.groups.get(groupId);
  const offsets = coordinator.state?.offsets.get(groupId)?.get(TOPIC);
  const before = sights.get(groupId);
  if (before === undefined) {
    if (now === undefined) return;
    const partitions = [...(offsets?.keys() ?? [])];
    const isClassic = now.kind === 'classic';
    const known = { isThere: true, isClassic, members: now.members.size, isRead: isRead(now) };
    sights.set(groupId, { ...known, partitions, emptyMs: null });
    return;
  }
  const members = now?.members.size ?? 0;
  if ((offsets?.size ?? 0) < before.partitions.length) {
    // The age of the offsets of a group of the classic protocol counts from when it became empty.
    const emptyMs = before.isClassic ? before.emptyMs : null;
    const why = wrongWith(notes, before, members, emptyMs === null ? Number.POSITIVE_INFINITY : dateMs - emptyMs);
    for (const partition of before.partitions) {
      if (offsets?.has(partition) === true) continue;
      if (mayBeDeleted(group, partition, nowUs)) {
        if (before.isRead) complain(history, deletedInUse(groupId, partition, before.members, nowUs));
        continue;
      }
      group.expirations.push({ partition, atUs: nowUs });
      if (why !== null) complain(history, complaintOf(groupId, partition, why, nowUs));
    }
  }
  if (before.isThere && now === undefined) group.endsUs.push(nowUs);
  if (members > 0) before.emptyMs = null;
  else if (before.members > 0) before.emptyMs = dateMs;
  before.isThere = now !== undefined;
  if (now !== undefined && before.isClassic !== (now.kind === 'classic')) {
    before.isClassic = now.kind === 'classic';
    before.emptyMs = null;
  }
  before.members = members;
  before.isRead = isRead(now);
  if ((offsets?.size ?? 0) !== before.partitions.length) before.partitions = [...(offsets?.keys() ?? [])];
}

function isRead(group: Group | undefined): boolean {
  if (group === undefined || group.members.size === 0) return false;
  return group.kind === 'consumer' || group.subscribedTopics?.has(TOPIC) === true;
}

/** Somebody has asked for that, and it may still be carried out. */
function mayBeDeleted({ commits }: GroupHistory, partition: number, nowUs: number): boolean {
  return commits.some((one) => {
    if (one.offset >= 0 || one.partition !== partition || one.sentUs > nowUs) return false;
    const isLate = one.isOver !== true && (one.outcome !== 'acknowledged' || one.isRepeated);
    return isLate || one.doneUs >= nowUs;
  });
}

/** What is wrong with it that offsets went just now; null for nothing. */
function wrongWith({ retentionMs }: ExpiryNotes, before: Sight, members: number, emptyForMs: number): string | null {
  if (before.members > 0 && members > 0) return 'while members of the group were there who read it';
  if (retentionMs > WALL_SWING_MAX_MS) return `though offsets are kept for ${retentionMs} ms`;
  if (before.members > 0 || emptyForMs >= retentionMs) return null;
  return `though the group had been empty for ${emptyForMs} ms only`;
}

function complaintOf(groupId: string, partition: number, why: string, nowUs: number): Complaint {
  const sentence = `the offset of ${groupId} for ${TOPIC}-${partition} went at ${nowUs} us ${why}`;
  return { checker: 'expired-early', promise: 5, partition, sentence };
}

function deletedInUse(groupId: string, partition: number, members: number, nowUs: number): Complaint {
  const what = `the offset of ${groupId} for ${TOPIC}-${partition} was deleted at ${nowUs} us`;
  const sentence = `${what}, while ${members} members were there`;
  return { checker: 'deleted-in-use', promise: 5, partition, sentence };
}
