/**
 * Judges a history by the seven promises. Each checker is a pure function from a history to what it found wrong.
 *
 * The names are those of the anomalies that Jepsen's Kafka tests look for, where there is one. The truth about a
 * partition is what a final session read from its start to its end after every send had been answered; without one,
 * nothing can be said to be lost.
 */
import { cutBound, type TopicLife, topicLives } from './administration.ts';
import { findDeletedReads, findStaleTopics, findStarts } from './comings-and-goings.ts';
import {
  findOffsetRegressions,
  findOutsiderCommits,
  findRestarts,
  findUncommitted,
  findZombieCommits,
  findZombiesHeard,
} from './group-commits.ts';
import { findMisreadGroups } from './group-readings.ts';
import { findDeliveryGaps, findGroupSkips, findRestless, findTwoOwners, findUnsettled } from './groups.ts';
import { addComplaint, type Complaint, type History, partitionText, report, type Send } from './history.ts';
import { lossesOfRead, lossesOfSend } from './losses.ts';
import { findMetadataBreaks } from './metadata.ts';
import { findIdleSettings } from './settings-in-effect.ts';

/** What a checker found. */
export type Violation = Complaint;

/** One checker. */
export interface Checker {
  readonly name: string;
  readonly promise: number;
  /** What holds if it finds nothing. */
  readonly says: string;
  readonly find: (facts: Facts) => Violation[];
}

/** A history and what all checkers derive from it. */
export interface Facts {
  readonly history: History;
  /** By partition: the value at each offset, as the final session read it; undefined without a final session. */
  readonly truth: readonly (ReadonlyMap<number, number> | undefined)[];
  /** By partition: how far that goes; Infinity for as far as there is anything. */
  readonly provenBelow: readonly number[];
  readonly sendOf: ReadonlyMap<number, Send>;
  /** By partition that is sent to: the one whose final session counts; a slot's last incarnation, or itself. */
  readonly finalOf: readonly number[];
  /** By partition: records below it may have been deleted. */
  readonly bounds: readonly number[];
  /** By topic id. */
  readonly lives: ReadonlyMap<string, TopicLife>;
}

/** Derives what the checkers share. */
export function factsOf(history: History): Facts {
  const truth: (Map<number, number> | undefined)[] = history.partitions.map(() => undefined);
  const provenBelow = history.partitions.map(() => Number.POSITIVE_INFINITY);
  for (const { isFinal, partition, provesBelow } of history.sessions) {
    if (!isFinal) continue;
    truth[partition] ??= new Map();
    if (provesBelow !== undefined) provenBelow[partition] = provesBelow;
  }
  const { reads } = history;
  for (let i = 0; i < reads.session.length; i++) {
    const session = history.sessions[reads.session[i] as number];
    if (session?.isFinal) truth[session.partition]?.set(reads.offset[i] as number, reads.value[i] as number);
  }
  const sendOf = new Map<number, Send>();
  for (const send of history.sends) sendOf.set(send.value, send);
  const finalOf = history.partitions.map((_, index) => index);
  history.partitions.forEach(({ slot }, index) => {
    if (slot !== undefined && truth[index] !== undefined) finalOf[slot] = index;
  });
  const last = new Set(finalOf.flatMap((index) => history.partitions[index]?.topicId ?? []));
  const lives = topicLives(history, (topicId) => last.has(topicId));
  const bounds = history.partitions.map(({ topicId }, index) => {
    return cutBound(history, index, lives.get(topicId ?? '')?.bornUs ?? 0);
  });
  return { history, truth, provenBelow, sendOf, finalOf, bounds, lives };
}

/** Since when whatever is sent to a partition must be where its final session finds it. */
function sureUs({ history, lives }: Facts, partition: number): number {
  const { topicId, isSlot } = history.partitions[partition] ?? {};
  if (isSlot === true) return Number.POSITIVE_INFINITY;
  return topicId === undefined ? 0 : (lives.get(topicId)?.firstSeenUs ?? Number.POSITIVE_INFINITY);
}

