/**
 * What administrators do to topics, as it stands in a history, and what of it concerns records.
 *
 * An operation may have been tried several times. What the last attempt came to is its answer; each attempt of which
 * nobody knows whether it was carried out may have been, or may yet be, until the process that it was sent to ends or
 * nothing is under way any more.
 */
import { ErrorCode } from '../protocol/errors.ts';
import type { History } from './history.ts';

/** A setting and its text. */
export type ConfigText = readonly [name: string, value: string];

/** What is done to a topic, or asked of it. */
export type TopicAction =
  | { readonly kind: 'create'; readonly partitions: number; readonly configs: readonly ConfigText[] }
  | { readonly kind: 'delete' }
  | { readonly kind: 'grow'; readonly count: number }
  /** A null value takes the setting away. */
  | { readonly kind: 'alter'; readonly changes: readonly (readonly [name: string, value: string | null])[] }
  | { readonly kind: 'describe' }
  | { readonly kind: 'describeConfigs' };

/** Whether it changes nothing. */
export function isQuestion({ kind }: TopicAction): boolean {
  return kind === 'describe' || kind === 'describeConfigs';
}

/** What an answer says. */
export interface TopicAnswer {
  /** NONE, or an error that says what the topic is: that it exists, that it does not, that it is as large already. */
  readonly error: number;
  /** Of create and describe. */
  readonly topicId?: string;
  /** Of describe. */
  readonly partitions?: number;
  /** Of describeConfigs: what is set for the topic itself. */
  readonly configs?: readonly ConfigText[];
}

/** One operation. */
export interface TopicOperation {
  readonly topic: string;
  readonly action: TopicAction;
  readonly startUs: number;
  /** -1 while nothing was heard. */
  doneUs: number;
  /** Null while nothing was heard, and where nobody knows. */
  answer: TopicAnswer | null;
  /** Attempts of which nobody knows whether they were carried out, the last one included where `answer` is null. */
  unsureAttempts: number;
}

/** One request to delete the records of a partition below an offset. */
export interface CutRecords {
  /** Index of the partition, or of its slot. */
  readonly partition: number;
  readonly offset: number;
  readonly startUs: number;
  /** -1 while nothing was heard. */
  doneUs: number;
  /** Where the log begins from then on, if that was acknowledged; else -1. */
  lowWatermark: number;
  /** It may have been carried out although nobody said so. */
  isUnsure: boolean;
}

/** Errors that say something of the topic. */
const TELLING: ReadonlySet<number> = new Set([
  ErrorCode.NONE,
  ErrorCode.TOPIC_ALREADY_EXISTS,
  ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
  ErrorCode.INVALID_PARTITIONS,
]);

/** The answer, or null where the error says nothing of the topic. */
export function tellingAnswer(answer: TopicAnswer): TopicAnswer | null {
  return TELLING.has(answer.error) ? answer : null;
}

/** What arrives at a node is carried out within this time, or not at all. Microseconds. */
const CARRIED_OUT_US = 2_000_000;
/** The same where a node hands it on to another, which may be replaced meanwhile. */
const HANDED_ON_US = 12_000_000;
/** A node of several that hears the others is behind them by no more than this. Microseconds. */
const BEHIND_US = 10_000_000;
/** The same from when all is well on: nobody looks for another leader, or is cut off. Microseconds. */
const BEHIND_IN_CALM_US = 2_000_000;
/** A controller that has been replaced finds out within this: a majority has not fetched, or late. Microseconds. */
const REPLACED_US = 3_000_000;

/**
 * Since when what was told at `askedUs` may have been so: of several nodes each tells what it has heard last, and one
 * that is cut off, or stood still, has heard nothing since. Once all is well every node that answers has heard of the
 * others, whatever was before.
 */
export function heardUs({ calmUs, isOfSeveral, holds }: History, askedUs: number, behindUs = BEHIND_US): number {
  if (!isOfSeveral) return askedUs;
  if (calmUs >= 0 && askedUs >= calmUs) return Math.max(0, askedUs - Math.min(behindUs, BEHIND_IN_CALM_US));
  let sinceUs = askedUs - behindUs;
  for (let i = holds.length - 1; i >= 0; i--) {
    const { fromUs, toUs } = holds[i] as History['holds'][number];
    if (fromUs <= askedUs && (toUs < 0 || toUs >= sinceUs)) sinceUs = Math.min(sinceUs, fromUs - behindUs);
  }
  return Math.max(0, sinceUs);
}

/**
 * Since when what an answer says may have been so. A change is made while it is asked for. A description tells what the
 * node that was asked has heard, an error what the controller believed, which may have been replaced.
 */
export function toldUs(history: History, { action, answer, startUs }: TopicOperation): number {
  if (answer === null) return startUs;
  if (isQuestion(action)) return heardUs(history, startUs);
  return answer.error === ErrorCode.NONE ? startUs : heardUs(history, startUs, REPLACED_US);
}

