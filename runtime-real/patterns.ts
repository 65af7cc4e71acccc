/**
 * The regular expressions of the real world: RE2's, by re2js, whose time to match grows with the length of the text
 * and never with its cunning. The library is loaded when it is first used.
 */
import { createRequire } from 'node:module';

interface Re2 {
  readonly RE2JS: { compile(pattern: string): { testExact(text: string): boolean; programSize(): number } };
}

/** The longest program of an expression that is understood, instructions: each character costs a walk over it. */
const PROGRAM_SIZE_MAX = 2_000;
/** The length of an expression times its largest count, at most: making a longer program takes long, too. */
const UNFOLDED_CHARS_MAX = 16_384;

const load = createRequire(import.meta.url);

/** Understands an expression for whole texts; null if it is none, or one that would take long for every text. */
export function compilePattern(pattern: string): ((text: string) => boolean) | null {
  if (pattern.length * largestCount(pattern) > UNFOLDED_CHARS_MAX) return null;
  const { RE2JS } = load('re2js') as Re2;
  try {
    const compiled = RE2JS.compile(pattern);
    if (compiled.programSize() > PROGRAM_SIZE_MAX) return null;
    return (text) => compiled.testExact(text);
  } catch {
    // Whatever it cannot make sense of is no expression.
    return null;
  }
}

/** The largest number in braces, which is how often a part of the expression may be repeated; 1 without any. */
function largestCount(pattern: string): number {
  let largest = 1;
  for (const [, from, to] of pattern.matchAll(/\{(\d+),?(\d*)\}/g))
    largest = Math.max(largest, Number(from), Number(to));
  return largest;
}
