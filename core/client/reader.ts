/**
 * A reader of one partition, without a group: whole batches come out in offset order, the position never goes back.
 *
 * A skeleton of the signatures that others build against; the machine follows.
 */
import type { Address } from '../channel/channel.ts';
import type { Ids } from '../lib/ids.ts';
import type { Env, NetworkInput, Outbox } from '../lib/world.ts';

/** How a reader behaves; all of it plain data. */
export interface ReaderOptions {
  readonly clientId: string;
  readonly ids: Ids;
  readonly bootstrap: readonly Address[];
  readonly topic: string;
  readonly partition: number;
  /** An offset, or an end of the log. */
  readonly from: number | 'earliest' | 'latest';
  readonly isolation: 'readUncommitted' | 'readCommitted';
  /** How long the broker may hold a fetch that finds less than `minBytes`. */
  readonly maxWaitMs: number;
  readonly minBytes: number;
  readonly maxBytes: number;
  readonly seed: number;
  /** Where to go on when the position is outside of the log; default 'none': a fatal error. */
  readonly reset?: 'none' | 'earliest' | 'latest';
  /** Default 30 s. */
  readonly requestTimeoutMs?: number;
  /** Default 100 ms. */
  readonly retryBackoffMs?: number;
}

/** A transaction whose records in this partition, from this offset on, must not be shown. */
export interface AbortedTransaction {
  readonly producerId: number;
  readonly firstOffset: number;
}

/** What a reader tells. */
export type ReaderEvent =
  /** One whole v2 batch, its checksum right, as a view; records below `fromOffset` are not for the caller. */
  | {
      readonly kind: 'batch';
      readonly bytes: Uint8Array;
      readonly fromOffset: number;
      readonly highWatermark: number;
      readonly aborted: readonly AbortedTransaction[];
    }
  /** After a fatal error the reader stands still until `seekReader`. */
  | { readonly kind: 'error'; readonly error: number; readonly message: string; readonly fatal: boolean };

/** What a reader is told. */
export type ReaderInput = NetworkInput | { readonly kind: 'wake' };

/** A reader's state: plain data. */
export interface Reader {
  readonly options: ReaderOptions;
  /** The next offset to be delivered; -1 until it is known. */
  position: number;
  /** As last told by the leader; -1 until it is known. */
  highWatermark: number;
  paused: boolean;
}

/** A reader that has not connected yet; it starts at the first 'wake'. */
export function createReader(options: ReaderOptions): Reader {
  return { options, position: -1, highWatermark: -1, paused: false };
}

/** Handles one input. Inputs for connections of others are ignored. */
export function stepReader(
  _reader: Reader,
  _env: Env,
  _input: ReaderInput,
  _out: Outbox,
  _events: ReaderEvent[],
): void {}

/** Starts no further fetch; what is under way is still delivered. */
export function pauseReader(reader: Reader): void {
  reader.paused = true;
}

/** Goes on after `pauseReader`. */
export function resumeReader(reader: Reader): void {
  reader.paused = false;
}

/** Moves the position, also after a fatal error. */
export function seekReader(reader: Reader, offset: number): void {
  reader.position = offset;
}

/** Ends: connections are closed, nothing more is delivered. */
export function stopReader(_reader: Reader, _env: Env, _out: Outbox): void {}

/** When the reader next wants a 'wake', on the monotonic clock; Infinity for never. */
export function readerDeadlineMs(_reader: Reader): number {
  return Number.POSITIVE_INFINITY;
}

/** Invariants between any two steps. */
export function checkReader(_reader: Reader): void {}
