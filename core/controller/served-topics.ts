/**
 * When a change of topics may be answered: once every live broker can serve what it made.
 *
 * The rule. A change is committed at some offset of the metadata log, and each heartbeat says up to where its broker
 * has applied the log: published the image, and opened the logs that it is to have. The answer waits until all brokers
 * that take part (registered, neither fenced nor about to shut down) have come that far. So a client that was told of
 * its topic finds it at whatever broker it asks next. Who takes part is looked at anew each time: a broker that is
 * fenced is waited for no longer, and one that is unfenced meanwhile is waited for too. When the client's time is over
 * it hears REQUEST_TIMED_OUT for what was made, as from Kafka: the topics are there, and will be served.
 *
 * A heartbeat each half second would make every answer as late as that. So a broker sends one at once when it has
 * applied a change that somebody may wait for (`isAwaited`), one at a time: while one is under way, the next goes when
 * it is answered, with all that was applied until then.
 *
 * Invariants: `waits` is in the order of offsets; at most WAITS_MAX. A crash, or another active controller, loses the
 * waits with the connections that they were to answer.
 */
import { assert } from '../lib/assert.ts';
import { createQueue, dequeue, enqueue, peek, type Queue, sift } from '../lib/queue.ts';
import type { MetadataDelta } from '../metadata/draft.ts';
import { ErrorCode } from '../protocol/errors.ts';
import type { ResponseInputOf } from '../protocol/messages/index.ts';
import { lowestOffset } from './brokers.ts';
import type { Controller } from './state.ts';

/** Answers that wait at one time; beyond that they leave at once. */
export const WAITS_MAX = 10_000;

/** An answer that waits; `W` is whoever is to have it. */
export interface ServedWait<W> {
  /** The offset of the last record of the change. */
  readonly offset: number;
  /** Monotonic, ms. */
  readonly untilMs: number;
  readonly waiter: W;
}

/** The state. */
export interface ServedWaits<W> {
  readonly waits: Queue<ServedWait<W>>;
  /** No wait ends before, for lack of time. */
  nextMs: number;
}

/** Who is to be answered now. */
export interface Served<W> {
  readonly waiter: W;
  /** Whether his time is over and some broker may not serve the topic yet. */
  readonly isLate: boolean;
}

/** Nobody waits. */
export function createServedWaits<W>(): ServedWaits<W> {
  return { waits: createQueue(), nextMs: Infinity };
}

/** Up to where every broker that takes part has applied the log; Infinity if none does. */
export function servedOffset(controller: Controller): number {
  return lowestOffset(controller, -1);
}

/**
 * A committed change is to be answered: true if at once, else `releaseServed` gives the waiter back. Changes come in
 * the order of the log.
 */
export function awaitServed<W>(served: ServedWaits<W>, controller: Controller, wait: ServedWait<W>): boolean {
  if (servedOffset(controller) >= wait.offset || served.waits.size >= WAITS_MAX) return true;
  enqueue(served.waits, wait);
  served.nextMs = Math.min(served.nextMs, wait.untilMs);
  return false;
}

/** A heartbeat was handled, a broker fenced, or the deadline has come: who is to be answered, in order. */
export function releaseServed<W>(served: ServedWaits<W>, controller: Controller, nowMs: number): Served<W>[] {
  const released: Served<W>[] = [];
  const { waits } = served;
  if (waits.size === 0) return released;
  const offset = servedOffset(controller);
  for (let first = peek(waits); first !== undefined && first.offset <= offset; first = peek(waits)) {
    dequeue(waits);
    released.push({ waiter: first.waiter, isLate: false });
  }
  if (served.nextMs > nowMs) return released;
  let nextMs = Infinity;
  const late = sift(waits, ({ untilMs }) => {
    if (untilMs > nowMs) nextMs = Math.min(nextMs, untilMs);
    return untilMs > nowMs;
  });
  for (const { waiter } of late) released.push({ waiter, isLate: true });
  served.nextMs = nextMs;
  return released;
}

/** This node is no longer the active controller: whoever still waits. What becomes of the change is not known here. */
export function dropServed<W>(served: ServedWaits<W>): W[] {
  served.nextMs = Infinity;
  return sift(served.waits, () => false).map(({ waiter }) => waiter);
}

/** When a wait ends for lack of time at the earliest; Infinity if none waits. */
export function servedDeadlineMs<W>(served: ServedWaits<W>): number {
  return served.waits.size === 0 ? Infinity : served.nextMs;
}

/** True between any two steps. */
export function checkServed<W>(served: ServedWaits<W>): void {
  assert(served.waits.size <= WAITS_MAX, 'too many answers wait for brokers');
  let last = -1;
  sift(served.waits, ({ offset, untilMs }) => {
    assert(offset >= last, 'answers wait out of the order of the log');
    assert(untilMs >= served.nextMs, 'an answer would wait for too long');
    last = offset;
    return true;
  });
}

/** The answer to CreateTopics of someone whose time is over: what was made may not be served everywhere yet. */
export function lateTopics(response: ResponseInputOf<19>): ResponseInputOf<19> {
  const topics = response.topics.map((topic) => (topic.errorCode === ErrorCode.NONE ? { ...topic, ...LATE } : topic));
  return { ...response, topics };
}

/** The same for CreatePartitions. */
export function latePartitions(response: ResponseInputOf<37>): ResponseInputOf<37> {
  const results = response.results.map((topic) => (topic.errorCode === ErrorCode.NONE ? { ...topic, ...LATE } : topic));
  return { ...response, results };
}

const LATE = { errorCode: ErrorCode.REQUEST_TIMED_OUT, errorMessage: null };

/**
 * Whether somebody may wait for a broker to have applied this: a client for a topic that is new or has grown, or a
 * broker that is about to shut down for others to lead in its place. Then a heartbeat is due at once.
 */
export function isAwaited({ after, topics }: MetadataDelta): boolean {
  if (topics.length === 0) return false;
  const isMade = topics.some((topic) => (topic.after?.partitions.length ?? 0) > (topic.before?.partitions.length ?? 0));
  if (isMade) return true;
  for (const broker of after.cluster.brokers.values()) if (broker.inControlledShutdown && !broker.fenced) return true;
  return false;
}
