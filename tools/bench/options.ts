/** What the command line of the benchmark may say. Pure. */
import type { SideName } from './sides.ts';

/** As the command line gives it, not yet looked at. */
export interface PlanOptions {
  readonly pairs: number;
  readonly seconds: number;
  /** Names with commas between them. */
  readonly sides: string;
}

/** Everybody who can be measured. */
export const SIDES: readonly SideName[] = ['kafka', 'tidemark', 'null'];
/** More runs than anybody waits for. */
export const PAIRS_MAX = 1000;
/** The longest run, seconds. */
export const SECONDS_MAX = 3600;

/** The sides, or the sentence that says what is wrong. */
export type PlanParsed =
  | { readonly kind: 'parsed'; readonly sides: readonly SideName[] }
  | { readonly kind: 'wrong'; readonly sentence: string };

/** Looks at all that was given; the first mistake counts. */
export function parsePlan({ pairs, seconds, sides }: PlanOptions): PlanParsed {
  if (!Number.isInteger(pairs) || pairs < 1 || pairs > PAIRS_MAX) {
    return wrong(`--pairs must be a whole number from 1 to ${PAIRS_MAX}`);
  }
  // Written so that a text which is no number, NaN, is refused too.
  if (!(seconds > 0 && seconds <= SECONDS_MAX)) {
    return wrong(`--seconds must be a number above 0, at most ${SECONDS_MAX}`);
  }
  const chosen: SideName[] = [];
  for (const name of sides.split(',')) {
    const side = SIDES.find((known) => known === name);
    if (side === undefined) return wrong(`no side is called "${name}"; there are ${SIDES.join(', ')}`);
    if (chosen.includes(side)) return wrong(`--sides names ${side} twice`);
    chosen.push(side);
  }
  return { kind: 'parsed', sides: chosen };
}

function wrong(sentence: string): PlanParsed {
  return { kind: 'wrong', sentence };
}