function nameOf(facts: Facts, partition: number): string {
  return partitionText(facts.history, partition);
}

/** Where the first of these values that was not sent to a partition was sent instead. */
function strayOf({ history, sendOf }: Facts, partition: number, ...values: number[]): Pick<Complaint, 'sentTo'> {
  const slot = history.partitions[partition]?.slot ?? partition;
  for (const value of values) {
    const sentTo = sendOf.get(value)?.partition ?? -1;
    if (sentTo !== slot) return { sentTo };
  }
  return {};
}

/** Promise 1. An acknowledged record is in the log at the offset that was told. */
function findLostWrites(facts: Facts): Violation[] {
  const found: Violation[] = [];
  const present = facts.truth.map((log) => (log === undefined ? undefined : new Set(log.values())));
  for (const send of facts.history.sends) {
    if (send.outcome !== 'acknowledged' || send.acks !== -1) continue;
    const partition = facts.finalOf[send.partition] ?? send.partition;
    const log = facts.truth[partition];
    if (log === undefined || send.sentUs < sureUs(facts, partition)) continue;
    const isThere = send.offset < 0 ? present[partition]?.has(send.value) : log.get(send.offset) === send.value;
    const bound = facts.bounds[partition] ?? 0;
    const instead = log.get(send.offset);
    if (isThere || (instead === undefined && bound > 0 && send.offset < bound)) continue;
    const provenBelow = facts.provenBelow[partition] ?? Number.POSITIVE_INFINITY;
    if (send.offset < 0 ? provenBelow !== Number.POSITIVE_INFINITY : send.offset >= provenBelow) continue;
    if (lossesOfSend(facts.history, partition, send) > 0) continue;
    const what = instead === undefined ? 'nothing is there' : `value ${instead} is there`;
    const sentence = `value ${send.value} was acknowledged at ${nameOf(facts, partition)}@${send.offset}; ${what}`;
    const of = instead === undefined ? {} : strayOf(facts, partition, instead);
    addComplaint(found, { checker: 'lost-write', promise: 1, partition, sentence, ...of });
  }
  return found;
}

/** Promises 1 and 3. What was once read at an offset is there at the end. */
function findLostReads(facts: Facts): Violation[] {
  const found: Violation[] = [];
  const { reads, sessions } = facts.history;
  for (let i = 0; i < reads.session.length; i++) {
    const session = sessions[reads.session[i] as number];
    const log = session === undefined ? undefined : facts.truth[session.partition];
    if (session === undefined || log === undefined) continue;
    const offset = reads.offset[i] as number;
    if (log.has(offset) || offset < (facts.bounds[session.partition] ?? 0)) continue;
    if (offset >= (facts.provenBelow[session.partition] ?? Number.POSITIVE_INFINITY)) continue;
    if (lossesOfRead(facts.history, session.partition, offset, reads.askedEpoch[i] as number) > 0) continue;
    const sentence = `value ${reads.value[i]} was read at ${nameOf(facts, session.partition)}@${offset} and is gone`;
    report(found, 'lost-read', 3, session.partition, sentence);
  }
  return found;
}

/**
 * Promise 2. Whoever looks at an offset, and whenever, sees one value. Where an unclean election has taken that value,
 * another one may come, and is there for ever then: each such time is judged by itself.
 */
