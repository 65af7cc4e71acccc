/**
 * Appending what this node itself made: control batches, and the batches of a quorum's metadata.
 *
 * Nothing is checked that a client could get wrong, because no client made the bytes; bookkeeping, undoing and
 * durability are those of any other append. No state.
 */
import { assert } from '../lib/assert.ts';
import type { Env, Outbox } from '../lib/world.ts';
import { dataViewOf } from '../protocol/batch.ts';
import { appendChecked } from './append.ts';
import { lastEpoch } from './epochs.ts';
import type { Log } from './state.ts';
import type { AppendOutcome } from './types.ts';
import { WRITES_MAX } from './writes.ts';

/** How many more appends the log takes before the disk must answer; 0 while it is not open or is being cut. */
export function roomOfLog(log: Log): number {
  return log.state === 'open' && log.truncation === null ? WRITES_MAX - log.writes.length : 0;
}

/** Appends one batch of our own making, of any kind; base offset and leader epoch are set anew. Only with room. */
export function appendOwn(log: Log, env: Env, records: Uint8Array, leaderEpoch: number, out: Outbox): AppendOutcome {
  assert(roomOfLog(log) > 0, 'a batch of our own is appended with room');
  assert(leaderEpoch >= lastEpoch(log.epochs), 'a leader appends under the latest epoch');
  assert(records.length <= log.config.segmentBytes, 'a batch of our own fits into a segment');
  return appendChecked(log, env, records, dataViewOf(records), leaderEpoch, out);
}
