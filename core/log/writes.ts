/**
 * Appends under way: each is noted with what was before it, so that `cut.ts` can take it back where the disk refuses.
 *
 * A note is made before indexes and producers move on. The producers of a batch that a follower appends are noted in
 * `producersBefore`; a leader appends one batch of one producer at a time and needs no list. A crash loses the notes:
 * what was not answered is found in the files, or not.
 */
import { assert } from '../lib/assert.ts';
import { ask } from './files.ts';
import { indexEntries, timeEntries } from './index.ts';
import type { Log, ProducerUndo, Segment, Write } from './state.ts';

/** Appends that the disk has not answered, at most: beyond that it counts as stalled. */
export const WRITES_MAX = 65_536;

/** Notes an append at the end of the log, up to `next`; the disk is asked for it under the ticket of the note. */
export function noteWrite(
  log: Log,
  segment: Segment,
  next: number,
  producersBefore: readonly ProducerUndo[] | null,
): Write {
  const write: Write = {
    kind: 'append',
    ticket: log.ids.ticket + 1, // What `ask` hands out next.
    segment,
    position: segment.sizeBytes,
    base: log.end,
    next,
    isDone: false,
    producerId: -1,
    baseSequence: -1,
    producerEpoch: -1,
    producerBefore: null,
    producersBefore,
    firstTimestampBefore: segment.firstTimestampMs,
    maxTimestampBefore: segment.maxTimestampMs,
    maxTimestampOffsetBefore: segment.maxTimestampOffset,
    sinceIndexBefore: segment.sinceIndexBytes,
    indexCountBefore: indexEntries(segment),
    timeCountBefore: timeEntries(segment),
    lastTimeBefore: segment.lastTimeMs,
  };
  const ticket = ask(log, write);
  assert(ticket === write.ticket, 'a write knows its ticket');
  log.writes.push(write);
  return write;
}
