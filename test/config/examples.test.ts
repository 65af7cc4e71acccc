/** The configuration files that the documentation shows are those of `examples`, and each does without a warning. */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parseSettings } from '../../core/config/parse.ts';
import { collectSettings } from '../../tools/cli/tidemark/sources.ts';

const ROOT = new URL('../../', import.meta.url);
const FOLDERS = ['three-nodes', 'separate-roles', 'growing'];
const FILES = FOLDERS.flatMap((folder) =>
  readdirSync(new URL(`examples/${folder}/`, ROOT)).map((name) => `examples/${folder}/${name}`),
).sort();

function text(file: string): string {
  return readFileSync(new URL(file, ROOT), 'utf8');
}

/** The blocks of properties in a page. */
function blocks(page: string): string[] {
  return [...text(page).matchAll(/^```properties\n([^`]*)^```$/gm)].map(([, block]) => block ?? '');
}

describe('the examples of clusters', () => {
  test.each(FILES)('%s is read without a problem', (file) => {
    const collected = collectSettings({ file: new URL(file, ROOT).pathname, environment: {}, flags: [] });
    if (collected.kind === 'failed') throw new Error(collected.sentence);
    expect(parseSettings(collected.entries).problems).toEqual([]);
  });

  test('in the documentation are the files', () => {
    const files = new Set(FILES.map(text));
    for (const page of ['README.md', 'docs/cluster.md']) {
      expect(blocks(page).length, page).toBeGreaterThan(0);
      for (const block of blocks(page)) expect(files.has(block), `${page}\n${block}`).toBe(true);
    }
  });

  test.each(FOLDERS)('of %s differ in their first three lines only, and agree on who votes', (folder) => {
    const rests = FILES.filter((file) => file.includes(folder)).map((file) =>
      text(file).split('\n').slice(3).join('\n'),
    );
    const roles = new Set(rests.map((rest) => /^process.roles=(.*)$/m.exec(rest)?.[1]));
    expect(new Set(rests).size).toBe(roles.size);
    for (const shared of [/^cluster.id=.*$/m, /^controller.quorum.voters=.*$/m]) {
      expect(new Set(rests.map((rest) => shared.exec(rest)?.[0])).size).toBe(1);
    }
  });
});
