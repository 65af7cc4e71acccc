/** Expressions of clients: what is understood, and what would keep the node from everybody else. */
import { describe, expect, it } from 'vitest';
import { compilePattern } from '../../runtime-real/patterns.ts';

describe('an expression', () => {
  it.each([
    'orders-.*',
    'orders|payments',
    '[a-z0-9._-]{1,249}',
    '(?i)[\\p{L}\\p{N}._-]{1,249}',
    '(a+)+$',
    '\\d{4}-\\d{2}',
  ])('%s is understood', (pattern) => {
    expect(compilePattern(pattern)).not.toBeNull();
  });

  it.each([
    ['is none', '('],
    ['repeats much in a few characters', '(a?){990}'.repeat(100)],
    ['repeats a part often', '(a?){990}'],
    ['repeats what repeats', '((\\w?){30}\\d){33}'],
  ])('that %s is not', (_what, pattern) => {
    expect(compilePattern(pattern)).toBeNull();
  });

  it('means whole texts', () => {
    const matches = compilePattern('ord.*');
    expect(['orders', 'my-orders'].map((text) => matches?.(text))).toEqual([true, false]);
  });
});
