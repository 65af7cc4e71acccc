/**
 * Judges what members of groups owned and were handed (`group-history.ts`): promise 5, and what it rests on; what was
 * committed is judged in `group-commits.ts`. Each checker is a pure function from a history, and what is known of its
 * partitions, to what it found wrong.
 *
 * Nothing is held against a member that the coordinator may have given up: whoever stood still for longer than its
 * session goes on believing that it owns what is another's already, until it hears of it. What counts is what the
 * coordinator has acknowledged, by when that was asked.
 */
import {
  type Assignment,
  assignmentOf,
  type GroupHistory,
  type Holding,
  type OffsetCommit,
  type Proof,
  soundProofs,
} from './group-history.ts';
import { type Complaint, type History, partitionText, report } from './history.ts';

/** What is known of the partitions. */
export interface GroupFacts {
  readonly history: History;
  /** By partition: the value at each offset, as the final session read it; undefined without a final session. */
  readonly truth: readonly (ReadonlyMap<number, number> | undefined)[];
  /** By partition: records below it may have been deleted. */
  readonly bounds: readonly number[];
}

/** Members settle at the latest so long after the last change, ms: two sessions and a rebalance. */
export const SETTLED_MAX_MS = 30_000;
/** So many generations after the last change, for each member, and for all: it joins, is told, and is told again. */
const GENERATIONS_PER_MEMBER = 3;
const GENERATIONS_MORE = 3;

type Found = Complaint[];

/** Promise 5. A partition has one owner: in a generation, of which each comes once, and at a time. */
export function findTwoOwners({ history }: GroupFacts): Found {
  const found: Found = [];
  for (const group of history.groups) {
    if (group.kind === 'classic') {
      findTwoInGeneration(history, group, found);
      findGenerationsBack(group, found);
    }
    if (group.kind !== 'simple') findTwoAtOnce(history, group, found);
  }
  return found;
}

/**
 * A static member that comes back takes its own place in the same generation (KIP-345): it is the same owner. That no
 * two processes are one member at a time is for `findTwoAtOnce` to say. A group that has ended begins to count anew.
 */
function findTwoInGeneration(history: History, { groupId, assignments, endsUs }: GroupHistory, found: Found): void {
  const owners = new Map<number, Map<number, Assignment>>();
  for (const assignment of assignments) {
    const { member, instanceId, generation, partitions } = assignment;
    const ofGeneration = owners.get(generation) ?? new Map<number, Assignment>();
    owners.set(generation, ofGeneration);
    for (const partition of partitions) {
      const other = ofGeneration.get(partition);
      ofGeneration.set(partition, assignment);
      if (other === undefined || other.member === member) continue;
      if (instanceId !== null && other.instanceId === instanceId) continue;
      if (endsUs.some((us) => us > other.atUs && us < assignment.atUs)) continue;
      const who = `members ${other.member} and ${member} of ${groupId}`;
      const what = `${partitionText(history, partition)} in generation ${generation}`;
      report(found, 'two-owners', 5, partition, `${who} both owned ${what}`);
    }
  }
}

/**
 * Whoever asks to join after somebody has heard of a generation comes into that one or a later one, as long as the
 * group lasts: by its number those are told who have missed something.
 */
function findGenerationsBack({ groupId, assignments, endsUs }: GroupHistory, found: Found): void {
  for (const { member, generation, askedUs = -1, atUs } of assignments) {
    const isAhead = (other: Assignment): boolean => other.generation > generation && other.atUs < askedUs;
    const last = assignments.findLast((other) => isAhead(other));
    if (last === undefined || endsUs.some((us) => us > (last.askedUs ?? last.atUs) && us < atUs)) continue;
    const later = `after member ${last.member} had come into ${last.generation}`;
    const sentence = `member ${member} of ${groupId} asked to join ${later}, and came into generation ${generation}`;
    report(found, 'generation-regression', 5, -1, sentence);
  }
}

/**
 * Two that own one partition, both of whom the coordinator still took for an owner when asked after the other had
 * begun. Of the later one that may have been the very question by which it came to own it; whoever stood still, and
 * reads an old answer, asked before.
 */
