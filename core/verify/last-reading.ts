/** What it proves of a partition that its log was read at the end of a run in which nothing was spared. Pure. */
import type { Session } from './history.ts';

/** How a leader's log was read at the end, and what is true of that leader. */
export interface LastReading {
  /** To the end that it shows: offsets below `position`. */
  readonly isDone: boolean;
  readonly position: number;
  readonly isWounded: boolean;
  /** Fewer are in sync than must be, so that it calls no more committed than it knew when it came. */
  readonly hasTooFew: boolean;
  /** By epoch: the highest watermark that was shown under it. */
  readonly shown: ReadonlyMap<number, number>;
  /** Of the last record that was shown: under which epoch the leader has it, or null, and which is right. */
  readonly epoch: number | null;
  readonly trueEpoch: number;
}

/**
 * What such a reading proves. Where the leader has what it may not show yet, nothing beyond; a record that it took
 * after another had been shown in that place is not the same.
 */
export function provenBy(reading: LastReading): Partial<Pick<Session, 'isFinal' | 'provesBelow'>> {
  const { isDone, position, isWounded, hasTooFew, shown, epoch, trueEpoch } = reading;
  if (!isDone || isWounded) return { isFinal: false };
  if (!hasTooFew || epoch === null || epoch !== trueEpoch) return {};
  const highest = Math.max(0, ...shown.values());
  const isLater = [...shown].some(([shownUnder, below]) => below === highest && epoch > shownUnder);
  return isLater ? {} : { provesBelow: position };
}