function findInconsistentOffsets(facts: Facts): Violation[] {
  const found: Violation[] = [];
  const { reads, sessions, sends } = facts.history;
  const seen = facts.history.partitions.map((): Map<number, number>[] => []);
  const look = (partition: number, losses: number, offset: number, value: number, how: string): void => {
    const times = seen[partition] ?? [];
    const values = times[losses] ?? new Map<number, number>();
    times[losses] = values;
    const before = values.get(offset);
    if (before === undefined) values.set(offset, value);
    else if (before !== value) {
      const sentence = `${nameOf(facts, partition)}@${offset} held value ${before} and value ${value} (${how})`;
      const of = strayOf(facts, partition, before, value);
      addComplaint(found, { checker: 'inconsistent-offsets', promise: 2, partition, sentence, ...of });
    }
  };
  for (let i = 0; i < reads.session.length; i++) {
    const partition = sessions[reads.session[i] as number]?.partition ?? -1;
    const offset = reads.offset[i] as number;
    const losses = lossesOfRead(facts.history, partition, offset, reads.askedEpoch[i] as number);
    look(partition, losses, offset, reads.value[i] as number, 'read');
  }
  for (const send of sends) {
    if (send.outcome !== 'acknowledged' || send.offset < 0 || send.acks !== -1) continue;
    const partition = facts.finalOf[send.partition] ?? send.partition;
    if (send.sentUs < sureUs(facts, partition)) continue;
    look(partition, lossesOfSend(facts.history, partition, send), send.offset, send.value, 'acknowledged');
  }
  return found;
}

/** Promise 4. An idempotent producer's record is in the log once. */
function findDuplicates(facts: Facts): Violation[] {
  const found: Violation[] = [];
  facts.truth.forEach((log, partition) => {
    if (log === undefined) return;
    const offsets = new Map<number, number>();
    for (const [offset, value] of log) {
      const before = offsets.get(value);
      offsets.set(value, offset);
      if (before === undefined || !facts.sendOf.get(value)?.isIdempotent) continue;
      const sentence = `value ${value} is in ${nameOf(facts, partition)} at ${before} and at ${offset}`;
      report(found, 'duplicate', 4, partition, sentence);
    }
  });
  return found;
}

/** Promise 4. An idempotent producer's records are in the log in the order in which they were sent. */
function findDisorder(facts: Facts): Violation[] {
  const found: Violation[] = [];
  const placed = facts.truth.map((log) => {
    const offsets = new Map<number, number>();
    for (const [offset, value] of log ?? []) if (!offsets.has(value)) offsets.set(value, offset);
    return offsets;
  });
  const last = new Map<string, { offset: number; value: number }>();
  // Of a topic that came anew a producer may hear in the middle of its batches: order begins with its first answer.
  const knownUs = new Map<string, number>();
  for (const send of facts.history.sends) {
    const partition = facts.finalOf[send.partition] ?? send.partition;
    const offset = placed[partition]?.get(send.value);
    if (!send.isIdempotent || offset === undefined) continue;
    const line = `${send.producer}/${send.partition}`;
    if (partition !== send.partition && send.sentUs < (knownUs.get(line) ?? Number.POSITIVE_INFINITY)) {
      const isAnswered = send.outcome === 'acknowledged' && send.sentUs >= sureUs(facts, partition);
      if (isAnswered) knownUs.set(line, Math.min(knownUs.get(line) ?? send.doneUs, send.doneUs));
      continue;
    }
    const before = last.get(line);
    if (before !== undefined && offset < before.offset) {
      const earlier = `value ${before.value} at ${before.offset}, which was sent earlier`;
      const sentence = `value ${send.value} lies at ${nameOf(facts, partition)}@${offset}, before ${earlier}`;
      report(found, 'nonmonotonic-send', 4, partition, sentence);
    }
    last.set(line, { offset, value: send.value });
  }
  return found;
}

/** Promises 1 and 3. Nothing is read that was not sent, or that certainly failed. */
function findPhantoms(facts: Facts): Violation[] {
  const found: Violation[] = [];
  const { reads, sessions } = facts.history;
  for (let i = 0; i < reads.session.length; i++) {
    const session = sessions[reads.session[i] as number];
    if (session === undefined) continue;
    const value = reads.value[i] as number;
    const where = `${nameOf(facts, session.partition)}@${reads.offset[i]}`;
    const of = strayOf(facts, session.partition, value);
    if (of.sentTo !== undefined) {
      const sentence = `value ${value} was read at ${where} and never sent there`;
      addComplaint(found, { checker: 'phantom', promise: 3, partition: session.partition, sentence, ...of });
    } else if (facts.sendOf.get(value)?.outcome === 'failed') {
      const sentence = `value ${value} was read at ${where}, but its producer was told that it is not in the log`;
      report(found, 'failed-but-read', 4, session.partition, sentence);
    }
  }
  return found;
}

