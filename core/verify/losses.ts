/**
 * What an unclean election may lose, said exactly, so that nothing else is forgiven.
 *
 * A replica that was not in sync comes to lead (`unclean.leader.election.enable`, or ElectLeaders on request). What
 * earlier leaders had committed at or above the end of its log is gone, and so is what they had committed in place of
 * records at its end that were never committed: whoever was told of it then was told the truth
 * of another time. So what was acknowledged, or read, *under an earlier leader* at such an offset need not be there any
 * more, and something else may be. What lies below, what is acknowledged or read under the new leader, and what is in
 * other partitions keep their promises.
 *
 * Reads say under which leader they were made. Acknowledgements do not, but a leader acknowledges nothing before its
 * watermark has passed it, nor does a client wait for an answer for longer than UNDER_WAY_US: what was sent before an
 * earlier leader's watermark moved for the last time, and answered no more than that time later, may be of an earlier
 * leader. Deletions of records are not excused: no story deletes any where an election may lose something.
 */
import type { History, Send } from './history.ts';

/** One unclean election, and what it took. */
export interface Loss {
  /** Index in the history. */
  readonly partition: number;
  /** Leader epoch of the lead that began by it: 'earlier' leaders are those of smaller epochs. */
  readonly epoch: number;
  /** Where the new leader's log parted from what earlier ones had committed: nothing below is lost. At most its end. */
  readonly fromOffset: number;
  /** Where the new leader's log ended when it came. */
  readonly endOffset: number;
  /** The epoch of the record before that; -1 for none. */
  readonly endEpoch: number;
  /** The highest watermark of earlier leaders: they acknowledged and showed nothing from there on. Never goes back. */
  toOffset: number;
  /** When the watermark of an earlier leader has last moved, microseconds; -1 for never. Never goes back. */
  committedUs: number;
}

/** A client takes no answer to a request later than this, microseconds. */
const UNDER_WAY_US = 2_000_000;

/** How many losses have taken what was read at an offset under a leader epoch; -1 for an epoch that is not known. */
export function lossesOfRead({ losses }: History, partition: number, offset: number, epoch: number): number {
  let count = 0;
  for (const loss of losses) {
    if (loss.partition === partition && epoch < loss.epoch && offset >= loss.fromOffset) count += 1;
  }
  return count;
}

/** How many losses may have taken what was acknowledged; where no offset was told, it may have been anywhere. */
export function lossesOfSend({ losses }: History, partition: number, send: Send): number {
  let count = 0;
  for (const { partition: lossy, fromOffset, toOffset, committedUs } of losses) {
    if (lossy !== partition || send.sentUs >= committedUs || send.doneUs >= committedUs + UNDER_WAY_US) continue;
    const isThere = send.offset < 0 ? fromOffset < toOffset : send.offset >= fromOffset && send.offset < toOffset;
    if (isThere) count += 1;
  }
  return count;
}

/** Whether a reader that has come as far as `position` may be told that this lies beyond the end of the log. */
export function mayBeBeyond({ losses }: History, partition: number, position: number): boolean {
  return losses.some((loss) => loss.partition === partition && position > loss.endOffset);
}

/**
 * How much of what lies below `offset`, as it was known in the epoch `fromEpoch`, is still promised in `toEpoch`. The
 * losses are those of one log.
 */
export function keptBelow(losses: readonly Loss[], fromEpoch: number, toEpoch: number, offset: number): number {
  let kept = offset;
  for (const loss of losses) {
    if (fromEpoch < loss.epoch && loss.epoch <= toEpoch) kept = Math.min(kept, loss.fromOffset);
  }
  return kept;
}
