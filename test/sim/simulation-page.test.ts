/** The tables of `docs/simulation.md` name files, families and marks: each of them is there. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

const PAGE = readFileSync('docs/simulation.md', 'utf8');
const SOURCES = ['core', 'runtime-sim', 'scenarios'].flatMap((folder) => filesIn(folder)).map((path) => read(path));
const FAMILIES = read('runtime-sim/scenario.ts');

function filesIn(folder: string): string[] {
  const names = readdirSync(folder, { recursive: true, withFileTypes: true });
  return names.filter((one) => one.isFile() && one.name.endsWith('.ts')).map((one) => join(one.parentPath, one.name));
}

function read(path: string): string {
  return readFileSync(path, 'utf8');
}

/** The rows of the tables of faults and of checkers, as cells. */
function rows(): string[][] {
  const from = PAGE.indexOf('## What can go wrong, and the proof that it did');
  const to = PAGE.indexOf('\n## ', from + 1);
  const lines = PAGE.slice(from, to).split('\n');
  const cells = lines.filter((line) => line.startsWith('| ')).map((line) => line.slice(2, -2).split(' | '));
  return cells.filter(([first]) => first !== 'fault' && first !== 'what is checked');
}

function quotedIn(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name as string);
}

/** What is between "marks" (or "mark"), "troubles", "the story" and the next of these words. */
function namedAs(cell: string, word: RegExp): string[] {
  const parts = cell.split(/\b(?=marks?\b|troubles\b|figures?\b|stor(?:y|ies)\b)/);
  return parts.filter((part) => word.test(part)).flatMap(quotedIn);
}

/** A mark is a quoted name, or made of a beginning and a word that stands somewhere. */
function isMark(mark: string): boolean {
  if (SOURCES.some((source) => source.includes(`'${mark}'`))) return true;
  const at = mark.lastIndexOf('.') + 1;
  const isBegun = SOURCES.some((source) => source.includes(`\`${mark.slice(0, at)}\${`));
  return isBegun && SOURCES.some((source) => source.includes(`'${mark.slice(at)}'`));
}

describe('what can go wrong', () => {
  test('the tables are long', () => {
    expect(rows().length).toBeGreaterThan(40);
  });

  test('is told in files that are there', () => {
    const paths = rows().flatMap(([, told = '']) => quotedIn(told).filter((name) => name.endsWith('.ts')));
    const missing = paths.filter((path) => !existsSync(path) && !existsSync(`runtime-sim/${path}`));
    expect(paths.length).toBeGreaterThan(30);
    expect(missing).toEqual([]);
  });

  test('is proven by marks that somebody reaches', () => {
    const marks = rows().flatMap(([, told = '', proof = '']) => namedAs(`${told} ${proof}`, /^marks?\b/));
    expect(marks.length).toBeGreaterThan(15);
    expect(marks.filter((mark) => !isMark(mark))).toEqual([]);
  });

  test('is proven by families of troubles that there are', () => {
    const families = rows().flatMap(([, , proof = '']) => namedAs(proof, /^troubles\b/));
    expect(families.length).toBeGreaterThan(10);
    expect(families.filter((family) => !FAMILIES.includes(`'${family}'`))).toEqual([]);
  });

  test('the test itself knows what is no mark', () => {
    expect(isMark('sim.disk.lost')).toBe(true);
    expect(isMark('sim.disk.never_heard_of')).toBe(false);
  });
});
