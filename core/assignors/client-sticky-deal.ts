/**
 * The work that 'sticky' and 'cooperative-sticky' share: a balanced assignment that moves as little as it can.
 *
 * Each member first keeps what it owns, as far as it still subscribes to it and nobody owned it later. Where all
 * members subscribe to the same topics, everybody has a quota: what is above it is taken away, what is free is dealt
 * in turn. Otherwise what is free goes to the least loaded member that may have it, and then, the most loaded members
 * first, partitions move for as long as that makes two members more alike.
 *
 * Invariants: with the same topics for all, loads differ by one at most; in any case no partition is owned by a member
 * that has two more than another one that may have it. Every move makes the sum of the squares of the loads smaller,
 * so moving ends. Racks are not looked at. Pure, no state.
 */
import { assert } from '../lib/assert.ts';
import {
  type Assignment,
  type AssignorMember,
  type AssignorTopic,
  dealt,
  emptyHands,
  type Gathered,
  gather,
  sortedMembers,
  sortedTopics,
  type TopicPartitions,
} from './client-shapes.ts';

/** What a member says that it owns, and since which generation. */
export interface Claim {
  readonly owned: readonly TopicPartitions[];
  /** -1 where it is not known. */
  readonly generation: number;
}

const NOBODY = -1;

/** A partition that somebody subscribes to. */
interface Slot {
  readonly topic: string;
  readonly partition: number;
  /** Index of the member that it is given to; NOBODY for none yet. */
  owner: number;
  /** Whether the owner had it before. */
  isKept: boolean;
}

interface Deal {
  readonly members: readonly AssignorMember[];
  /** By topic, the indexes of the members that subscribe to it, in turn. */
  readonly takers: ReadonlyMap<string, readonly number[]>;
  /** Topics by name, partitions ascending. */
  readonly slots: readonly Slot[];
  /** By index of the member. */
  readonly loads: number[];
}

/** The assignment. `claimOf` is asked once for each member. */
export function dealSticky(
  members: readonly AssignorMember[],
  topics: readonly AssignorTopic[],
  claimOf: (member: AssignorMember) => Claim,
): Assignment {
  const deal = newDeal(members, topics);
  keep(deal, claimOf);
  if (areAlike(deal)) fillQuotas(deal);
  else {
    giveFree(deal);
    level(deal);
  }
  const hands = emptyHands(deal.members);
  const inTurn = [...hands.values()];
  for (const { topic, partition, owner } of deal.slots) {
    assert(owner !== NOBODY, 'a partition was given to nobody');
    gather(inTurn[owner] as Gathered, topic, partition);
  }
  return dealt(hands);
}

function newDeal(members: readonly AssignorMember[], topics: readonly AssignorTopic[]): Deal {
  const inTurn = sortedMembers(members);
  const takers = new Map<string, number[]>();
  for (const [index, member] of inTurn.entries()) {
    for (const topic of new Set(member.topics)) {
      const indexes = takers.get(topic);
      if (indexes === undefined) takers.set(topic, [index]);
      else indexes.push(index);
    }
  }
  const slots: Slot[] = [];
  const known = new Set<string>();
  for (const { topic, partitionsCount } of sortedTopics(topics)) {
    if (!takers.has(topic) || partitionsCount === 0) continue;
    known.add(topic);
    for (let partition = 0; partition < partitionsCount; partition++) {
      slots.push({ topic, partition, owner: NOBODY, isKept: false });
    }
  }
  // A topic that is not there makes no difference between members.
  for (const topic of [...takers.keys()]) if (!known.has(topic)) takers.delete(topic);
  return { members: inTurn, takers, slots, loads: inTurn.map(() => 0) };
}

