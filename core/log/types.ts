/**
 * What one partition's log says to whoever owns it. The log itself is `log.ts`.
 *
 * Offsets count records. `end` (the log end offset) is the next offset to assign; `durable` is where the synced prefix
 * ends (with flush off: the written prefix); `start` is the first offset kept. start <= durable <= end, always.
 */

export type { LogConfig } from '../config/log-config.ts';

/** How a log is found at start. All three offsets come from the log directory's checkpoint files; 0 when absent. */
export interface LogFound {
  /** The node stopped cleanly: nothing needs to be scanned. */
  readonly clean: boolean;
  /** Every record below it was synced: recovery scans from here. */
  readonly recoveryPoint: number;
  /** Every record below it had been shown to readers, hence synced: a bad batch below it is damage, not a torn tail. */
  readonly highWatermark: number;
  /** DeleteRecords and retention moved the start here. */
  readonly logStartOffset: number;
  /** A reset to that start was under way, or over and nothing shown since: the log may have been left as it was. */
  readonly wasReset?: boolean;
  /** What every record below it came to is held by a snapshot too; 0 without one. */
  readonly snapshotEnd?: number;
}

/** What is wrong with one record of a batch, as Produce answers it. */
export interface RecordFault {
  /** The record's place in its batch. */
  readonly batchIndex: number;
  readonly batchIndexErrorMessage: string | null;
}

/** The answer to an append: at once, before anything is on disk. */
export interface AppendOutcome {
  /** A Kafka error code; 0 when the batch is in the log (or was already: a duplicate). */
  readonly error: number;
  /** For people, null when there is nothing to add. */
  readonly message: string | null;
  /** Records that are the reason for the refusal, where it is for single ones. */
  readonly faults: readonly RecordFault[];
  /** Offset of the batch's first record; of the first copy for a duplicate. -1 on error. */
  readonly baseOffset: number;
  /** The batch is acknowledged once the high watermark is at or above this. */
  readonly nextOffset: number;
  /** The leader's time when timestampType is LogAppendTime, else -1. */
  readonly logAppendTimeMs: number;
  readonly duplicate: boolean;
}

/** The answer to an append as a follower: at once, before anything is on the disk. */
export interface FollowerOutcome {
  /**
   * 0 when every whole batch is in the log. CORRUPT_MESSAGE: a batch was bad, or none was whole; those before it are in
   * the log. KAFKA_STORAGE_ERROR: the log takes nothing for now.
   */
  readonly error: number;
  /** For people, null when there is nothing to add. */
  readonly message: string | null;
  /** The end of the log: what to fetch next. */
  readonly nextOffset: number;
  /** Bytes of the batches that were taken. */
  readonly usedBytes: number;
}

/** The answer to a read. Parts are whole batches in offset order; views that must not be changed. */
export type ReadOutcome =
  | {
      readonly kind: 'batches';
      readonly parts: readonly Uint8Array[];
      readonly sizeBytes: number;
      /** The reader reads files in sequence and goes on here: worth a `readAhead`. */
      readonly goesOnAt?: number;
    }
  /** A LogEvent 'readDone' with this ticket follows. */
  | { readonly kind: 'pending'; readonly ticket: number }
  /** OFFSET_OUT_OF_RANGE, CORRUPT_MESSAGE, KAFKA_STORAGE_ERROR. */
  | { readonly kind: 'error'; readonly error: number };

/** Where a timestamp is first reached. Offset -1 when no record is that late. */
export interface TimestampFound {
  readonly error: number;
  readonly offset: number;
  readonly timestampMs: number;
  readonly leaderEpoch: number;
}

/** What happened in a log since it was last asked; pushed by `stepLog` for the owner to act on. */
export type LogEvent =
  /** Ready for appends and reads; all that was found is durable. */
  | { readonly kind: 'opened' }
  /** `log.durable` has moved up. */
  | { readonly kind: 'durable' }
  /** The appends from this offset on did not happen (disk full): `log.end` is back here. Answer KAFKA_STORAGE_ERROR. */
  | { readonly kind: 'cutBack'; readonly offset: number }
  /** What was to be cut away is gone (`truncateTo`, `resetTo`): `log.end` is this offset. */
  | { readonly kind: 'truncated'; readonly offset: number }
  /** Nothing was cut, because no batch begins at the offset of `truncateTo`: this is the one to ask for. */
  | { readonly kind: 'cutRefused'; readonly offset: number; readonly isNewlyDamaged: boolean }
  | { readonly kind: 'readDone'; readonly ticket: number; readonly outcome: ReadOutcome }
  | { readonly kind: 'timestampFound'; readonly ticket: number; readonly found: TimestampFound }
  /** A clean close is done: all synced, snapshot written. */
  | { readonly kind: 'closed' }
  /** The log directory is not to be trusted again ('io'): answer KAFKA_STORAGE_ERROR to everyone, stop using it. */
  | { readonly kind: 'failed'; readonly detail: string };
