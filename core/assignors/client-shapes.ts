/**
 * The assignors of clients: what the leader of a classic group knows, and what it makes of it. Pure, no state.
 *
 * Files that begin with `client-` run in a member that leads a classic group; the others run in the group coordinator.
 *
 * Every assignor keeps to this: each partition of a topic that somebody subscribes to goes to exactly one member that
 * subscribes to it (but cooperative ones hold back what another member has yet to give up); no member is given anything
 * else; the outcome depends on the input's content and not on its order.
 */

/** Some partitions of a topic; ascending where an assignor has made them. */
export interface TopicPartitions {
  readonly topic: string;
  readonly partitions: readonly number[];
}

/** One member, as its subscription describes it. */
export interface AssignorMember {
  readonly memberId: string;
  /** Null for a dynamic member. */
  readonly instanceId: string | null;
  readonly topics: readonly string[];
  /** What it says that it owns. */
  readonly owned: readonly TopicPartitions[];
  /** Of what it owns; -1 where it does not say. */
  readonly generation: number;
  /** Null where it does not say. */
  readonly rack: string | null;
  readonly userData: Uint8Array | null;
}

/** One topic that some member subscribes to and that exists. */
export interface AssignorTopic {
  readonly topic: string;
  readonly partitionsCount: number;
  /** By partition, the racks of its replicas; absent where no racks are known. */
  readonly racks?: readonly (readonly string[])[];
}

/** By member id; every member has an entry. */
export type Assignment = Map<string, TopicPartitions[]>;

/** An assignor of clients. */
export interface ClientAssignor {
  /** As in `partition.assignment.strategy` and on the wire. */
  readonly name: string;
  /** Whether members may keep their partitions while they join. */
  readonly isCooperative: boolean;
  /** What a member writes beside its subscription, given its last assignment; null for nothing. */
  readonly userData: (previous: readonly TopicPartitions[], generation: number) => Uint8Array | null;
  readonly assign: (members: readonly AssignorMember[], topics: readonly AssignorTopic[]) => Assignment;
}

/** Orders texts by their code units, as Java does. */
export function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The order in which members are served: static ones by instance id, then dynamic ones by member id. */
export function compareMembers(a: AssignorMember, b: AssignorMember): number {
  if (a.instanceId !== null && b.instanceId !== null) return compareTexts(a.instanceId, b.instanceId);
  if (a.instanceId !== null) return -1;
  if (b.instanceId !== null) return 1;
  return compareTexts(a.memberId, b.memberId);
}

/** The members in the order in which they are served. */
export function sortedMembers(members: readonly AssignorMember[]): AssignorMember[] {
  return [...members].sort(compareMembers);
}

/** The topics by name. */
export function sortedTopics(topics: readonly AssignorTopic[]): AssignorTopic[] {
  return [...topics].sort((a, b) => compareTexts(a.topic, b.topic));
}

/** Partitions gathered in any order, by topic. */
export type Gathered = Map<string, number[]>;

/** Adds a partition. */
export function gather(gathered: Gathered, topic: string, partition: number): void {
  const partitions = gathered.get(topic);
  if (partitions === undefined) gathered.set(topic, [partition]);
  else partitions.push(partition);
}

/** What was gathered, topics by name, partitions ascending. */
export function inOrder(gathered: Gathered): TopicPartitions[] {
  const topics = [...gathered.keys()].sort(compareTexts);
  return topics.map((topic) => ({ topic, partitions: (gathered.get(topic) ?? []).sort((a, b) => a - b) }));
}

/** What each member is given, by member id: nothing yet. */
export function emptyHands(members: readonly AssignorMember[]): Map<string, Gathered> {
  return new Map(members.map(({ memberId }) => [memberId, new Map()]));
}

/** The assignment that was gathered. */
export function dealt(hands: ReadonlyMap<string, Gathered>): Assignment {
  return new Map([...hands].map(([memberId, gathered]) => [memberId, inOrder(gathered)]));
}
