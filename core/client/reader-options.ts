/**
 * What a reader is told at its start, and what it tells. Plain data, no state; `reader.ts` says how it behaves.
 */
import type { Address } from '../channel/channel.ts';
import type { Ids } from '../lib/ids.ts';
import type { NetworkInput } from '../lib/world.ts';

/** How a reader behaves; all of it plain data. */
export interface ReaderOptions {
  readonly clientId: string;
  readonly ids: Ids;
  readonly bootstrap: readonly Address[];
  readonly topic: string;
  readonly partition: number;
  /** An offset, or an end of the log. */
  readonly from: number | 'earliest' | 'latest';
  /**
   * The latest leader epoch of the partition that the caller has heard of; -1, the default, for none. No earlier leader
   * is believed: one that does not know yet that another leads may end below `from` (KIP-320).
   */
  readonly fromEpoch?: number;
  readonly isolation: 'readUncommitted' | 'readCommitted';
  /** How long the broker may hold a fetch that finds less than `minBytes`. */
  readonly maxWaitMs: number;
  readonly minBytes: number;
  readonly maxBytes: number;
  readonly seed: number;
  /** Where the reader stands: a replica there is read from, if the brokers know of racks (KIP-392); default ''. */
  readonly rack?: string;
  /** Where to go on when the position is outside of the log; default 'none': a fatal error. */
  readonly reset?: 'none' | 'earliest' | 'latest';
  /** Default 30 s. */
  readonly requestTimeoutMs?: number;
  /** Default 100 ms. */
  readonly retryBackoffMs?: number;
  /** Whether asking for a missing topic may create it; default false. */
  readonly createsTopics?: boolean;
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
