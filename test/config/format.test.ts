/** `tidemark format` on a real folder. */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseMetaProperties } from '../../core/broker/files.ts';
import { format } from '../../tools/cli/tidemark/format.ts';

const CLUSTER = 'Rb7sP1xVQ2uQWm0jvW5b4A';
const CHECKPOINT = '00000000000000000000-0000000000.checkpoint';

let folder = '';

beforeEach(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tidemark-format-'));
});

afterEach(() => {
  fs.rmSync(folder, { recursive: true });
});

function run(clusterId = CLUSTER, ignoresFormatted = false): number {
  return format({ file: null, flags: [`log.dirs=${folder}/data`, 'node.id=3'], clusterId, ignoresFormatted });
}

describe('tidemark format', () => {
  it('makes a directory of this node and cluster, with what its quorum begins with', () => {
    expect(run()).toBe(0);
    const meta = parseMetaProperties(fs.readFileSync(`${folder}/data/meta.properties`, 'utf8'));
    expect(meta).toMatchObject({ clusterId: CLUSTER, nodeId: 3 });
    expect(fs.readdirSync(`${folder}/data/__cluster_metadata-0`)).toEqual([CHECKPOINT]);
  });

  it('leaves a formatted directory as it is, which is an error unless it is asked for', () => {
    run();
    const before = fs.readFileSync(`${folder}/data/meta.properties`, 'utf8');
    expect(run()).toBe(1);
    expect(run(CLUSTER, true)).toBe(0);
    expect(fs.readFileSync(`${folder}/data/meta.properties`, 'utf8')).toBe(before);
  });

  it('refuses a directory that holds something else, and an id that is none', () => {
    fs.mkdirSync(`${folder}/data`);
    fs.writeFileSync(`${folder}/data/photo.jpg`, '');
    expect(run()).toBe(1);
    expect(run('ours')).toBe(2);
    expect(fs.readdirSync(`${folder}/data`)).toEqual(['photo.jpg']);
  });
});