/**
 * Promise 3. Nothing is read at or above the high watermark, and a session's watermark never goes back, with two
 * exceptions where there are several nodes. A leader that has just come knows less of what is committed than the one
 * before has shown, until its followers have fetched: what it shows begins anew with its epoch, and holds the same
 * records. And whoever turns from the leader to a replica nearby finds one that has not heard of the last of it yet.
 */
function findEarlyReads(facts: Facts): Violation[] {
  const found: Violation[] = [];
  const { reads, sessions, isOfSeveral } = facts.history;
  const highest = new Map<string, number>();
  for (let i = 0; i < reads.session.length; i++) {
    const index = reads.session[i] as number;
    const partition = sessions[index]?.partition ?? -1;
    const offset = reads.offset[i] as number;
    const watermark = reads.highWatermark[i] as number;
    const key = isOfSeveral ? `${index}/${reads.askedEpoch[i]}` : `${index}`;
    const before = highest.get(key) ?? -1;
    if (offset >= watermark) {
      const sentence = `${nameOf(facts, partition)}@${offset} was read under a high watermark of ${watermark}`;
      report(found, 'early-read', 3, partition, sentence);
    }
    if (watermark < before && sessions[index]?.isNearby !== true) {
      const sentence = `the high watermark of ${nameOf(facts, partition)} went back from ${before} to ${watermark}`;
      report(found, 'watermark-regression', 3, partition, sentence);
    }
    highest.set(key, Math.max(before, watermark));
  }
  return found;
}

/** Promise 3. A session reads one offset after the other: none twice, none skipped. */
function findGaps(facts: Facts): Violation[] {
  const found: Violation[] = [];
  const { reads, sessions } = facts.history;
  const last = new Map<number, number>();
  for (let i = 0; i < reads.session.length; i++) {
    const index = reads.session[i] as number;
    const offset = reads.offset[i] as number;
    const lastRead = last.get(index);
    last.set(index, i);
    if (lastRead === undefined) continue;
    const before = reads.offset[lastRead] as number;
    if (offset === before + 1) continue;
    const partition = sessions[index]?.partition ?? -1;
    const checker = offset <= before ? 'nonmonotonic-poll' : 'poll-skip';
    const sentence = `a reader of ${nameOf(facts, partition)} went from ${before} to ${offset}`;
    // A batch of the quorum may end with offsets that hold no record for readers.
    const of = strayOf(facts, partition, reads.value[lastRead] as number, reads.value[i] as number);
    addComplaint(found, { checker, promise: 3, partition, sentence, ...of });
  }
  return found;
}

/** Promise 6. Every send was answered in the end. */
function findUnanswered(facts: Facts): Violation[] {
  const open = facts.history.sends.filter((send) => send.outcome === 'open');
  const first = open[0];
  if (first === undefined) return [];
  const sentence = `${open.length} sends were never answered, the first of them value ${first.value}`;
  return [{ checker: 'unanswered', promise: 6, partition: first.partition, sentence }];
}

/** What was seen to be wrong while the history was made. */
function findComplaints(facts: Facts): Violation[] {
  return [...facts.history.complaints];
}

