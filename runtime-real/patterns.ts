/**
 * The regular expressions of the real world: RE2's, by re2js, whose time to match grows with the length of the text
 * and never with its cunning. The library is loaded when it is first used.
 */
import { createRequire } from 'node:module';

interface Re2 {
  readonly RE2JS: { compile(pattern: string): { testExact(text: string): boolean } };
}

const load = createRequire(import.meta.url);

/** Understands an expression for whole texts; null if it is none. */
export function compilePattern(pattern: string): ((text: string) => boolean) | null {
  const { RE2JS } = load('re2js') as Re2;
  try {
    const compiled = RE2JS.compile(pattern);
    return (text) => compiled.testExact(text);
  } catch {
    // Whatever it cannot make sense of is no expression.
    return null;
  }
}
