/**
 * What happens to a partition when a broker comes or goes, when its leader says who is in sync, or when its replicas
 * move: who stays in sync, who leads, who may lead later.
 *
 * Theory (KIP-966). A leader is chosen from the in-sync set, in the order of preference, so that nothing committed is
 * lost. While fewer replicas than `min.insync.replicas` are in sync, nothing can be committed without those that left
 * since: they are kept as *eligible leader replicas* and may lead when the set is empty. A replica that came back from
 * an unclean shutdown may have lost its tail and is no longer eligible. When nobody is left, who led last is remembered
 * and preferred over any other, and such an election is marked as recovering. Only where a topic allows unclean
 * elections may any replica lead. Without this feature the last in-sync replica never leaves the set.
 *
 * A move (KIP-455) adds the new replicas to the list first; it is complete when all that are to stay are in sync, and
 * then those that are to go leave in the same record. Whoever is no replica any more is neither in sync nor eligible.
 *
 * Pure: a partition goes in, a record or null comes out.
 */
import { bumpsEpochOnShrink, partitionVersion, recordsDirectories } from '../metadata/features.ts';
import type { PartitionImage } from '../metadata/image.ts';
import { partitionChange, type RecordOf } from '../metadata/records.ts';

/** Who replicates a partition, and where it is moving: the part of its image that a move changes. */
export type Assignment = Pick<PartitionImage, 'replicas' | 'directories' | 'addingReplicas' | 'removingReplicas'>;

/** The assignment of a partition as it is. */
export function assignmentOf(partition: PartitionImage): Assignment {
  const { replicas, directories, addingReplicas, removingReplicas } = partition;
  return { replicas, directories, addingReplicas, removingReplicas };
}

/** Circumstances shared by the partitions of one topic. */
export interface ChangeRules {
  /** Of metadata.version. */
  readonly level: number;
  readonly isElrEnabled: boolean;
  /** min.insync.replicas of the topic. */
  readonly minInsync: number;
  /** `preferred` gives the lead to the first replica if it may have it; `unclean` to any that is there. */
  readonly election: 'online' | 'preferred' | 'unclean';
  /** Whether a broker may lead at all; the place of the replica finds its log directory. */
  readonly isAcceptable: (broker: number, assignment: Pick<Assignment, 'replicas' | 'directories'>) => boolean;
}

/** What is wanted of the partition. */
export interface Wanted {
  /** The in-sync set that it should have. */
  readonly isr: readonly number[];
  /** A broker that was shut down uncleanly and is no longer eligible; -1 if none. */
  readonly uncleanBroker: number;
  /** Who is to replicate it; absent: as before. */
  readonly assignment?: Assignment;
  /** Whether its leader still recovers from an unclean election; absent: as before. */
  readonly leaderRecoveryState?: number;
}

/** A partition on its way to what is wanted. */
interface Target {
  assignment: Assignment;
  isr: readonly number[];
  elr: readonly number[];
}

const NONE: readonly number[] = [];

function isSame<T>(a: readonly T[], b: readonly T[]): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

/** Whether `a` lacks an item of `b`. */
function lacks(a: readonly number[], b: readonly number[]): boolean {
  for (const item of b) if (!a.includes(item)) return true;
  return false;
}

/** What is wanted; a move that the in-sync set completes is complete. */
function targetOf(before: PartitionImage, rules: ChangeRules, wanted: Wanted): Target {
  const target: Target = { assignment: wanted.assignment ?? before, isr: wanted.isr, elr: NONE };
  completeMove(target);
  target.elr = eligible(before, rules, wanted.uncleanBroker, target.isr, target.assignment.replicas);
  return target;
}

/** Ends the move, if there is one, once all that are to stay are in sync. */
function completeMove(target: Target): void {
  const { assignment, isr } = target;
  const { addingReplicas, removingReplicas } = assignment;
  if (addingReplicas.length === 0 && removingReplicas.length === 0) return;
  const stays = (id: number): boolean => !removingReplicas.includes(id);
  const replicas = assignment.replicas.filter(stays);
  const left = isr.filter(stays);
  if (left.length === 0 || lacks(left, replicas)) return;
  const directories = assignment.directories.filter((_, index) => stays(assignment.replicas[index] ?? -1));
  target.assignment = { replicas, directories, addingReplicas: NONE, removingReplicas: NONE };
  target.isr = left;
  target.elr = target.elr.filter((id) => replicas.includes(id));
}

/** The replicas that hold everything committed although they are out of sync. */
function eligible(
  before: PartitionImage,
  rules: ChangeRules,
  uncleanBroker: number,
  isr: readonly number[],
  replicas: readonly number[],
): readonly number[] {
  if (!rules.isElrEnabled || isr.length >= rules.minInsync) return NONE;
  const candidates = [...before.elr];
  for (const id of before.isr) if (!candidates.includes(id)) candidates.push(id);
  return candidates.filter((id) => !isr.includes(id) && id !== uncleanBroker && replicas.includes(id));
}

/** Who is to lead; -1 if nobody may. Whoever is not in the set that counts was elected uncleanly. */
function elect(before: PartitionImage, rules: ChangeRules, { assignment, isr, elr }: Target): number {
  const sound = isr.length === 0 ? elr : isr;
  const { replicas } = assignment;
  const preferred = replicas[0] ?? -1;
  if (rules.election === 'preferred' && mayLead(preferred, assignment, rules, sound)) return preferred;
  if (mayLead(before.leader, assignment, rules, sound)) return before.leader;
  for (const id of replicas) if (mayLead(id, assignment, rules, sound)) return id;
  const last = before.lastKnownElr.length === 1 ? (before.lastKnownElr[0] ?? -1) : -1;
  const isDeserted = rules.isElrEnabled && sound.length === 0;
  if (isDeserted && replicas.includes(last) && rules.isAcceptable(last, assignment)) return last;
  return rules.election === 'unclean' ? electAnyone(rules, assignment) : -1;
}

