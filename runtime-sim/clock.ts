/**
 * The clocks of one simulated process.
 *
 * The world has one true time, integer microseconds since the start of the run. A process sees two others, in whole
 * milliseconds, that never agree with its neighbours':
 * - monotonic: starts anywhere at each boot, runs fast or slow by up to a few parts in a thousand, never goes back;
 * - wall: near the true date, skewed, and set forwards or backwards at any moment by a trouble.
 * Drift is an integer in parts per million and the arithmetic is on integers below 2^53, so every engine agrees.
 */

/** Plain data; changed by `setWallSkew` and at boot. */
export interface Clock {
  /** Monotonic time at true time `bootUs`, milliseconds. */
  monotonicStartMs: number;
  /** True time of this boot. */
  bootUs: number;
  /** How much faster than true time both clocks run, parts per million; may be negative. */
  driftPpm: number;
  /** What is added to the date, milliseconds; may be negative. */
  wallSkewMs: number;
}

/** The true date at the start of every run: 2026-01-01T00:00:00Z, milliseconds since 1970. */
export const EPOCH_MS = 1_767_225_600_000;

/** A clock that shows the true time. */
export function createClock(): Clock {
  return { monotonicStartMs: 0, bootUs: 0, driftPpm: 0, wallSkewMs: 0 };
}

/** Starts the monotonic clock anew. */
export function bootClock(clock: Clock, trueUs: number, monotonicStartMs: number): void {
  clock.bootUs = trueUs;
  clock.monotonicStartMs = monotonicStartMs;
}

function drifted(clock: Clock, elapsedUs: number): number {
  return elapsedUs + Math.floor((elapsedUs * clock.driftPpm) / 1_000_000);
}

/** The monotonic clock, milliseconds. */
export function monotonicMs(clock: Clock, trueUs: number): number {
  return clock.monotonicStartMs + Math.floor(drifted(clock, trueUs - clock.bootUs) / 1000);
}

/** The date as this process believes it, milliseconds since 1970. */
export function wallMs(clock: Clock, trueUs: number): number {
  return EPOCH_MS + clock.wallSkewMs + Math.floor(drifted(clock, trueUs) / 1000);
}

/** Sets the date, forwards or backwards. */
export function setWallSkew(clock: Clock, wallSkewMs: number): void {
  clock.wallSkewMs = wallSkewMs;
}

/** The earliest true time at which the monotonic clock shows `deadlineMs` or more; never before `trueUs`. */
export function trueTimeOf(clock: Clock, deadlineMs: number, trueUs: number): number {
  let us = trueUs;
  for (let turn = 0; turn < 4; turn++) {
    const missingMs = deadlineMs - monotonicMs(clock, us);
    if (missingMs <= 0) return us;
    us = Math.floor(us / 1000) * 1000 + missingMs * 1000;
  }
  return us;
}
