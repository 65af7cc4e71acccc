/**
 * Judges which offsets were committed for groups (`group-history.ts`), by whom, and whether they stay. As in
 * `groups.ts` nothing is held against a member that was given up and has not heard of it: what counts is what was
 * acknowledged.
 */
import {
  type Assignment,
  assignmentOf,
  type GroupHistory,
  type Holding,
  type OffsetCommit,
  type OffsetLookup,
  soundProofs,
} from './group-history.ts';
import { type GroupFacts, holdingsByPartition, mayBeAnother } from './groups.ts';
import { type Complaint, type History, partitionText, report } from './history.ts';

type Found = Complaint[];

/** Promise 5. Nobody of an earlier generation commits where a later one has begun, nor for what is another's since. */
export function findZombieCommits({ history }: GroupFacts): Found {
  const found: Found = [];
  for (const { groupId, kind, assignments, commits, holdings, endsUs } of history.groups) {
    const byPartition = holdingsByPartition(holdings);
    for (const commit of commits) {
      const { member, partition, outcome, generation, offset } = commit;
      if (outcome !== 'acknowledged' || generation < 0) continue;
      const who = `member ${member} of ${groupId} committed ${offset} for ${partitionText(history, partition)}`;
      if (kind === 'classic') {
        const later = successor(assignments, commit, endsUs);
        if (later === undefined) continue;
        const whose = `after member ${later.member} had come to own something in ${later.generation}`;
        report(found, 'zombie-commit', 5, partition, `${who} in generation ${generation} ${whose}`);
      } else if (!mayBeAnother(history, partition, commit.lastSentUs)) {
        const later = nextOwner(byPartition.get(partition) ?? [], assignments, commit);
        if (later === undefined) continue;
        const sentence = `${who}, which member ${later.member} had come to own at ${later.fromUs} us`;
        report(found, 'zombie-commit', 5, partition, sentence);
      }
    }
  }
  return found;
}

/** Promise 5. Nor is anybody of an earlier generation told that all is well, or anybody whose place is another's. */
export function findZombiesHeard({ history }: GroupFacts): Found {
  const found: Found = [];
  for (const group of history.groups) {
    const { groupId, kind, assignments, endsUs } = group;
    if (kind !== 'classic') continue;
    for (const { member, generation, sentUs } of soundProofs(group)) {
      if (generation === undefined) continue;
      const later = successor(assignments, { member, generation, lastSentUs: sentUs }, endsUs);
      if (later === undefined) continue;
      const who = `member ${member} of ${groupId} was taken for one of generation ${generation} at ${sentUs} us`;
      const whose = `after member ${later.member} had come to own something in ${later.generation}`;
      report(found, 'zombie-heard', 5, -1, `${who}, ${whose}`);
    }
  }
  return found;
}

/** What somebody said to be a member of a generation by: a commit, or a heartbeat. */
type Claim = Pick<OffsetCommit, 'member' | 'generation' | 'lastSentUs'>;

/** What the claimant was given in the generation of its claim; undefined for nothing. */
function ownOf(assignments: readonly Assignment[], commit: Claim): Assignment | undefined {
  const { member, generation, lastSentUs } = commit;
  let own: Assignment | undefined;
  for (const one of assignments) {
    if (one.member === member && one.generation === generation && joinedUsOf(one) <= lastSentUs) own = one;
  }
  return own;
}

/** Whether somebody was given something after that: a group that was empty and is gone begins to count anew. */
function isAfter(one: Assignment, own: Assignment | undefined): boolean {
  return own === undefined || one.atUs > joinedUsOf(own);
}

function joinedUsOf({ joinedUs, atUs }: Assignment): number {
  return joinedUs ?? atUs;
}

/**
 * Who came to be in a later generation, or asked for the claimant's own place in this one and was given it, after the
 * claimant had come to its own and before the claim was sent.
 */