/** Everybody keeps its own; of two claims the later one holds, and of two of one generation neither. */
function keep(deal: Deal, claimOf: (member: AssignorMember) => Claim): void {
  const firsts = new Map<string, number>();
  const counts = new Map<string, number>();
  for (const [index, { topic }] of deal.slots.entries()) {
    if (!firsts.has(topic)) firsts.set(topic, index);
    counts.set(topic, (counts.get(topic) ?? 0) + 1);
  }
  const since = new Map<Slot, number>();
  for (const [index, member] of deal.members.entries()) {
    const claim = claimOf(member);
    const wishes = new Set(member.topics);
    for (const { topic, partitions } of claim.owned) {
      const first = firsts.get(topic);
      if (first === undefined || !wishes.has(topic)) continue;
      for (const partition of new Set(partitions)) {
        if (partition < 0 || partition >= (counts.get(topic) ?? 0)) continue;
        const slot = deal.slots[first + partition] as Slot;
        const other = since.get(slot);
        if (other !== undefined && other > claim.generation) continue;
        slot.owner = other === claim.generation ? NOBODY : index;
        since.set(slot, claim.generation);
      }
    }
  }
  for (const slot of deal.slots) {
    if (slot.owner === NOBODY) continue;
    slot.isKept = true;
    addLoad(deal, slot.owner, 1);
  }
}

function loadOf(deal: Deal, index: number): number {
  return deal.loads[index] as number;
}

function addLoad(deal: Deal, index: number, count: number): void {
  deal.loads[index] = loadOf(deal, index) + count;
}

function areAlike({ takers, members }: Deal): boolean {
  for (const indexes of takers.values()) if (indexes.length !== members.length) return false;
  return true;
}

/** All members may have everything: loads become the quotas, which differ by one at most. */
function fillQuotas(deal: Deal): void {
  const { members, slots } = deal;
  if (slots.length === 0) return;
  const quotaMin = Math.floor(slots.length / members.length);
  let extra = slots.length % members.length;
  const quotas = members.map((_, index) => {
    if (extra === 0 || loadOf(deal, index) <= quotaMin) return quotaMin;
    extra -= 1;
    return quotaMin + 1;
  });
  // Who has least gets what more there is, in turn; whoever has it already was served above.
  for (let index = 0; index < quotas.length && extra > 0; index++) {
    if (quotas[index] !== quotaMin) continue;
    quotas[index] = quotaMin + 1;
    extra -= 1;
  }
  for (let at = slots.length - 1; at >= 0; at--) {
    const slot = slots[at] as Slot;
    if (slot.owner === NOBODY || loadOf(deal, slot.owner) <= (quotas[slot.owner] as number)) continue;
    addLoad(deal, slot.owner, -1);
    slot.owner = NOBODY;
    slot.isKept = false;
  }
  let turn = 0;
  for (const slot of slots) {
    if (slot.owner !== NOBODY) continue;
    while (loadOf(deal, turn) >= (quotas[turn] as number)) turn = (turn + 1) % members.length;
    slot.owner = turn;
    addLoad(deal, turn, 1);
    turn = (turn + 1) % members.length;
  }
}

/** What nobody has goes to the least loaded that may have it; what few may have comes first. */
function giveFree(deal: Deal): void {
  const free = deal.slots.filter(({ owner }) => owner === NOBODY);
  const choices = (slot: Slot): number => deal.takers.get(slot.topic)?.length ?? 0;
  free.sort((a, b) => choices(a) - choices(b));
  for (const slot of free) {
    slot.owner = leastLoaded(deal, slot.topic);
    addLoad(deal, slot.owner, 1);
  }
}

function leastLoaded(deal: Deal, topic: string): number {
  const takers = deal.takers.get(topic) ?? [];
  let least = takers[0] as number;
  for (const index of takers) if (loadOf(deal, index) < loadOf(deal, least)) least = index;
  return least;
}

/** Moves partitions until no move makes two members more alike. What its owner had before moves last. */
function level(deal: Deal): void {
  let hasMoved = true;
  while (hasMoved) {
    hasMoved = false;
    const held = deal.members.map((): Slot[] => []);
    for (const slot of deal.slots) (held[slot.owner] as Slot[]).push(slot);
    for (const slots of held) slots.sort((a, b) => Number(a.isKept) - Number(b.isKept));
    const byLoad = [...deal.members.keys()].sort((a, b) => loadOf(deal, b) - loadOf(deal, a));
    for (const index of byLoad) {
      for (const slot of held[index] as Slot[]) {
        const taker = leastLoaded(deal, slot.topic);
        if (loadOf(deal, taker) + 1 >= loadOf(deal, index)) continue;
        slot.owner = taker;
        slot.isKept = false;
        addLoad(deal, index, -1);
        addLoad(deal, taker, 1);
        hasMoved = true;
      }
    }
  }
}
