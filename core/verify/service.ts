/**
 * Judges whether a cluster that is well does what it is asked. Plain data.
 *
 * A client finds out only by asking that a node keeps silent for good: it may ask such a node once more, and whoever
 * has less time than that takes may have given up by then.
 */
import type { Complaint, Send } from './history.ts';

/** Which sends must have been acknowledged: those made since `fromUs` to what is owed, by whoever had time enough. */
export interface Service {
  readonly fromUs: number;
  /** So long nodes that are well need for all that a send takes, and clients to find them. */
  readonly leastMs: number;
  readonly isOwed: (partition: number) => boolean;
}

/** The first send that was not served, or null. */
export function judgeService(sends: readonly Send[], { fromUs, leastMs, isOwed }: Service): Complaint | null {
  for (const { sentUs, outcome, partition, patienceMs, value, error } of sends) {
    if (sentUs < fromUs || outcome === 'acknowledged' || patienceMs < leastMs || !isOwed(partition)) continue;
    const sentence = `value ${value}, sent when all was well, came to error ${error}`;
    return { checker: 'not-served', promise: 6, partition, sentence };
  }
  return null;
}
