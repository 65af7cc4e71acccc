/** Small dice inside a client's state: seeded by its start, an integer generator of 32 bits (xorshift). */

/** The state of the dice; never zero. */
export interface Jitter {
  state: number;
}

/** Dice from a seed. */
export function createJitter(seed: number): Jitter {
  return { state: (seed ^ 0x6d2b79f5) >>> 0 || 1 };
}

/** An integer from 0 to `limit` - 1; 0 when `limit` is 0 or 1. */
export function jitter(dice: Jitter, limit: number): number {
  let x = dice.state;
  x ^= x << 13;
  x ^= x >>> 17;
  x ^= x << 5;
  dice.state = x >>> 0;
  return limit <= 1 ? 0 : dice.state % limit;
}