/** Whether everything that was done to topics is over, and whoever answers at `nowUs` has surely heard of it. */
export function isHeardOfAll(history: History, nowUs: number): boolean {
  const sinceUs = heardUs(history, nowUs);
  return history.operations.every(({ action, doneUs }) => isQuestion(action) || (doneUs >= 0 && doneUs <= sinceUs));
}

/**
 * When an attempt that nobody answered can be carried out no more. `startUs`, `doneUs`: when its operation was begun
 * and given up; a network that held bytes back in between may deliver them later. What a controller had in its log when
 * it resigned is decided by whoever leads next, which nobody does before a disk takes the first batch of an epoch.
 */
export function expiryUs(history: History, startUs: number, doneUs: number): number {
  const { calmUs, downsUs, holds, isOfSeveral } = history;
  const carriedOutUs = isOfSeveral ? HANDED_ON_US : CARRIED_OUT_US;
  const givenUpUs = isOfSeveral ? doneUs + carriedOutUs : doneUs;
  let lastUs = doneUs;
  for (const { fromUs, toUs } of holds) {
    const endUs = toUs < 0 ? Number.POSITIVE_INFINITY : toUs;
    if (fromUs <= givenUpUs && endUs >= startUs) lastUs = Math.max(lastUs, endUs);
  }
  const downUs = downsUs.find((us) => us >= doneUs) ?? Number.POSITIVE_INFINITY;
  const quietUs = calmUs >= doneUs && calmUs >= 0 ? calmUs : Number.POSITIVE_INFINITY;
  return Math.min(downUs, quietUs, ledAgainUs(history, startUs, lastUs + carriedOutUs, carriedOutUs));
}

/** `untilUs`, or later where the disks were full by then: one that is full again at once may take nothing between. */
function ledAgainUs({ fulls }: History, startUs: number, untilUs: number, carriedOutUs: number): number {
  let lastUs = untilUs;
  for (const { fromUs, toUs } of fulls) {
    const endUs = toUs < 0 ? Number.POSITIVE_INFINITY : toUs;
    if (fromUs <= lastUs && endUs >= startUs) lastUs = Math.max(lastUs, endUs + carriedOutUs);
  }
  return lastUs;
}

/** What is known of the life of one topic id. */
export interface TopicLife {
  /** It was not there before. */
  readonly bornUs: number;
  /** It was there then, and until `lastSeenUs`: an id never comes again. */
  readonly firstSeenUs: number;
  readonly lastSeenUs: number;
}

/** The lives of all topic ids that administrators were told of. `isLast`: whether it was there at the very end. */
export function topicLives(history: History, isLast: (topicId: string) => boolean): Map<string, TopicLife> {
  const lives = new Map<string, { topic: string; bornUs: number; firstSeenUs: number; lastSeenUs: number }>();
  for (const operation of history.operations) {
    const { topic, answer, doneUs } = operation;
    const topicId = answer?.error === ErrorCode.NONE ? answer.topicId : undefined;
    if (topicId === undefined) continue;
    const startUs = toldUs(history, operation);
    const life = lives.get(topicId) ?? { topic, bornUs: -1, firstSeenUs: doneUs, lastSeenUs: startUs };
    life.firstSeenUs = Math.min(life.firstSeenUs, doneUs);
    life.lastSeenUs = isLast(topicId) ? Number.POSITIVE_INFINITY : Math.max(life.lastSeenUs, startUs);
    lives.set(topicId, life);
  }
  for (const [topicId, life] of lives) life.bornUs = birthUs(history, topicId, life);
  return lives;
}

function birthUs(history: History, topicId: string, life: { topic: string; firstSeenUs: number }): number {
  let earliestUs = life.firstSeenUs;
  for (const { topic, action, answer, startUs, unsureAttempts } of history.operations) {
    if (action.kind !== 'create' || topic !== life.topic) continue;
    if (answer?.topicId === topicId) return startUs;
    if (unsureAttempts > 0) earliestUs = Math.min(earliestUs, startUs);
  }
  return earliestUs;
}

/** Below this offset records of an incarnation may be gone: the furthest that a request can have cut it. */
export function cutBound(history: History, partition: number, bornUs: number): number {
  const slot = history.partitions[partition]?.slot ?? partition;
  let bound = 0;
  for (const cut of history.cuts) {
    const isOver = cut.doneUs >= 0 && !cut.isUnsure && cut.doneUs < bornUs;
    const isDone = cut.isUnsure || cut.doneUs < 0 || cut.lowWatermark >= 0;
    if (cut.partition === slot && isDone && !isOver) bound = Math.max(bound, cut.offset);
  }
  return bound;
}