function successor(
  assignments: readonly Assignment[],
  claim: Claim,
  endsUs: readonly number[],
): Assignment | undefined {
  const { member, generation, lastSentUs } = claim;
  const sinceUs = endsUs.findLast((us) => us < lastSentUs) ?? -1;
  const own = ownOf(assignments, claim);
  const isInPlace = (one: Assignment): boolean => {
    if (one.generation !== generation || one.member === member || one.instanceId === null) return false;
    return own !== undefined && one.instanceId === own.instanceId && (one.askedUs ?? one.atUs) > joinedUsOf(own);
  };
  return assignments.find((one) => {
    const isInBetween = one.atUs < lastSentUs && one.atUs > sinceUs && isAfter(one, own);
    return isInBetween && (one.generation > generation || isInPlace(one));
  });
}

/**
 * Who came to own the partition after the committing member had, and before the commit was sent; in the classic
 * protocol not in a generation that is over: who has missed one, and is in the next, gives up what it had.
 */
function nextOwner(
  holdings: readonly Holding[],
  assignments: readonly Assignment[],
  { member, lastSentUs, generation }: OffsetCommit,
): Holding | undefined {
  let ownUs = Number.POSITIVE_INFINITY;
  for (const one of holdings) if (one.member === member && one.fromUs <= lastSentUs) ownUs = one.fromUs;
  return holdings.find((one) => {
    if (one.member === member || one.fromUs >= lastSentUs) return false;
    if (one.askedUs >= 0) return one.askedUs > ownUs;
    // Of one that speaks the classic protocol, when it asked to join.
    const given = assignmentOf(assignments, one);
    return given !== undefined && (given.askedUs ?? -1) > ownUs && generation <= given.generation;
  });
}

/**
 * Promise 5. Who is no member commits only while the group has none: not where one was a member before that was asked,
 * and was taken for the same one after it was answered, and has not heard otherwise in between.
 */
export function findOutsiderCommits({ history }: GroupFacts): Found {
  const found: Found = [];
  for (const group of history.groups) {
    const { groupId, kind, commits } = group;
    if (kind === 'simple') continue;
    const membersIn = membersOf(group);
    for (const { outcome, generation, partition, offset, sentUs, doneUs } of commits) {
      if (outcome !== 'acknowledged' || generation >= 0) continue;
      const [member] = membersIn(sentUs, doneUs);
      if (member === undefined) continue;
      const done = offset < 0 ? 'the offset was deleted' : `${offset} was stored`;
      const what = `${done} for ${partitionText(history, partition)} of ${groupId} at ${doneUs} us`;
      const sentence = `${what} by somebody who is no member, while member ${member.member} was one`;
      report(found, 'outsider-commit', 5, partition, sentence);
    }
  }
  return found;
}

/**
 * Says who has certainly been a member from one time to another: came to own something before, was taken for the same
 * member when it asked afterwards, and has not heard otherwise in between.
 */
export function membersOf(group: GroupHistory): (fromUs: number, toUs: number) => readonly Holding[] {
  const { commits, holdings } = group;
  const ofMembers = commits.filter(({ outcome, generation }) => outcome === 'acknowledged' && generation >= 0);
  const heard = [...soundProofs(group), ...ofMembers.map(({ member, lastSentUs }) => ({ member, sentUs: lastSentUs }))];
  return (fromUs, toUs) =>
    holdings.filter((one) => {
      if (one.fromUs >= fromUs || one.toUs <= toUs) return false;
      return heard.some((proof) => proof.member === one.member && proof.sentUs > toUs && proof.sentUs < one.toUs);
    });
}

/** A committed offset is what was committed last: it is never lost, and goes back only where a client says so. */
export function findOffsetRegressions({ history }: GroupFacts): Found {
  const found: Found = [];
  for (const group of history.groups) {
    const { groupId, commits, lookups, expirations } = group;
    const partitions = new Set(lookups.map(({ partition }) => partition));
    for (const partition of partitions) {
      const ofPartition = commits
        .filter((one) => one.partition === partition)
        .map((commit) => ({ commit, lastUs: latestUs(history, group, commit) }));
      const seen: OffsetLookup[] = [];
      for (const lookup of lookups) {
        if (lookup.partition !== partition || isOfBefore(group, lookup)) continue;
        const goneUs = expirations.findLast((one) => one.partition === partition && one.atUs <= lookup.doneUs)?.atUs;
        const problem = judgeLookup(ofPartition, seen, lookup, goneUs ?? -1);
        seen.push(lookup);
        const where = `${partitionText(history, partition)} of ${groupId}`;
        if (problem !== null) report(found, 'offset-regression', 5, partition, `for ${where} ${problem}`);
      }
    }
  }
  return found;
}

