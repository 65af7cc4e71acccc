/**
 * The client's assignor 'range': each topic is cut into ranges, one a member, so that topics with the same number of
 * partitions and the same members are cut alike and partition n of each goes to one member. Pure, no state.
 *
 * Racks (KIP-881): where the racks of members and replicas make a difference, members first take partitions that have a
 * replica in their rack, up to their share, and topics that are cut alike stay so. Shares do not depend on racks.
 *
 * Invariant: in every topic members that come first have one partition more than those that come last, or as many;
 * without racks, exactly the first ones have one more.
 */
import {
  type Assignment,
  type AssignorMember,
  type AssignorTopic,
  type ClientAssignor,
  dealt,
  emptyHands,
  type Gathered,
  gather,
  sortedMembers,
  sortedTopics,
} from './client-shapes.ts';

/** How far one topic is given out. */
interface Cutting {
  readonly topic: AssignorTopic;
  readonly members: readonly AssignorMember[];
  /** What each member gets at least. */
  readonly shareMin: number;
  /** How many members may still get one more. */
  extra: number;
  readonly givenTo: Map<string, number>;
  readonly isGiven: boolean[];
  readonly mindsRacks: boolean;
}

/** The assignor. */
export const clientRange: ClientAssignor = {
  name: 'range',
  isCooperative: false,
  userData: () => null,
  assign: assignRange,
};

function assignRange(members: readonly AssignorMember[], topics: readonly AssignorTopic[]): Assignment {
  const inTurn = sortedMembers(members);
  const gathered = emptyHands(inTurn);
  const cuttings: Cutting[] = [];
  const byTopic = subscribersByTopic(inTurn);
  for (const topic of sortedTopics(topics)) {
    const subscribers = byTopic.get(topic.topic) ?? [];
    if (subscribers.length > 0 && topic.partitionsCount > 0) cuttings.push(newCutting(topic, subscribers));
  }
  if (cuttings.some(({ mindsRacks }) => mindsRacks)) giveByRacks(cuttings, gathered);
  for (const cutting of cuttings) giveRanges(cutting, gathered, () => true);
  return dealt(gathered);
}

function subscribersByTopic(inTurn: readonly AssignorMember[]): Map<string, AssignorMember[]> {
  const byTopic = new Map<string, AssignorMember[]>();
  for (const member of inTurn) {
    for (const topic of new Set(member.topics)) {
      const subscribers = byTopic.get(topic);
      if (subscribers === undefined) byTopic.set(topic, [member]);
      else subscribers.push(member);
    }
  }
  return byTopic;
}

function newCutting(topic: AssignorTopic, members: readonly AssignorMember[]): Cutting {
  return {
    topic,
    members,
    shareMin: Math.floor(topic.partitionsCount / members.length),
    extra: topic.partitionsCount % members.length,
    givenTo: new Map(),
    isGiven: new Array<boolean>(topic.partitionsCount).fill(false),
    mindsRacks: doRacksMatter(topic, members),
  };
}

/** Racks are of no account where members have none in common with replicas, or every partition is in every rack. */
function doRacksMatter({ racks, partitionsCount }: AssignorTopic, members: readonly AssignorMember[]): boolean {
  if (racks === undefined) return false;
  const all = new Set<string>();
  for (const replicas of racks) for (const rack of replicas) all.add(rack);
  if (!members.some(({ rack }) => rack !== null && all.has(rack))) return false;
  for (let partition = 0; partition < partitionsCount; partition++) {
    if (new Set(racks[partition] ?? []).size !== all.size) return true;
  }
  return false;
}

function isInRack({ topic }: Cutting, member: AssignorMember, partition: number): boolean {
  return member.rack === null || (topic.racks?.[partition]?.includes(member.rack) ?? false);
}

function roomFor(cutting: Cutting, { memberId }: AssignorMember): number {
  const share = cutting.shareMin + (cutting.extra > 0 ? 1 : 0);
  return Math.max(0, share - (cutting.givenTo.get(memberId) ?? 0));
}

function give(cutting: Cutting, member: AssignorMember, partition: number, gathered: Map<string, Gathered>): void {
  const { memberId } = member;
  const count = (cutting.givenTo.get(memberId) ?? 0) + 1;
  cutting.givenTo.set(memberId, count);
  if (count > cutting.shareMin) cutting.extra -= 1;
  cutting.isGiven[partition] = true;
  gather(gathered.get(memberId) as Gathered, cutting.topic.topic, partition);
}

/** Every member in turn takes the first partitions that are left and that it may take, up to its share. */
function giveRanges(
  cutting: Cutting,
  gathered: Map<string, Gathered>,
  mayTake: (member: AssignorMember, partition: number) => boolean,
): void {
  for (const member of cutting.members) {
    let room = roomFor(cutting, member);
    for (let partition = 0; partition < cutting.isGiven.length && room > 0; partition++) {
      if (cutting.isGiven[partition] === true || !mayTake(member, partition)) continue;
      give(cutting, member, partition, gathered);
      room -= 1;
    }
  }
}

/** Topics that are cut alike are given out together, so that they stay alike; the others one by one. */
function giveByRacks(cuttings: readonly Cutting[], gathered: Map<string, Gathered>): void {
  const alike = new Map<string, Cutting[]>();
  for (const cutting of cuttings) {
    const key = JSON.stringify([cutting.topic.partitionsCount, cutting.members.map(({ memberId }) => memberId)]);
    const group = alike.get(key);
    if (group === undefined) alike.set(key, [cutting]);
    else group.push(cutting);
  }
  for (const group of alike.values()) {
    const [first] = group;
    if (group.length > 1) giveAlike(group, gathered);
    else if (first?.mindsRacks) giveRanges(first, gathered, (member, partition) => isInRack(first, member, partition));
  }
}

function giveAlike(group: readonly Cutting[], gathered: Map<string, Gathered>): void {
  const [first] = group;
  if (first === undefined) return;
  for (let partition = 0; partition < first.topic.partitionsCount; partition++) {
    const taker = first.members.find((member) =>
      group.every((cutting) => roomFor(cutting, member) > 0 && isInRack(cutting, member, partition)),
    );
    if (taker !== undefined) for (const cutting of group) give(cutting, taker, partition, gathered);
  }
}
