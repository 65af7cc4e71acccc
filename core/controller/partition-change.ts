/**
 * What happens to a partition when a broker comes or goes: who stays in sync, who leads, who may lead later.
 *
 * Theory (KIP-966). A leader is chosen from the in-sync set, in the order of preference, so that nothing committed is
 * lost. While fewer replicas than `min.insync.replicas` are in sync, nothing can be committed without those that left
 * since: they are kept as *eligible leader replicas* and may lead when the set is empty. A replica that came back from
 * an unclean shutdown may have lost its tail and is no longer eligible. When nobody is left, who led last is remembered
 * and preferred over any other, and such an election is marked as recovering. Only where a topic allows unclean
 * elections may any replica lead. Without this feature the last in-sync replica never leaves the set.
 *
 * Pure: a partition goes in, a record or null comes out.
 */
import { bumpsEpochOnShrink, partitionVersion } from '../metadata/features.ts';
import type { PartitionImage } from '../metadata/image.ts';
import { type MetadataRecord, partitionChange, type RecordOf } from '../metadata/records.ts';

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
  readonly isAcceptable: (broker: number, partition: PartitionImage) => boolean;
}

/** What is wanted of the partition. */
export interface Wanted {
  /** The in-sync set that it should have. */
  readonly isr: readonly number[];
  /** A broker that was shut down uncleanly and is no longer eligible; -1 if none. */
  readonly uncleanBroker: number;
}

const NONE: readonly number[] = [];

function isSame(a: readonly number[], b: readonly number[]): boolean {
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

/** The replicas that hold everything committed although they are out of sync. */
function eligible(before: PartitionImage, rules: ChangeRules, wanted: Wanted): readonly number[] {
  if (!rules.isElrEnabled || wanted.isr.length >= rules.minInsync) return NONE;
  const candidates = [...before.elr];
  for (const id of before.isr) if (!candidates.includes(id)) candidates.push(id);
  return candidates.filter((id) => !wanted.isr.includes(id) && id !== wanted.uncleanBroker);
}

/** Who is to lead; -1 if nobody may. Whoever is not in the set that counts was elected uncleanly. */
function elect(before: PartitionImage, rules: ChangeRules, isr: readonly number[], elr: readonly number[]): number {
  const sound = isr.length === 0 ? elr : isr;
  const preferred = before.replicas[0] ?? -1;
  if (rules.election === 'preferred' && mayLead(preferred, before, rules, sound)) return preferred;
  if (mayLead(before.leader, before, rules, sound)) return before.leader;
  for (const id of before.replicas) if (mayLead(id, before, rules, sound)) return id;
  const last = before.lastKnownElr.length === 1 ? (before.lastKnownElr[0] ?? -1) : -1;
  const isDeserted = rules.isElrEnabled && sound.length === 0;
  if (isDeserted && last >= 0 && rules.isAcceptable(last, before)) return last;
  if (rules.election === 'unclean') {
    for (const id of before.replicas) if (rules.isAcceptable(id, before)) return id;
  }
  return -1;
}

/** Whether a replica holds everything committed and is there. */
function mayLead(id: number, before: PartitionImage, rules: ChangeRules, sound: readonly number[]): boolean {
  return id >= 0 && sound.includes(id) && rules.isAcceptable(id, before);
}

/** The record that brings a partition to what is wanted; null if nothing changes. */
export function changeOf(
  topicId: string,
  partitionId: number,
  before: PartitionImage,
  rules: ChangeRules,
  wanted: Wanted,
): MetadataRecord | null {
  const change = partitionChange(partitionVersion(rules.level), topicId, partitionId);
  const { value } = change;
  let isr = wanted.isr;
  let elr = eligible(before, rules, wanted);
  const leader = elect(before, rules, isr, elr);
  if (leader !== before.leader) {
    value.leader = leader;
    const isUnclean = leader >= 0 && !(isr.length === 0 ? elr : isr).includes(leader);
    if (isUnclean) {
      isr = [leader];
      elr = NONE;
      if (before.leaderRecoveryState !== 1) value.leaderRecoveryState = 1;
    } else if (elr.includes(leader)) {
      isr = [leader];
      elr = elr.filter((id) => id !== leader);
    }
  }
  if (!isSame(elr, before.elr)) value.eligibleLeaderReplicas = [...elr];
  const mayBeEmpty = rules.isElrEnabled;
  // Records and images share arrays; neither changes them.
  if ((isr.length > 0 || mayBeEmpty) && !isSame(isr, before.isr)) value.isr = isr as number[];
  const needsEpoch = value.leader === -2 && value.isr !== null && bumpsEpochOnShrink(rules.level);
  if (needsEpoch && lacks(isr, before.isr)) value.leader = before.leader;
  if (rules.isElrEnabled) rememberLeader(before, change);
  return isNothing(change) ? null : change;
}

/** Keeps who led last when nobody is left, and forgets it once somebody leads. */
function rememberLeader(before: PartitionImage, { value }: RecordOf<'PartitionChangeRecord'>): void {
  const isDeserted = value.isr !== null && value.isr.length === 0;
  const known = before.lastKnownElr;
  if (isDeserted && before.leader >= 0 && (known.length !== 1 || known[0] !== before.leader)) {
    value.lastKnownElr = [before.leader];
    return;
  }
  const willLead = value.leader >= 0 || (before.leader !== -1 && value.leader !== -1);
  if (!isDeserted && willLead && known.length > 0) value.lastKnownElr = [];
}

function isNothing({ value }: RecordOf<'PartitionChangeRecord'>): boolean {
  if (value.isr !== null || value.leader !== -2 || value.leaderRecoveryState !== -1) return false;
  return value.eligibleLeaderReplicas === null && value.lastKnownElr === null;
}