/** Somebody who is there; one that a move has yet to fill only where there is no other. */
function electAnyone({ isAcceptable }: ChangeRules, assignment: Assignment): number {
  const { replicas, addingReplicas } = assignment;
  for (const id of replicas) if (!addingReplicas.includes(id) && isAcceptable(id, assignment)) return id;
  return addingReplicas.find((id) => isAcceptable(id, assignment)) ?? -1;
}

/** Whether a replica holds everything committed and is there. */
function mayLead(id: number, assignment: Assignment, rules: ChangeRules, sound: readonly number[]): boolean {
  return id >= 0 && sound.includes(id) && rules.isAcceptable(id, assignment);
}

/** The record that brings a partition to what is wanted; null if nothing changes. */
export function changeOf(
  topicId: string,
  partitionId: number,
  before: PartitionImage,
  rules: ChangeRules,
  wanted: Wanted,
): RecordOf<'PartitionChangeRecord'> | null {
  const change = partitionChange(partitionVersion(rules.level), topicId, partitionId);
  const { value } = change;
  const target = targetOf(before, rules, wanted);
  const recovery = wanted.leaderRecoveryState ?? before.leaderRecoveryState;
  if (recovery !== before.leaderRecoveryState) value.leaderRecoveryState = recovery;
  setLeader(before, rules, target, change);
  const { isr, elr } = target;
  if (!isSame(elr, before.elr)) value.eligibleLeaderReplicas = [...elr];
  const mayBeEmpty = rules.isElrEnabled;
  // Records and images share arrays; neither changes them.
  if ((isr.length > 0 || mayBeEmpty) && !isSame(isr, before.isr)) value.isr = isr as number[];
  const isShrunk = value.isr !== null && lacks(isr, before.isr) && bumpsEpochOnShrink(rules.level);
  // Who is no replica any more must stop, and hears of it by a new leader epoch.
  const isLeft = target.assignment !== before && lacks(target.assignment.replicas, before.replicas);
  if (value.leader === -2 && (isShrunk || isLeft)) value.leader = before.leader;
  if (rules.isElrEnabled) rememberLeader(before, target.assignment.replicas, change);
  if (target.assignment !== before) setAssignment(before, rules, target.assignment, change);
  return isNothing(change) ? null : change;
}

/** Elects, and settles what an election outside of the in-sync set makes of it. */
function setLeader(
  before: PartitionImage,
  rules: ChangeRules,
  target: Target,
  { value }: RecordOf<'PartitionChangeRecord'>,
): void {
  const leader = elect(before, rules, target);
  if (leader === before.leader) return;
  value.leader = leader;
  const { isr, elr } = target;
  const isUnclean = leader >= 0 && !(isr.length === 0 ? elr : isr).includes(leader);
  if (isUnclean) {
    target.isr = [leader];
    target.elr = NONE;
    value.leaderRecoveryState = before.leaderRecoveryState === 1 ? -1 : 1;
  } else if (elr.includes(leader)) {
    target.isr = [leader];
    target.elr = elr.filter((id) => id !== leader);
  }
  // Who was elected may be all that a move has waited for.
  if (target.isr !== isr) completeMove(target);
}

function setAssignment(
  before: PartitionImage,
  rules: ChangeRules,
  after: Assignment,
  { value }: RecordOf<'PartitionChangeRecord'>,
): void {
  if (!isSame(after.replicas, before.replicas)) value.replicas = [...after.replicas];
  if (!isSame(after.addingReplicas, before.addingReplicas)) value.addingReplicas = [...after.addingReplicas];
  if (!isSame(after.removingReplicas, before.removingReplicas)) value.removingReplicas = [...after.removingReplicas];
  const isNamed = recordsDirectories(rules.level) && !isSame(after.directories, before.directories);
  if (isNamed) value.directories = [...after.directories];
}

/**
 * Keeps who led last when nobody is left, and forgets it once somebody leads, or once he is no replica any more: were
 * he to become one again, he would begin anew, empty.
 */
function rememberLeader(
  before: PartitionImage,
  replicas: readonly number[],
  { value }: RecordOf<'PartitionChangeRecord'>,
): void {
  const isDeserted = value.isr !== null && value.isr.length === 0;
  const known = before.lastKnownElr;
  const { leader } = before;
  if (isDeserted && replicas.includes(leader) && (known.length !== 1 || known[0] !== leader)) {
    value.lastKnownElr = [leader];
    return;
  }
  const willLead = value.leader >= 0 || (leader !== -1 && value.leader !== -1);
  const isForgotten = lacks(replicas, known) || (!isDeserted && willLead);
  if (isForgotten && known.length > 0) value.lastKnownElr = [];
}

function isNothing({ value }: RecordOf<'PartitionChangeRecord'>): boolean {
  if (value.isr !== null || value.leader !== -2 || value.leaderRecoveryState !== -1) return false;
  if (value.replicas !== null || value.addingReplicas !== null || value.removingReplicas !== null) return false;
  return value.eligibleLeaderReplicas === null && value.lastKnownElr === null && value.directories === null;
}
