/**
 * How a member comes from what it has to what it is to have: the step that a heartbeat may take.
 *
 * A member first gives back what others are to have; until it says that it owns none of that any more, it stays in its
 * epoch (UNREVOKED_PARTITIONS). Then it gets what is free of its target, in the target's epoch, and waits for the rest
 * (UNRELEASED_PARTITIONS) until whoever has that has given it back. A partition that anybody has, or has yet to give
 * back, is not free: so none ever has two owners. Topics that a member does not read any more it gives back at once,
 * before a new target says so. Pure, no state.
 */
import type { PartitionsByTopic } from '../assignors/server-shapes.ts';
import {
  type ConsumerMember,
  isReconciled,
  MemberState,
  OWNS_NOTHING,
  type OwnedPartitions,
} from './consumer-state.ts';

/** What a member says that it owns; null: what it said before. */
export type SaidPartitions = readonly { readonly topicId: string; readonly partitions: readonly number[] }[] | null;

/** What is to become of a member. */
export interface Reconciliation {
  readonly targetEpoch: number;
  readonly target: PartitionsByTopic;
  /** Whether a topic is one that the member reads. */
  readonly reads: (topicId: string) => boolean;
  /** Whether what it reads has changed with this very call. */
  readonly hasNewSubscription: boolean;
  /** Whether nobody else has a partition. */
  readonly isFree: (topicId: string, partition: number) => boolean;
  readonly said: SaidPartitions;
}

/** The member after the step: the same object if there is none to take. */
export function reconcile(member: ConsumerMember, to: Reconciliation): ConsumerMember {
  switch (member.state) {
    case MemberState.STABLE:
      if (!isReconciled(member, to.targetEpoch)) return approach(member, member.memberEpoch, to);
      return to.hasNewSubscription ? dropUnread(member, to) : member;
    case MemberState.UNREVOKED_PARTITIONS:
      if (!stillOwns(to.said, member.revoking)) {
        // A member that gave back what it had stopped to read may be in the target's epoch already.
        return approach(member, Math.min(member.memberEpoch + 1, to.targetEpoch), to);
      }
      return to.hasNewSubscription ? dropUnread(member, to) : member;
    default:
      return approach(member, member.memberEpoch, to);
  }
}

/** Whether a member owns any of these partitions, by what it says; it does if it says nothing. */
function stillOwns(said: SaidPartitions, partitions: OwnedPartitions): boolean {
  if (said === null) return true;
  return said.some((one) => {
    const some = partitions.get(one.topicId);
    return some !== undefined && one.partitions.some((partition) => some.has(partition));
  });
}

/** Gives back topics that are not read any more, and changes nothing else. */
function dropUnread(member: ConsumerMember, to: Reconciliation): ConsumerMember {
  const assigned = new Map<string, ReadonlyMap<number, number>>();
  const revoking = new Map(member.revoking);
  for (const [topicId, partitions] of member.assigned) {
    if (to.reads(topicId)) assigned.set(topicId, partitions);
    else revoking.set(topicId, new Map([...(revoking.get(topicId) ?? []), ...partitions]));
  }
  if (assigned.size === member.assigned.size) return member;
  if (!stillOwns(to.said, revoking)) return { ...member, assigned };
  return { ...member, state: MemberState.UNREVOKED_PARTITIONS, assigned, revoking };
}

/** The parts into which what a member has and is to have falls. */
interface Parts {
  /** It has them and keeps them. */
  readonly kept: Map<string, Map<number, number>>;
  /** It has them and must not keep them. */
  readonly excess: Map<string, Map<number, number>>;
  /** It is to have them, and nobody else has. */
  readonly free: Map<string, number[]>;
  /** Others have some that it is to have. */
  readonly isWaiting: boolean;
}

function approach(member: ConsumerMember, memberEpoch: number, to: Reconciliation): ConsumerMember {
  const { kept, excess, free, isWaiting } = partsOf(member, to);
  if (excess.size > 0 && stillOwns(to.said, excess)) {
    return inEpoch(member, memberEpoch, MemberState.UNREVOKED_PARTITIONS, kept, excess);
  }
  for (const [topicId, partitions] of free) {
    const mine = kept.get(topicId) ?? new Map<number, number>();
    kept.set(topicId, mine);
    for (const partition of partitions) mine.set(partition, to.targetEpoch);
  }
  const state = isWaiting ? MemberState.UNRELEASED_PARTITIONS : MemberState.STABLE;
  return inEpoch(member, to.targetEpoch, state, kept, OWNS_NOTHING);
}

function partsOf(member: ConsumerMember, to: Reconciliation): Parts {
  const kept = new Map<string, Map<number, number>>();
  const excess = new Map<string, Map<number, number>>();
  const free = new Map<string, number[]>();
  let isWaiting = false;
  const put = (map: Map<string, Map<number, number>>, topicId: string, partition: number, epoch: number): void => {
    const some = map.get(topicId);
    if (some === undefined) map.set(topicId, new Map([[partition, epoch]]));
    else some.set(partition, epoch);
  };
  for (const [topicId, partitions] of member.assigned) {
    const wanted = new Set(to.reads(topicId) ? to.target.get(topicId) : []);
    for (const [partition, epoch] of partitions) {
      put(wanted.has(partition) ? kept : excess, topicId, partition, epoch);
    }
  }
  for (const [topicId, partitions] of to.target) {
    if (!to.reads(topicId)) continue;
    const mine = member.assigned.get(topicId);
    const wanted = partitions.filter((partition) => mine?.has(partition) !== true);
    const gettable = wanted.filter((partition) => to.isFree(topicId, partition));
    if (gettable.length < wanted.length) isWaiting = true;
    if (gettable.length > 0) free.set(topicId, gettable);
  }
  return { kept, excess, free, isWaiting };
}

/** The member in an epoch, with what it has: the same object if nothing is new. */
function inEpoch(
  member: ConsumerMember,
  memberEpoch: number,
  state: number,
  assigned: OwnedPartitions,
  revoking: OwnedPartitions,
): ConsumerMember {
  const isNewEpoch = memberEpoch !== member.memberEpoch;
  const isSame = isSameOwned(assigned, member.assigned) && isSameOwned(revoking, member.revoking);
  if (!isNewEpoch && state === member.state && isSame) return member;
  const previousMemberEpoch = isNewEpoch ? member.memberEpoch : member.previousMemberEpoch;
  return { ...member, memberEpoch, previousMemberEpoch, state, assigned, revoking };
}

/** Whether two members own the same, since the same epochs. */
export function isSameOwned(a: OwnedPartitions, b: OwnedPartitions): boolean {
  if (a === b) return true;
  if (a.size !== b.size) return false;
  for (const [topicId, partitions] of a) {
    const others = b.get(topicId);
    if (others === undefined || others.size !== partitions.size) return false;
    for (const [partition, epoch] of partitions) if (others.get(partition) !== epoch) return false;
  }
  return true;
}
