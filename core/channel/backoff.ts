/**
 * Waiting between attempts: doubling up to a limit, with jitter from dice that live in the machine's state.
 *
 * The dice are mulberry32, integers only, so that the same seed waits the same times on every engine. They are for
 * spreading load and never for identities. No state of its own; a crash forgets the dice, the next start brings a
 * fresh seed.
 */
import { assert } from '../lib/assert.ts';

/** Dice inside a machine's state: an unsigned 32-bit integer that moves with every throw. */
export interface Dice {
  dice: number;
}

/** Doublings before the wait stops growing; the table stands in for powers. */
const FACTORS: readonly number[] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];
/** The share of a wait, in percent, by which it is shortened or lengthened. */
const JITTER_PERCENT = 20;

/** A whole number from 0 up to, but not including, `sides`. Moves the dice. */
export function throwDice(holder: Dice, sides: number): number {
  assert(sides > 0, 'dice need a side');
  holder.dice = (holder.dice + 0x6d2b79f5) >>> 0;
  let mixed = holder.dice;
  mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
  mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
  return ((mixed ^ (mixed >>> 14)) >>> 0) % sides;
}

/**
 * How long to wait after `failures` in a row, at least 1: `minMs` doubled each time up to `maxMs`, then shifted by up
 * to a fifth either way. Milliseconds, a whole number. As Kafka's clients do since KIP-580.
 */
export function backoffMs(holder: Dice, failures: number, minMs: number, maxMs: number): number {
  assert(failures >= 1, 'nothing has failed yet');
  const percent = 100 - JITTER_PERCENT + throwDice(holder, 2 * JITTER_PERCENT + 1);
  return Math.floor((plainBackoffMs(failures, minMs, maxMs) * percent) / 100);
}

/** The longest that `backoffMs` can say, ms. */
export function longestBackoffMs(failures: number, minMs: number, maxMs: number): number {
  return Math.floor((plainBackoffMs(failures, minMs, maxMs) * (100 + JITTER_PERCENT)) / 100);
}

function plainBackoffMs(failures: number, minMs: number, maxMs: number): number {
  return Math.min(minMs * (FACTORS[Math.min(failures, FACTORS.length) - 1] as number), maxMs);
}
