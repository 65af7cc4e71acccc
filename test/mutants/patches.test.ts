/** Every planted bug still fits the sources: its anchors are there, once, and it changes something. */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { SCENARIOS, WAITING_SCENARIOS } from '../../scenarios/list.ts';
import { applyHunk, parseMutant } from '../../tools/mutants/patch.ts';

const names = readdirSync('test/mutants').filter((name) => name.endsWith('.patch'));

test('there are at least thirty', () => {
  expect(names.length).toBeGreaterThanOrEqual(30);
});

describe.each(names)('%s', (name) => {
  const mutant = parseMutant(name, readFileSync(`test/mutants/${name}`, 'utf8'));

  test('names stories that there are', () => {
    expect(mutant.stories.length).toBeGreaterThan(0);
    const known = [...SCENARIOS, ...WAITING_SCENARIOS].map((scenario) => scenario.name);
    for (const story of mutant.stories) expect(known).toContain(story);
  });

  test('applies', () => {
    const sources = new Map<string, string>();
    for (const hunk of mutant.hunks) {
      const before = sources.get(hunk.file) ?? readFileSync(hunk.file, 'utf8');
      const after = applyHunk(name, before, hunk);
      expect(after).not.toBe(before);
      sources.set(hunk.file, after);
    }
  });
});

test('a patch whose anchor is gone or not unique is refused by name', () => {
  const text = '# imitates\nfile a.ts\n--- before\nx\n--- after\ny\n--- end\n';
  const mutant = parseMutant('m', text);
  const hunk = mutant.hunks[0];
  if (hunk === undefined) throw new Error('no hunk');
  expect(applyHunk('m', 'a\nx\nb\n', hunk)).toBe('a\ny\nb\n');
  expect(() => applyHunk('m', 'a\n', hunk)).toThrow(/m: its anchor is gone from a.ts/);
  expect(() => applyHunk('m', 'x\nx\n', hunk)).toThrow(/not unique/);
});

test('the stories of a patch are read in their order', () => {
  const text = '# imitates\nstories calm bit-rot\nfile a.ts\n--- before\nx\n--- after\ny\n--- end\n';
  expect(parseMutant('m', text).stories).toEqual(['calm', 'bit-rot']);
});

test('a patch that cannot be read is refused', () => {
  expect(() => parseMutant('m', 'file a.ts\n--- before\nx\n--- after\ny\n--- end\n')).toThrow(/imitates/);
  expect(() => parseMutant('m', '# i\nfile a.ts\n--- before\nx\n')).toThrow(/no whole hunk/);
  expect(() => parseMutant('m', '# i\nnonsense\n')).toThrow(/cannot read/);
});
