/**
 * Producers that were silent for `producer.id.expiration.ms` are forgotten, all of a log at once, every now and then.
 * Its only state is `log.expireAtMs`; a log that knows no producer has nothing due.
 */
import type { Env } from '../lib/world.ts';
import { expireProducers } from './producers.ts';
import type { Log } from './state.ts';

/** Producers are looked through for expired ones so often at most, ms. */
const EXPIRY_INTERVAL_MS = 600_000;

/** There is a producer to be looked at, unless that is due already. */
export function scheduleExpiry(log: Log, nowMs: number): void {
  if (log.expireAtMs !== Infinity) return;
  log.expireAtMs = nowMs + Math.min(EXPIRY_INTERVAL_MS, log.config.producerIdExpirationMs);
}

/** Forgets whom it is time to forget; the next look is due while anybody is left. */
export function expire(log: Log, env: Env): void {
  log.expireAtMs = Infinity;
  if (log.producers === null) return;
  expireProducers(log.producers, env.nowMs, log.config.producerIdExpirationMs);
  if (log.producers.size === 0) log.producers = null;
  else scheduleExpiry(log, env.nowMs);
}
