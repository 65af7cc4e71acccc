/** A trace out of the bundle, as it is told to the operator. */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { withSources } from '../../tools/cli/tidemark/stack.ts';

describe('a stack trace', () => {
  let folder: string;
  let file: string;

  beforeAll(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tidemark stack-'));
    file = path.join(folder, 'start.cjs');
    // From line 1, column 1 on: line 4, column 3 of the source.
    const map = { version: 3, sources: ['../../../core/broker/node.ts'], names: [], mappings: 'AAGE' };
    fs.writeFileSync(`${file}.map`, JSON.stringify(map));
  });
  afterAll(() => fs.rmSync(folder, { recursive: true, force: true }));

  test('names the source where a map knows it, in both spellings of a file', () => {
    const text = `Error: no\n    at step (${file}:1:9)\n    at async ${pathToFileURL(file).href}:1:9`;
    expect(withSources(text)).toBe(
      'Error: no\n    at step (core/broker/node.ts:4:3)\n    at async core/broker/node.ts:4:3',
    );
  });

  test('keeps every place without a map, and text that is no place', () => {
    const text = `took 3:4\n    at Object.<anonymous> (/no/such.cjs:1:2)\n    at node:internal/timers:438:27`;
    expect(withSources(text)).toBe(text);
  });
});