function findTwoAtOnce(history: History, group: GroupHistory, found: Found): void {
  const { groupId } = group;
  const sentBy = new Map<number, Proof[]>();
  for (const proof of soundProofs(group)) {
    const sent = sentBy.get(proof.member) ?? [];
    sentBy.set(proof.member, sent);
    sent.push(proof);
  }
  const confirmation = (of: Owned, other: Owned): number | undefined => {
    if (of.askedUs > other.fromUs) return of.askedUs;
    const fromUs = Math.max(other.fromUs, of.fromUs);
    const isOne = (one: Proof): boolean => one.sentUs > fromUs && one.sentUs < of.toUs && !hasMissed(of, other, one);
    return sentBy.get(of.member)?.find(isOne)?.sentUs;
  };
  const byPartition = holdingsByPartition(holdingsAnew(group));
  for (const [partition, ofPartition] of byPartition) {
    for (const late of ofPartition) {
      for (const early of ofPartition) {
        if (early.member === late.member || early.fromUs > late.fromUs || early.toUs <= late.fromUs) continue;
        if (mayBeAnother(history, partition, late.fromUs)) continue;
        const proof = confirmation(early, late);
        if (proof === undefined || confirmation(late, early) === undefined) continue;
        const who = `member ${late.member} of ${groupId} came to own ${partitionText(history, partition)}`;
        const other = `that member ${early.member} owned, and was confirmed in when it asked at ${proof} us`;
        report(found, 'two-owners', 5, partition, `${who} at ${late.fromUs} us, ${other}`);
      }
    }
  }
}

/** A holding, of the classic protocol with the generations in which it was owned anew, and first of all. */
type Owned = Holding & { readonly generation?: number | undefined; readonly firstGeneration?: number | undefined };

/**
 * Whether a classic member has missed the generation in which the other came to own what it had, and says so in a later
 * one that it was in: it is about to give that up, and has not been told yet what it owns.
 */
function hasMissed({ generation }: Owned, { firstGeneration }: Owned, proof: Proof): boolean {
  if (generation === undefined || firstGeneration === undefined || proof.generation === undefined) return false;
  return generation < firstGeneration && firstGeneration < proof.generation;
}

/**
 * Holdings, of the classic protocol one for each generation: a member that has missed some, and comes back with what it
 * had, may be told that it keeps that. It owns it anew; another may have owned it meanwhile.
 */
function holdingsAnew({ holdings, assignments }: GroupHistory): Owned[] {
  const toldUs = new Map<number, number[]>();
  for (const { member, atUs } of assignments) {
    const times = toldUs.get(member) ?? [];
    toldUs.set(member, times);
    times.push(atUs);
  }
  return holdings.flatMap((holding) => {
    const { member, fromUs, toUs, askedUs } = holding;
    if (askedUs !== -1) return [holding];
    const times = [fromUs, ...(toldUs.get(member) ?? []).filter((us) => us > fromUs && us < toUs)];
    const firstGeneration = assignmentOf(assignments, holding)?.generation;
    return times.map((us, at): Owned => {
      const generation = assignmentOf(assignments, { member, fromUs: us })?.generation;
      return { ...holding, fromUs: us, toUs: times[at + 1] ?? toUs, generation, firstGeneration };
    });
  });
}

/**
 * Whether the topic may have been deleted and made anew by then. Who owns a partition of the one need not own it of the
 * other, and hears of the change only when its coordinator has.
 */
export function mayBeAnother({ partitions, operations }: History, partition: number, untilUs: number): boolean {
  const named = partitions[partition];
  if (named?.isSlot !== true) return false;
  return operations.some(({ topic, action, startUs }) => {
    return topic === named.topic && action.kind === 'delete' && startUs < untilUs;
  });
}

/** Holdings by the partition that they are of, in their order. */
export function holdingsByPartition<H extends Holding>(holdings: readonly H[]): Map<number, H[]> {
  const byPartition = new Map<number, H[]>();
  for (const holding of holdings) {
    const list = byPartition.get(holding.partition) ?? [];
    byPartition.set(holding.partition, list);
    list.push(holding);
  }
  return byPartition;
}

/**
 * Promise 3. Whatever lies below a committed offset was handed to a member before that was asked for; and whatever lies
 * below a record that a member was handed, was handed to one.
 */
export function findGroupSkips(facts: GroupFacts): Found {
  const found: Found = [];
  const { history, truth } = facts;
  for (const group of history.groups) {
    const { commits, deliveries } = group;
    const first = firstDeliveries(history, deliveries);
    for (const partition of new Set([...commits.map((one) => one.partition), ...deliveries.partition])) {
      const log = truth[partition];
      if (log === undefined || isBeyond(history, partition)) continue;
      const offsets = [...log.keys()].filter((offset) => offset >= (facts.bounds[partition] ?? 0));
      findSkipped(history, group, partition, offsets, first[partition] ?? new Map(), found);
    }
  }
  return found;
}

