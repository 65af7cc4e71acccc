/** Every planted bug still fits the sources: its anchors are there, once, and it changes something. */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { SCENARIOS, WAITING_SCENARIOS } from '../../scenarios/list.ts';
import { applyHunk, parseMutant, withRemark } from '../../tools/mutants/patch.ts';
import { withTable } from '../../tools/mutants/table.ts';

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

test('the remarks of a patch are read, replaced and taken away', () => {
  const text =
    '# imitates\nstories calm\nslow it is rare\nchecked old, 1\nfile a.ts\n--- before\nx\n--- after\ny\n--- end\n';
  const { slow, checked, alone } = parseMutant('m', text);
  expect([slow, checked, alone]).toEqual(['it is rare', 'old, 1', '']);
  const noted = withRemark(withRemark(text, 'checked', 'new, 2'), 'alone', 'other, 3');
  expect(parseMutant('m', noted)).toMatchObject({ checked: 'new, 2', alone: 'other, 3', slow: 'it is rare' });
  expect(parseMutant('m', withRemark(noted, 'checked', '')).checked).toBe('');
});

test('the docs have the table of the patch files', () => {
  const docs = readFileSync('docs/simulation.md', 'utf8');
  const mutants = names
    .sort()
    .map((name) => parseMutant(name.slice(0, -'.patch'.length), readFileSync(`test/mutants/${name}`, 'utf8')));
  expect(withTable(docs, mutants)).toBe(docs);
});
