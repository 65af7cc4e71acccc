/**
 * What the clients of a run share: the history that they write, and the true time, which only an observer knows.
 * It is no part of any client's state: a client that crashes leaves behind what it did.
 */
import type { History } from '../../core/verify/history.ts';

/** Shared by all clients of one run. */
export interface Observer {
  readonly history: History;
  /** The world, as far as an observer looks at it. */
  readonly time: { readonly nowUs: number };
  /** Producers so far: each life of a producing client is another one. */
  producers: number;
  /** Batches that final readers saw and that held an acknowledged record. */
  acknowledgedBatches: number;
  /** Sends that are not answered. */
  openSends: number;
}

/** An observer of nothing yet. */
export function createObserver(history: History, time: { readonly nowUs: number }): Observer {
  return { history, time, producers: 0, acknowledgedBatches: 0, openSends: 0 };
}