/** Whether a coordinator may have answered that did not know that it had been replaced. */
export function isOfBefore(
  { unaware }: GroupHistory,
  { askedUs, doneUs }: Pick<OffsetLookup, 'askedUs' | 'doneUs'>,
): boolean {
  return unaware.some(({ fromUs, toUs }) => fromUs <= doneUs && toUs >= askedUs);
}

/**
 * When a commit can have taken effect at the latest. What was sent more than once may come late, until all is calm, but
 * not once its generation is over, or what it is for has come to another: then it is refused.
 */
export function latestUs({ calmUs }: History, group: GroupHistory, commit: OffsetCommit): number {
  const { outcome, isRepeated, isOver, doneUs } = commit;
  if (isOver === true) return doneUs;
  if (outcome === 'acknowledged' && !isRepeated) return doneUs;
  const lateUs = calmUs < 0 ? Number.POSITIVE_INFINITY : Math.max(calmUs, doneUs);
  return Math.min(lateUs, fencedUs(group, commit));
}

/** When a commit is refused at the latest, because another was told what it owns since; Infinity for never. */
function fencedUs({ kind, assignments, holdings }: GroupHistory, commit: OffsetCommit): number {
  const { generation, member, partition, lastSentUs } = commit;
  let fromUs = Number.POSITIVE_INFINITY;
  if (generation < 0) return fromUs;
  if (kind === 'classic') {
    const own = ownOf(assignments, commit);
    for (const one of assignments) {
      if (one.generation > generation && isAfter(one, own)) fromUs = Math.min(fromUs, one.atUs);
    }
    return fromUs;
  }
  let ownUs = Number.POSITIVE_INFINITY;
  for (const one of holdings) {
    if (one.partition === partition && one.member === member && one.fromUs <= lastSentUs) ownUs = one.fromUs;
  }
  for (const one of holdings) {
    if (one.partition !== partition || one.member === member || one.askedUs <= ownUs) continue;
    fromUs = Math.min(fromUs, one.fromUs);
  }
  return fromUs;
}

/** A commit, and when it can have taken effect at the latest. */
interface Dated {
  readonly commit: OffsetCommit;
  readonly lastUs: number;
}

function judgeLookup(
  commits: readonly Dated[],
  before: readonly OffsetLookup[],
  { offset, askedUs, doneUs }: OffsetLookup,
  goneUs: number,
): string | null {
  const newest = newestBefore(
    commits.map(({ commit }) => commit),
    askedUs,
  );
  // What was sent before it went may have been stored before.
  if (offset < 0 && (newest === null || newest.sentUs < goneUs)) return null;
  let latestUs = Number.NEGATIVE_INFINITY;
  for (const { commit, lastUs } of commits) {
    if (commit.offset === offset && commit.sentUs <= doneUs) latestUs = Math.max(latestUs, lastUs);
  }
  const what = offset < 0 ? 'nothing' : `${offset}`;
  if (latestUs === Number.NEGATIVE_INFINITY) {
    return `${what} was found at ${doneUs} us, which nobody had ${offset < 0 ? 'deleted' : 'committed'}`;
  }
  if (newest !== null && newest.lastSentUs > latestUs) {
    return `${what} was found at ${askedUs} us, after ${placeOf(newest)} had taken its place`;
  }
  for (const other of before) {
    if (other.offset <= offset || other.doneUs >= askedUs) continue;
    let firstUs = Number.POSITIVE_INFINITY;
    for (const { commit } of commits) if (commit.offset === other.offset) firstUs = Math.min(firstUs, commit.sentUs);
    if (firstUs > latestUs) return `${offset} was found at ${askedUs} us, after ${other.offset} had been found`;
  }
  return null;
}

