/** Regular expressions mean the same in both worlds: what Kafka's RE2 makes of them, for whole texts. */
import { describe, expect, it } from 'vitest';
import { compilePattern as compileReal } from '../../runtime-real/patterns.ts';
import { compilePattern as compileSimulated } from '../../runtime-sim/patterns.ts';

describe.each([
  ['real', compileReal],
  ['simulated', compileSimulated],
])('the %s world', (_name, compile) => {
  it.each([
    ['orders', 'orders', true],
    ['orders', 'orders-2', false],
    ['order', 'orders', false],
    ['orders|payments', 'payments', true],
    ['orders.*', 'orders-2', true],
    ['(?i)ORDERS', 'orders', true],
    ['[a-c]\\d{2}', 'b42', true],
    ['', '', true],
  ])('%s on %s: %s', (pattern, text, matches) => {
    expect(compile(pattern)?.(text)).toBe(matches);
  });

  it.each(['(', '*', '[a', 'a(?=b)', '\\1'])('does not understand %s', (pattern) => {
    expect(compile(pattern)).toBeNull();
  });

  it('takes its time by the length of the text, not by what an expression could make of it', () => {
    expect(compile('(a+)+(a+)+b')?.('a'.repeat(2_000))).toBe(false);
  });
});
