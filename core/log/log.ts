/**
 * The log of one partition: skeleton of the public signatures; the bodies follow.
 */
import type { Ids } from '../lib/ids.ts';
import type { DiskInput, Env, Outbox } from '../lib/world.ts';
import type { AppendOutcome, LogConfig, LogEvent, LogFound, ReadOutcome, TimestampFound } from './types.ts';

/** Offsets of which the bytes are bad: a fetch there is answered by CORRUPT_MESSAGE. */
export interface DamagedRange {
  /** The first offset that is lost. */
  readonly start: number;
  /** The first offset after it that is served again. */
  readonly end: number;
}

/** One partition's log; plain data. */
export interface Log {
  readonly owner: number;
  readonly ids: Ids;
  readonly topic: string;
  readonly partition: number;
  readonly folder: string;
  config: LogConfig;
  state: 'new' | 'opening' | 'open' | 'closing' | 'closed' | 'failed';
  start: number;
  end: number;
  durable: number;
  sizeBytes: number;
  damaged: readonly DamagedRange[];
}

/** What a reader asks: whole batches that contain records in [offset, upTo). */
export interface ReadRequest {
  readonly offset: number;
  readonly sizeBytesMax: number;
  /** The reader sees nothing at or above it. */
  readonly upTo: number;
  /** Give the first batch even when it is larger than `sizeBytesMax`. */
  readonly minOne: boolean;
}

/** The answer to a question by timestamp: at once, or later by the event 'timestampFound'. */
export type TimestampOutcome =
  | { readonly kind: 'found'; readonly found: TimestampFound }
  | { readonly kind: 'pending'; readonly ticket: number };

/** Options of a new log. */
export interface LogOptions {
  readonly owner: number;
  readonly ids: Ids;
  readonly topic: string;
  readonly partition: number;
  /** Absolute; its last piece is `<topic>-<partition>`. */
  readonly folder: string;
  readonly config: LogConfig;
}

/** A log that has not been opened: nothing is asked of the world yet. */
export function createLog(_options: LogOptions): Log {
  throw new Error('not yet');
}

/** Opens the log: events 'opened' or 'failed' follow. Creates the folder if it is missing. */
export function openLog(_log: Log, _env: Env, _found: LogFound, _out: Outbox): void {
  throw new Error('not yet');
}

/** Takes an answer of the disk whose owner is `log.owner`. */
export function stepLog(_log: Log, _env: Env, _input: DiskInput, _out: Outbox, _events: LogEvent[]): void {
  throw new Error('not yet');
}

/** Appends the one batch that a Produce request holds for this partition. */
export function appendAsLeader(
  _log: Log,
  _env: Env,
  _records: Uint8Array,
  _leaderEpoch: number,
  _out: Outbox,
): AppendOutcome {
  throw new Error('not yet');
}

/** Reads whole batches. */
export function readLog(_log: Log, _env: Env, _request: ReadRequest, _out: Outbox): ReadOutcome {
  throw new Error('not yet');
}

/** The first record below `upTo` whose timestamp is at least `timestampMs` (ListOffsets). */
export function findTimestamp(
  _log: Log,
  _env: Env,
  _timestampMs: number,
  _upTo: number,
  _out: Outbox,
): TimestampOutcome {
  throw new Error('not yet');
}

/** The first record below `upTo` that has the largest timestamp (ListOffsets -3, KIP-734). */
export function maxTimestamp(_log: Log, _env: Env, _upTo: number, _out: Outbox): TimestampOutcome {
  throw new Error('not yet');
}

/** Where `leaderEpoch`, or the largest epoch below it, ends (KIP-101, KIP-279); -1, -1 when unknown. */
export function endOffsetForEpoch(_log: Log, _leaderEpoch: number): { leaderEpoch: number; endOffset: number } {
  throw new Error('not yet');
}

/** The latest leader epoch that the log knows, -1 when none. */
export function latestEpoch(_log: Log): number {
  throw new Error('not yet');
}

/** Notes that `epoch` starts at `startOffset` and writes it to leader-epoch-checkpoint. */
export function assignEpoch(_log: Log, _epoch: number, _startOffset: number, _out: Outbox): void {
  throw new Error('not yet');
}

/** Stops cleanly: the event 'closed' follows once all is synced and the producer snapshot is written. */
export function closeLog(_log: Log, _env: Env, _out: Outbox): void {
  throw new Error('not yet');
}

/** When the log next has something to do by itself, in `env.nowMs`; Infinity when nothing waits. */
export function logDeadlineMs(_log: Log): number {
  throw new Error('not yet');
}

/** The deadline has come, or might have. */
export function wakeLog(_log: Log, _env: Env, _out: Outbox, _events: LogEvent[]): void {
  throw new Error('not yet');
}

/** Every record below it is synced, indexes included: where recovery may start. */
export function recoveryPoint(_log: Log): number {
  throw new Error('not yet');
}

/** Asserts the invariants of the log. */
export function checkLog(_log: Log): void {
  throw new Error('not yet');
}
