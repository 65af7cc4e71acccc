/**
 * What the assignors of the coordinator are asked, and what they answer: pure functions from members and topics to
 * partitions, by topic id.
 *
 * An answer gives each partition of each topic that anybody reads to exactly one member that reads it. It depends on
 * the question alone and not on the order in which members and topics are handed in, so that a coordinator that was
 * loaded from the log decides as the one before it.
 */

/** Partitions by topic id; ascending, no list empty. */
export type PartitionsByTopic = ReadonlyMap<string, readonly number[]>;

/** A member that wants partitions. */
export interface AssignableMember {
  readonly memberId: string;
  /** Of a static member; null for others. */
  readonly instanceId: string | null;
  /** Where the member runs; null: unknown. */
  readonly rackId: string | null;
  /** Ids of the topics that it reads; those which do not exist are left out of account. */
  readonly topicIds: ReadonlySet<string>;
  /** What it was to have until now. */
  readonly assigned: PartitionsByTopic;
}

/** A topic that members read. */
export interface AssignableTopic {
  readonly topicId: string;
  readonly partitionCount: number;
  /** The racks where each partition has a replica, by partition; null: no broker of it names one. */
  readonly racks: readonly ReadonlySet<string>[] | null;
}

/** The question. */
export interface AssignmentQuestion {
  /** In any order. */
  readonly members: readonly AssignableMember[];
  /** Every topic that any member reads and that exists, by id. */
  readonly topics: ReadonlyMap<string, AssignableTopic>;
}

/** The answer: what each member is to have. Every member is in it. */
export type AssignmentAnswer = Map<string, Map<string, number[]>>;

/** An assignor. */
export type ServerAssignor = (question: AssignmentQuestion) => AssignmentAnswer;

/** Orders by code units: the same everywhere. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
