/** The regular expressions of the simulator: RE2, by re2js, which is plain JavaScript and the same on every engine. */
import { createRequire } from 'node:module';

interface Re2 {
  readonly RE2JS: { compile(pattern: string): { testExact(text: string): boolean } };
}

const { RE2JS } = createRequire(import.meta.url)('re2js') as Re2;

/** Understands an expression for whole texts; null if it is none. */
export function compilePattern(pattern: string): ((text: string) => boolean) | null {
  try {
    const compiled = RE2JS.compile(pattern);
    return (text) => compiled.testExact(text);
  } catch {
    return null;
  }
}