function findSkipped(
  history: History,
  { groupId, commits }: GroupHistory,
  partition: number,
  offsets: readonly number[],
  first: ReadonlyMap<number, number>,
  found: Found,
): void {
  const sorted = commits.filter((one) => one.partition === partition).sort((a, b) => b.offset - a.offset);
  let next = 0;
  let askedUs = Number.POSITIVE_INFINITY;
  let above = -1;
  for (const offset of [...offsets].sort((a, b) => b - a)) {
    for (; next < sorted.length && (sorted[next] as OffsetCommit).offset > offset; next++) {
      askedUs = Math.min(askedUs, (sorted[next] as OffsetCommit).sentUs);
    }
    const atUs = first.get(offset) ?? Number.POSITIVE_INFINITY;
    const where = `${partitionText(history, partition)}@${offset}`;
    if (atUs > askedUs) {
      report(found, 'group-skip', 3, partition, `${groupId} committed past ${where}, which nobody had been handed`);
      return;
    }
    if (atUs === Number.POSITIVE_INFINITY && above >= 0) {
      report(found, 'group-skip', 3, partition, `nobody in ${groupId} was ever handed ${where}, but ${above} was`);
      return;
    }
    if (atUs !== Number.POSITIVE_INFINITY) above = offset;
  }
}

/** What became of its records is not promised: bytes were damaged, or an unclean election was allowed. */
function isBeyond({ damaged, losses }: History, partition: number): boolean {
  return damaged.has(partition) || losses.length > 0;
}

function firstDeliveries(history: History, deliveries: GroupHistory['deliveries']): Map<number, number>[] {
  const first = history.partitions.map(() => new Map<number, number>());
  deliveries.offset.forEach((offset, i) => {
    const known = first[deliveries.partition[i] as number];
    if (known?.has(offset) === false) known.set(offset, deliveries.atUs[i] as number);
  });
  return first;
}

/** Promise 3. While a member owns a partition it is handed every record, in order, and none when it does not. */
export function findDeliveryGaps({ history, truth }: GroupFacts): Found {
  const found: Found = [];
  for (const { groupId, holdings, deliveries } of history.groups) {
    const last = new Map<number, number>();
    const { holding, partition: partitions, offset: offsets, atUs } = deliveries;
    for (let i = 0; i < offsets.length; i++) {
      const [index, partition, offset] = [holding[i] as number, partitions[i] as number, offsets[i] as number];
      const where = `${partitionText(history, partition)}@${offset}`;
      const owned = holdings[index];
      if (owned === undefined || owned.toUs < (atUs[i] as number)) {
        const sentence = `a member of ${groupId} was handed ${where} at ${atUs[i]} us without owning it`;
        report(found, 'group-late-delivery', 5, partition, sentence);
        continue;
      }
      const before = last.get(index);
      last.set(index, offset);
      if (before === undefined || isBeyond(history, partition)) continue;
      if (mayBeAnother(history, partition, atUs[i] as number)) continue;
      if (offset <= before) {
        report(
          found,
          'group-gap',
          3,
          partition,
          `member ${owned.member} of ${groupId} was handed ${where} after ${before}`,
        );
        continue;
      }
      for (let missing = before + 1; missing < offset; missing++) {
        if (truth[partition]?.has(missing) !== true) continue;
        const sentence = `member ${owned.member} of ${groupId} was handed ${where} after ${before}, without ${missing}`;
        report(found, 'group-gap', 3, partition, sentence);
        break;
      }
    }
  }
  return found;
}

/** Promise 6. When nobody comes, goes or fails any more, every member soon owns what it is to own. */
export function findUnsettled({ history }: GroupFacts): Found {
  const found: Found = [];
  for (const { groupId, calmUs, settledUs } of history.groups) {
    if (calmUs < 0 || (settledUs >= 0 && settledUs - calmUs <= SETTLED_MAX_MS * 1000)) continue;
    const when = settledUs < 0 ? 'not' : `only at ${settledUs} us`;
    const sentence = `the members of ${groupId} settled ${when}, though nothing had changed since ${calmUs} us`;
    report(found, 'group-unsettled', 6, -1, sentence);
  }
  return found;
}

/** And that takes a bounded number of generations. */
export function findRestless({ history }: GroupFacts): Found {
  const found: Found = [];
  for (const { groupId, calmUs, calmMembers, assignments } of history.groups) {
    if (calmUs < 0) continue;
    const generations = new Set<number>();
    for (const { atUs, generation } of assignments) if (atUs > calmUs) generations.add(generation);
    const most = GENERATIONS_PER_MEMBER * calmMembers + GENERATIONS_MORE;
    if (generations.size <= most) continue;
    const sentence = `${groupId} went through ${generations.size} generations after the last change, more than ${most}`;
    report(found, 'group-restless', 6, -1, sentence);
  }
  return found;
}
