/**
 * A rate that is kept: how many bytes of moving replicas may pass a node in a second, in one direction.
 *
 * It is an account. Time pays in, at the rate, never more than BURST_MS are worth; what has passed is drawn, and may
 * overdraw it, for nobody knows before it was read how much a read brings. While it is overdrawn nothing more is begun.
 * So over any time no more passes than the rate allows, a burst, and one read for each that was begun at once. The
 * account is kept in thousandths of bytes, so that every number is whole. A crash begins a new one.
 *
 * A rate of 0 lets nothing pass until it is another one, for that is what it says. Kafka lets one read through whenever
 * nothing has passed for as long as it measures, about ten seconds.
 */

/** What may be saved up while nothing passes, as ms of the rate. */
export const BURST_MS = 1000;
/** A rate of so much is none: nothing here is as fast, and the account would lose its last digits. */
const BYTES_PER_SECOND_MAX = 1e12;

/** The account. */
export interface Throttle {
  /** Infinity: everything passes. */
  bytesPerSecond: number;
  /** Thousandths of bytes that may pass, as of `asOfMs`; below 0 more has passed than was due. */
  balance: number;
  /** `env.nowMs` */
  asOfMs: number;
}

/** Everything passes. */
export function createThrottle(): Throttle {
  return { bytesPerSecond: Infinity, balance: 0, asOfMs: 0 };
}

/** Another rate, from now on; what was overdrawn stays so. */
export function setRate(throttle: Throttle, bytesPerSecond: number, nowMs: number): void {
  settle(throttle, nowMs);
  if (!isBound(throttle)) throttle.balance = 0;
  throttle.bytesPerSecond = bytesPerSecond;
}

/** Whether there is a rate to keep. */
function isBound({ bytesPerSecond }: Throttle): boolean {
  return bytesPerSecond < BYTES_PER_SECOND_MAX;
}

/** So many bytes have passed, or are about to. */
export function draw(throttle: Throttle, sizeBytes: number, nowMs: number): void {
  if (!isBound(throttle)) return;
  settle(throttle, nowMs);
  throttle.balance -= sizeBytes * 1000;
}

/** So many of the bytes that were drawn have not passed; below 0: as many more have. */
export function giveBack(throttle: Throttle, sizeBytes: number): void {
  if (isBound(throttle)) throttle.balance += sizeBytes * 1000;
}

/** When more may pass: at or before `nowMs` if it may now, Infinity for a rate of nothing. */
export function freeAtMs(throttle: Throttle, nowMs: number): number {
  if (!isBound(throttle)) return nowMs;
  if (throttle.bytesPerSecond <= 0) return Infinity;
  settle(throttle, nowMs);
  return throttle.balance >= 0 ? nowMs : nowMs + Math.ceil(-throttle.balance / throttle.bytesPerSecond);
}

/** What one read may bring of a replica that the rate binds, of `sizeBytes` that it might: what a second is worth. */
export function portion({ bytesPerSecond }: Throttle, sizeBytes: number): number {
  return Math.min(sizeBytes, Math.max(bytesPerSecond, 1));
}

/** Time pays in. */
function settle(throttle: Throttle, nowMs: number): void {
  const { bytesPerSecond } = throttle;
  const elapsedMs = Math.max(0, nowMs - throttle.asOfMs);
  throttle.asOfMs = nowMs;
  if (!isBound(throttle)) return;
  throttle.balance = Math.min(throttle.balance + elapsedMs * bytesPerSecond, BURST_MS * bytesPerSecond);
}
