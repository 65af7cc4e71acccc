/**
 * The house rules, checked on every source file. Each rule is first shown a text that breaks it, so that a rule which
 * finds nothing has been seen to find something.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { deadFiles, endsOf, lostNames, RULES } from './tidy/rules.ts';
import { type Finding, loadPages, loadSources, parse } from './tidy/source.ts';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const sources = loadSources(ROOT);

/** A rule, a path, and a text that breaks the rule there. */
const BREAKS: readonly (readonly [rule: string, path: string, text: string])[] = [
  ['imports', 'core/log/a.ts', "import { b } from '../broker/node.ts';"],
  ['imports', 'core/log/a.ts', "import { b } from './b';"],
  ['imports', 'core/log/a.ts', "import { readdirSync, readFileSync } from 'node:fs';"],
  ['imports', 'runtime-sim/a.ts', "import { b } from '../runtime-real/host.ts';"],
  ['imports', 'core/controller/a.ts', "import type { b } from '../raft/raft.ts';"],
  ['imports', 'core/elsewhere/a.ts', ''],
  ['core and the simulator', 'core/log/a.ts', 'export const a = Date.now();'],
  ['core and the simulator', 'runtime-sim/a.ts', 'const a = new Date();'],
  ['core and the simulator', 'core/log/a.ts', 'const a = Math.random();'],
  ['core and the simulator', 'core/log/a.ts', 'const a = Math.pow(2, 3);'],
  ['core and the simulator', 'runtime-sim/a.ts', 'const a = Math.log(2);'],
  ['core and the simulator', 'core/log/a.ts', 'const a = 2 ** 3;'],
  ['core and the simulator', 'core/log/a.ts', 'let a = 2; a **= 3;'],
  ['core and the simulator', 'core/log/a.ts', 'async function a() {}'],
  ['core and the simulator', 'core/log/a.ts', 'type A = Promise<number>;'],
  ['core and the simulator', 'core/log/a.ts', "const a = 'a'.localeCompare('b');"],
  ['core and the simulator', 'scenarios/a.ts', 'const a = (1).toLocaleString();'],
  ['core and the simulator', 'core/log/a.ts', "const a = 'a'.normalize();"],
  ['core and the simulator', 'core/log/a.ts', 'for (const a in {}) {}'],
  ['core and the simulator', 'core/log/a.ts', "const a = new Function('return 1');"],
  ['state is plain', 'core/log/a.ts', 'class A {}'],
  ['state is plain', 'core/log/a.ts', 'let last = 0;'],
  ['state is plain', 'core/log/a.ts', 'type A = Record<string, number>;'],
  ['state is plain', 'core/log/a.ts', 'interface A { [name: string]: number }'],
  ['assertions', 'core/log/a.ts', "assert(a && b, 'both');"],
  ['assertions', 'core/log/a.ts', "assert(a, 'was ' + b);"],
  ['every export', 'core/log/a.ts', 'export const a = 1;'],
  ['every export', 'tools/a.ts', '// Not a docstring.\nexport function a(): void {}'],
  ['no default', 'tools/a.ts', 'export default 1;'],
  ['no default', 'tools/a.ts', "export * from './b.ts';"],
  ['no default', 'test/a.test.ts', 'const a: any = 1;'],
  ['a file opens', 'core/log/a.ts', 'export {};'],
  ['lines, files', 'core/log/a.ts', `// ${'a'.repeat(120)}`],
  ['lines, files', 'core/log/a.ts', '\n'.repeat(401)],
  ['lines, files', 'core/log/a.ts', `function a() {${'\n'.repeat(60)}}`],
  ['no focused', 'test/a.test.ts', "it.only('a', () => {});"],
  ['no focused', 'core/log/a.ts', `// ${'TO'}DO: later`],
];

/** What stands close to a break and is allowed. */
const KEEPS: readonly (readonly [rule: string, path: string, text: string])[] = [
  ['imports', 'core/log/a.ts', "import { b } from '../lib/assert.ts';"],
  ['core and the simulator', 'core/log/a.ts', "const a = { Date: 1 }; const b = a.Date; const c = 'Math.random';"],
  ['core and the simulator', 'core/log/a.ts', 'const a = Math.floor(Math.max(1, 2)); // Date'],
  ['core and the simulator', 'tools/a.ts', 'const a = Date.now();'],
  ['state is plain', 'core/log/a.ts', 'const a = 0; function b() { let c = 0; return c; }'],
  ['assertions', 'core/log/a.ts', "assert(a || b, 'either');"],
  ['every export', 'core/log/a.ts', '/** One. */\nexport const a = 1;\nexport type a = number;'],
  ['no default', 'core/log/a.ts', 'switch (a) { default: b(); }'],
  ['lines, files', 'test/a.test.ts', `describe('a', () => {${'\n'.repeat(100)}});`],
  ['no focused', 'core/log/a.ts', "const a = '// TO' + 'DO';"],
];

function check(name: string, path: string, text: string): Finding[] {
  const found = [...RULES].find(([title]) => title.startsWith(name));
  if (!found) throw new Error(`no rule is called ${name}`);
  return found[1](parse(path, text));
}

function show(findings: readonly Finding[]): string[] {
  return findings.map(({ path, line, text }) => `${path}:${line}: ${text}`);
}

describe('the rules bite', () => {
  it.each(BREAKS)('%s: %s may not hold %j', (name, path, text) => {
    expect(check(name, path, text)).not.toEqual([]);
  });

  it.each(KEEPS)('%s: %s may hold %j', (name, path, text) => {
    expect(check(name, path, text)).toEqual([]);
  });

  it('a file that nothing imports is dead, one that a script starts is not', () => {
    const pair = [parse('tools/a.ts', "import { b } from './b.ts';"), parse('tools/b.ts', '')];
    expect(show(deadFiles(pair, ''))).toEqual(['tools/a.ts:1: nothing imports this file and no script starts it']);
    expect(deadFiles(pair, '"bin": "dist/tools/a.js"')).toEqual([]);
  });

  it('a page or a comment that names a file which is not there is out of date', () => {
    const ends = endsOf(['core/log/log.ts']);
    const lost = (path: string, text: string): string[] => show(lostNames(path, text, ends));
    expect(lost('README.md', 'one\n`core/log.ts` is the log')).toEqual(['README.md:2: core/log.ts is not there']);
    expect(lost('core/log/a.ts', '/** See `lag.ts`. */')).toEqual(['core/log/a.ts:1: lag.ts is not there']);
    expect(lost('core/log/a.ts', '/** See `log.ts`, `log/log.ts`. */ const a = `a.ts`;')).toEqual([]);
  });
});

describe('the sources keep the rules', () => {
  it('there are sources to check', () => {
    expect(sources.some(({ path }) => path === 'core/lib/world.ts')).toBe(true);
  });

  it.each([...RULES])('%s', (_title, rule) => {
    expect(show(sources.flatMap((source) => rule(source)))).toEqual([]);
  });

  it('every file that is named is there', () => {
    const paths = [...sources.map(({ path }) => path), 'vitest.config.ts'];
    for (const name of readdirSync(`${ROOT}examples`)) paths.push(`examples/${name}`);
    const ends = endsOf(paths);
    const texts = [...sources, ...loadPages(ROOT)];
    expect(show(texts.flatMap(({ path, text }) => lostNames(path, text, ends)))).toEqual([]);
  });

  it('every file is used', () => {
    expect(show(deadFiles(sources, readFileSync(`${ROOT}package.json`, 'utf8')))).toEqual([]);
  });
});
