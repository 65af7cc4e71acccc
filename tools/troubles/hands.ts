/**
 * What is in somebody's hands: nodes that a trouble has struck and not given back, and what it changes about the
 * cluster. Nothing is in two hands.
 */
import { pause } from '../peers/process.ts';

/** A node, or a matter. */
export type Thing = number | string;

/** All hands. */
export interface Hands {
  /** Takes all of them, unless one is taken: whether it did. */
  readonly take: (things: readonly Thing[]) => boolean;
  readonly release: (things: readonly Thing[]) => void;
}

const LOOK_EVERY_MS = 50;

/** Nothing is taken but what is said. */
export function createHands(taken: readonly Thing[]): Hands {
  const held = new Set(taken);
  return {
    take: (things) => {
      if (things.some((one) => held.has(one))) return false;
      for (const one of things) held.add(one);
      return true;
    },
    release: (things) => {
      for (const one of things) held.delete(one);
    },
  };
}

/** Takes a thing once it is free: every trouble ends. */
export async function takeWhenFree(hands: Hands, thing: Thing): Promise<void> {
  while (!hands.take([thing])) await pause(LOOK_EVERY_MS);
}
