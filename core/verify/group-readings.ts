/**
 * Judges what people and their tools are told of groups (`GroupReading`): it must have been true at some time between
 * question and answer, as far as the history knows what was. Of a group that has members, or an offset, it is certain
 * that it is there; of one that only keeps offsets also when it is not: after a deletion, until somebody commits.
 */
import { isOfBefore, latestUs, membersOf } from './group-commits.ts';
import type { GroupHistory, GroupReading, OffsetCommit } from './group-history.ts';
import type { GroupFacts } from './groups.ts';
import { type Complaint, type History, report } from './history.ts';

/** Promise 5. What is told of a group was so. */
export function findMisreadGroups({ history }: GroupFacts): Complaint[] {
  const found: Complaint[] = [];
  for (const group of history.groups) {
    const { groupId, readings } = group;
    const problemOf = judgeReadings(history, group);
    for (const [at, reading] of readings.entries()) {
      const problem = problemOf(reading, at);
      if (problem === null || isOfBefore(group, reading)) continue;
      const when = `between ${reading.askedUs} and ${reading.doneUs} us`;
      report(found, 'group-misread', 5, -1, `${groupId} was said ${problem}, ${when}`);
    }
  }
  return found;
}

function judgeReadings(history: History, group: GroupHistory): (reading: GroupReading, at: number) => string | null {
  const membersIn = membersOf(group);
  const dated = group.commits.map((commit) => ({ commit, lastUs: latestUs(history, group, commit) }));
  const deletions = dated.filter(({ commit }) => commit.offset < 0);
  const stores = dated.filter(({ commit }) => commit.offset >= 0);
  return (reading, at) => {
    const { askedUs, doneUs, isThere, countsOffsets, members, epoch } = reading;
    const certain = new Set(membersIn(askedUs, doneUs).map(({ member }) => member)).size;
    if (!isThere) {
      if (certain > 0) return `not to be there, while ${certain} were members of it`;
      const kept = countsOffsets ? keptOffset(history, group, stores, deletions, reading) : undefined;
      return kept === undefined ? null : `not to be there, while it kept ${kept.offset} of partition ${kept.partition}`;
    }
    if (group.kind === 'simple') {
      if (members > 0) return `to have ${members} members, though nobody ever joins it`;
      return isGone(stores, deletions, reading) ? 'to be there, though it was deleted and not used since' : null;
    }
    if (members >= 0 && members < certain) return `to have ${members} members, while ${certain} were in it`;
    return epoch >= 0 ? judgeEpoch(group, deletions, reading, at) : null;
  };
}

/** A commit, or a deletion, and when it can have taken effect at the latest. */
interface Dated {
  readonly commit: OffsetCommit;
  readonly lastUs: number;
}

/** An offset that certainly was there all the time. */
function keptOffset(
  { partitions }: History,
  { expirations }: GroupHistory,
  stores: readonly Dated[],
  deletions: readonly Dated[],
  { askedUs, doneUs }: GroupReading,
): OffsetCommit | undefined {
  const isKept = ({ outcome, partition, sentUs, lastSentUs, doneUs: storedUs }: OffsetCommit): boolean => {
    if (outcome !== 'acknowledged' || storedUs >= askedUs || partitions[partition]?.isSlot === true) return false;
    if (expirations.some((one) => one.partition === partition && one.atUs > sentUs && one.atUs < doneUs)) return false;
    return !deletions.some(({ commit, lastUs }) => {
      return commit.partition === partition && commit.sentUs < doneUs && lastUs > lastSentUs;
    });
  };
  return stores.findLast(({ commit }) => isKept(commit))?.commit;
}

/** All of it was deleted, and nothing can have been stored since. */
function isGone(stores: readonly Dated[], deletions: readonly Dated[], { askedUs, doneUs }: GroupReading): boolean {
  const last = deletions.findLast(({ commit }) => {
    return commit.isOfGroup === true && commit.outcome === 'acknowledged' && commit.doneUs < askedUs;
  });
  if (last === undefined) return false;
  return !stores.some(({ commit, lastUs }) => commit.sentUs < doneUs && lastUs >= last.commit.lastSentUs);
}

/** An epoch is never below one that was told before that was asked, as long as the group lasts. */
function judgeEpoch(
  { kind, readings, assignments, endsUs }: GroupHistory,
  deletions: readonly Dated[],
  { askedUs, doneUs, epoch }: GroupReading,
  at: number,
): string | null {
  if (kind !== 'consumer') return null;
  const mayEnd = (fromUs: number): boolean => {
    if (endsUs.some((us) => us > fromUs && us < doneUs)) return true;
    return deletions.some(({ commit, lastUs }) => {
      return commit.isOfGroup === true && commit.sentUs < doneUs && lastUs > fromUs;
    });
  };
  const before = readings.slice(0, at).find((one) => {
    return one.epoch > epoch && one.doneUs < askedUs && !mayEnd(one.askedUs);
  });
  if (before !== undefined) return `to be in epoch ${epoch}, after ${before.epoch} had been told`;
  // A member may hear late of what it was told: before an end, perhaps.
  const told = mayEnd(0) ? undefined : assignments.find((one) => one.generation > epoch && one.atUs < askedUs);
  return told === undefined
    ? null
    : `to be in epoch ${epoch}, though member ${told.member} had come into ${told.generation}`;
}