/** Every checker, the gravest first. */
export const CHECKERS: readonly Checker[] = [
  { name: 'complaints', promise: 0, says: 'no invariant broke and no answer was impossible', find: findComplaints },
  { name: 'lost-write', promise: 1, says: 'acknowledged records are kept where they were', find: findLostWrites },
  {
    name: 'metadata',
    promise: 1,
    says: 'every answer about a topic fits what was acknowledged before it, across crashes',
    find: ({ history }) => findMetadataBreaks(history),
  },
  {
    name: 'stale-topic',
    promise: 1,
    says: 'a topic that came anew holds nothing of the one before',
    find: findStaleTopics,
  },
  { name: 'deleted-read', promise: 1, says: 'records that were deleted are not read again', find: findDeletedReads },
  { name: 'start-regression', promise: 1, says: 'where a log begins never goes back', find: findStarts },
  { name: 'idle-setting', promise: 1, says: 'a setting that was acknowledged acts', find: findIdleSettings },
  {
    name: 'inconsistent-offsets',
    promise: 2,
    says: 'an offset holds one value for ever',
    find: findInconsistentOffsets,
  },
  { name: 'lost-read', promise: 3, says: 'what was read stays', find: findLostReads },
  { name: 'early-read', promise: 3, says: 'nothing is read above the high watermark', find: findEarlyReads },
  { name: 'poll-skip', promise: 3, says: 'readers see every offset, in order', find: findGaps },
  { name: 'phantom', promise: 3, says: 'only what was sent is read', find: findPhantoms },
  { name: 'duplicate', promise: 4, says: 'idempotent records are there once', find: findDuplicates },
  { name: 'nonmonotonic-send', promise: 4, says: 'idempotent records are there in send order', find: findDisorder },
  { name: 'unanswered', promise: 6, says: 'every request is answered', find: findUnanswered },
  { name: 'two-owners', promise: 5, says: 'a partition has one owner', find: findTwoOwners },
  { name: 'zombie-commit', promise: 5, says: 'nobody commits for a later generation', find: findZombieCommits },
  { name: 'zombie-heard', promise: 5, says: 'who is of an earlier generation hears of it', find: findZombiesHeard },
  {
    name: 'outsider-commit',
    promise: 5,
    says: 'who is no member commits in an empty group',
    find: findOutsiderCommits,
  },
  { name: 'offset-regression', promise: 5, says: 'committed offsets stay', find: findOffsetRegressions },
  { name: 'group-misread', promise: 5, says: 'what is told of a group was so', find: findMisreadGroups },
  { name: 'group-restart', promise: 5, says: 'members go on where their group stood', find: findRestarts },
  { name: 'group-uncommitted', promise: 5, says: 'members give up what they have committed', find: findUncommitted },
  { name: 'group-skip', promise: 3, says: 'a group commits past what it was handed', find: findGroupSkips },
  { name: 'group-gap', promise: 3, says: 'members are handed every record in order', find: findDeliveryGaps },
  { name: 'group-unsettled', promise: 6, says: 'members settle', find: findUnsettled },
  { name: 'group-restless', promise: 6, says: 'groups come to rest', find: findRestless },
];

/** What losses in a damaged partition are called; the rest is never excused, a wrong value least of all. */
const EXCUSED_BY_DAMAGE = new Set([
  'lost-write',
  'lost-read',
  'inconsistent-offsets',
  'watermark-regression',
  'poll-skip',
  'nonmonotonic-poll',
  'start-regression',
  'damage',
]);

/** What was found, and what of it lies beyond the promises because bytes were damaged behind the node's back. */
export interface Judgement {
  readonly violations: readonly Violation[];
  readonly excused: readonly Violation[];
}

/** Runs every checker. */
export function judge(history: History): Judgement {
  const facts = factsOf(history);
  const violations: Violation[] = [];
  const excused: Violation[] = [];
  for (const checker of CHECKERS) {
    for (const violation of checker.find(facts)) {
      const { damaged, partitions } = history;
      const slot = partitions[violation.partition]?.slot ?? violation.partition;
      const isDamaged = damaged.has(violation.partition) || damaged.has(slot);
      const isExcused = isDamaged && EXCUSED_BY_DAMAGE.has(violation.checker);
      (isExcused ? excused : violations).push(violation);
    }
  }
  return { violations, excused };
}