/** What a commit makes of an offset, in words. */
function placeOf({ offset }: OffsetCommit): string {
  return offset < 0 ? 'its deletion' : `${offset}`;
}

/**
 * Promise 5. Who gives a partition up in good order has committed what it was handed, where it commits by itself: else
 * the next owner is handed it once more, though nobody failed.
 */
export function findUncommitted({ history }: GroupFacts): Found {
  const found: Found = [];
  for (const { groupId, holdings, commits, deliveries } of history.groups) {
    const handed = holdings.map(() => -1);
    deliveries.holding.forEach((index, i) => {
      if (index >= 0) handed[index] = Math.max(handed[index] ?? -1, deliveries.offset[i] as number);
    });
    for (const [index, { member, partition, isCommitted, fromUs, toUs }] of holdings.entries()) {
      const offset = handed[index] as number;
      if (isCommitted !== true || offset < 0 || mayBeAnother(history, partition, toUs)) continue;
      let last: OffsetCommit | null = null;
      for (const one of commits) {
        if (one.member === member && one.partition === partition && one.sentUs >= fromUs && one.sentUs <= toUs)
          last = one;
      }
      if (last === null || last.outcome !== 'acknowledged' || last.offset > offset) continue;
      const where = `${partitionText(history, partition)}@${offset}`;
      const what = `was handed ${where} and gave that up having committed ${last.offset}`;
      report(found, 'group-uncommitted', 5, partition, `member ${member} of ${groupId} ${what}`);
    }
  }
  return found;
}

/**
 * Promise 5. Who comes to own a partition goes on where its group stood: it is handed nothing that lies below all that
 * may have been committed last when it came.
 */
export function findRestarts({ history }: GroupFacts): Found {
  const found: Found = [];
  for (const group of history.groups) {
    const { groupId, holdings, commits, deliveries, expirations } = group;
    const first = firstHanded(group);
    for (const [index, { member, partition, fromUs }] of holdings.entries()) {
      const at = first.get(index);
      // Of topics that come and go nobody sees which offsets expire.
      if (at === undefined || history.partitions[partition]?.isSlot === true) continue;
      const [offset, atUs] = [deliveries.offset[at] as number, deliveries.atUs[at] as number];
      const ofPartition = commits.filter((one) => one.partition === partition && one.sentUs <= atUs);
      const newest = newestBefore(ofPartition, fromUs);
      if (newest === null || newest.offset <= offset) continue;
      if (expirations.some((one) => one.partition === partition && one.atUs <= atUs)) continue;
      const mayBeLower = (one: OffsetCommit): boolean => {
        return one.offset <= offset && latestUs(history, group, one) >= newest.lastSentUs;
      };
      if (ofPartition.some(mayBeLower)) continue;
      const where = `${partitionText(history, partition)}@${offset}`;
      const what = `was handed ${where} first, though ${newest.offset} was committed when it came to own that`;
      report(found, 'group-restart', 5, partition, `member ${member} of ${groupId} ${what} at ${fromUs} us`);
    }
  }
  return found;
}

/** The index of the first delivery of each holding. */
function firstHanded({ deliveries }: GroupHistory): ReadonlyMap<number, number> {
  const first = new Map<number, number>();
  deliveries.holding.forEach((holding, at) => {
    if (holding >= 0 && !first.has(holding)) first.set(holding, at);
  });
  return first;
}

/** The newest commit that was acknowledged by then; null for none. */
function newestBefore(commits: readonly OffsetCommit[], untilUs: number): OffsetCommit | null {
  let newest: OffsetCommit | null = null;
  for (const commit of commits) {
    if (commit.outcome !== 'acknowledged' || commit.doneUs >= untilUs) continue;
    if (newest === null || commit.lastSentUs > newest.lastSentUs) newest = commit;
  }
  return newest;
}
