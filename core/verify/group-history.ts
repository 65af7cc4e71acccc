/**
 * What members of groups did and saw, as a part of a history (`history.ts`), plain data. Judged by `groups.ts`.
 *
 * A member is one life of a consumer: whoever starts again, or joins again after it had left, is another one. It owns a
 * partition from being told so until it is told to give it up, or hears that it has lost it, or dies. Partitions are
 * indexes of the history's; times are its microseconds.
 */

/** A partition that a member came to own. */
export interface Holding {
  readonly member: number;
  readonly partition: number;
  readonly fromUs: number;
  /** When the member asked what was answered last before that; -1 in the classic protocol. */
  readonly askedUs: number;
  /** When it ended for the member itself; Infinity while it lasts. */
  toUs: number;
  /** It was given up in good order, by a member that commits by itself what it was handed until then. */
  isCommitted?: true;
}

/** A member was told what it owns: all of it, under this generation or member epoch. */
export interface Assignment {
  readonly member: number;
  /** Its `group.instance.id`; null for a dynamic member. */
  readonly instanceId: string | null;
  readonly generation: number;
  /** When it asked to join, in the classic protocol: it may hear of the answer late, when its place is another's. */
  readonly askedUs?: number;
  /** When that was answered: it is in the generation from then on, and is told what it owns later. */
  readonly joinedUs?: number;
  readonly atUs: number;
  readonly partitions: readonly number[];
}

/** The coordinator took a member for one of its own, in a heartbeat: `sentUs` is when it was asked. */
export interface Proof {
  readonly member: number;
  readonly sentUs: number;
  /** The generation that it named; in the classic protocol only. */
  readonly generation?: number;
}

/**
 * An offset that a client asked to be stored: a member, or somebody who is none, as operators are. Or to be deleted,
 * alone or with all of its group: that stores -1, and is refused as well while somebody is in the group.
 */
export interface OffsetCommit {
  readonly member: number;
  /** Under which it was sent last; -1 for none: then it is stored only while nobody is in the group. */
  generation: number;
  readonly partition: number;
  readonly offset: number;
  readonly sentUs: number;
  /** When the attempt that was answered was sent. */
  lastSentUs: number;
  /** When it was answered; Infinity while it was not. */
  doneUs: number;
  /** It was sent more than once: an earlier attempt may be carried out later than it was answered. */
  isRepeated: boolean;
  outcome: 'acknowledged' | 'unknown';
  /** Each attempt was answered: whatever comes of one that is not acknowledged had come by then. */
  isOver?: true;
  /** A deletion of all of the group, of which this is one offset. */
  readonly isOfGroup?: true;
}

/** A committed offset that was read back; -1 where there was none. */
export interface OffsetLookup {
  readonly partition: number;
  readonly offset: number;
  readonly askedUs: number;
  readonly doneUs: number;
}

/** What somebody who is no member was told of a group, in a description, a list, or the refusal of a deletion. */
export interface GroupReading {
  /** When the attempt that was answered was sent. */
  readonly askedUs: number;
  readonly doneUs: number;
  readonly isThere: boolean;
  /** A group that only keeps offsets is there as well as one with members. */
  readonly countsOffsets: boolean;
  /** That it has so many members; -1 where that was not told. */
  readonly members: number;
  /** Its epoch in the consumer protocol; -1 where that was not told. */
  readonly epoch: number;
}

/** An offset that its coordinator was seen to forget: it may be found no more, unless it is committed again. */
export interface Expiration {
  readonly partition: number;
  readonly atUs: number;
}

/** Records that members were handed, as columns: one entry in each for every record, in order. */
export interface Deliveries {
  /** Index of the holding; -1 of a partition that the member did not own. */
  readonly holding: number[];
  readonly partition: number[];
  readonly offset: number[];
  readonly atUs: number[];
}

/**
 * How a group shares its work out: by one protocol, or by both, from member to member. simple: not at all; whoever uses
 * it chooses partitions by himself, and the group keeps the offsets.
 */
export type GroupKind = 'classic' | 'consumer' | 'both' | 'simple';

/** One group. */
export interface GroupHistory {
  readonly groupId: string;
  readonly kind: GroupKind;
  readonly holdings: Holding[];
  readonly assignments: Assignment[];
  readonly proofs: Proof[];
  readonly commits: OffsetCommit[];
  readonly lookups: OffsetLookup[];
  readonly expirations: Expiration[];
  /**
   * When a coordinator that had been replaced had not heard of it, and went on: what it said meanwhile was so before.
   */
  readonly unaware: { readonly fromUs: number; toUs: number }[];
  readonly readings: GroupReading[];
  /** When its coordinator was seen to forget all of it: its generations are counted anew then. */
  readonly endsUs: number[];
  readonly deliveries: Deliveries;
  /** Members so far. */
  members: number;
  /** Of each static member, by its `group.instance.id`, how many lives have begun. */
  readonly lives: Map<string, number>;
  /** When nobody came, went or failed any more; -1 while that time has not come. */
  calmUs: number;
  /** Members that were to settle then. */
  calmMembers: number;
  /** When all of them had; -1 where they have not. */
  settledUs: number;
}

/** A group of which nothing was seen. */
export function createGroupHistory(groupId: string, kind: GroupKind): GroupHistory {
  return {
    groupId,
    kind,
    holdings: [],
    assignments: [],
    proofs: [],
    commits: [],
    lookups: [],
    expirations: [],
    unaware: [],
    readings: [],
    endsUs: [],
    deliveries: { holding: [], partition: [], offset: [], atUs: [] },
    members: 0,
    lives: new Map(),
    calmUs: -1,
    calmMembers: 0,
    settledUs: -1,
  };
}

/** Adds one record that a member was handed. */
export function addDelivery(
  { deliveries }: GroupHistory,
  record: { readonly holding: number; readonly partition: number; readonly offset: number; readonly atUs: number },
): void {
  deliveries.holding.push(record.holding);
  deliveries.partition.push(record.partition);
  deliveries.offset.push(record.offset);
  deliveries.atUs.push(record.atUs);
}

/** The offset above the highest that any member was handed of a partition; 0 for none. */
export function nextToHand({ deliveries }: GroupHistory, partition: number): number {
  let next = 0;
  deliveries.offset.forEach((offset, i) => {
    if (deliveries.partition[i] === partition) next = Math.max(next, offset + 1);
  });
  return next;
}

/** By which a member was told that it owns something from then on. */
export function assignmentOf(
  assignments: readonly Assignment[],
  { member, fromUs }: Pick<Holding, 'member' | 'fromUs'>,
): Assignment | undefined {
  return assignments.find((one) => one.member === member && one.atUs === fromUs);
}

/** The proofs that surely come from who coordinated the group when they were asked for. */
export function soundProofs({ proofs, unaware }: GroupHistory): readonly Proof[] {
  if (unaware.length === 0) return proofs;
  return proofs.filter(({ sentUs }) => !unaware.some(({ fromUs, toUs }) => sentUs >= fromUs && sentUs <= toUs));
}
