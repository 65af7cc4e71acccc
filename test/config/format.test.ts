/** `tidemark format` on a real folder. */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseMetaProperties } from '../../core/broker/checkpoints/files.ts';
import { lockFolder } from '../../runtime-real/lock.ts';
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

function run(clusterId = CLUSTER, ignoresFormatted = false, more: readonly string[] = []): number {
  const flags = [`log.dirs=${folder}/data`, 'node.id=3', ...more];
  return format({ file: null, flags, clusterId, founders: 'configured', ignoresFormatted });
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

  it('can be repeated when it was cut short, whatever it had come to', () => {
    const metadata = `${folder}/data/__cluster_metadata-0`;
    fs.mkdirSync(metadata, { recursive: true });
    fs.writeFileSync(`${metadata}/${CHECKPOINT}.tidemark-tmp`, 'half');
    expect(run()).toBe(0);
    fs.rmSync(`${folder}/data/meta.properties`);
    fs.writeFileSync(`${folder}/data/meta.properties.tidemark-tmp`, '#');
    expect(run()).toBe(0);
    expect(parseMetaProperties(fs.readFileSync(`${folder}/data/meta.properties`, 'utf8'))).toMatchObject({ nodeId: 3 });
  });

  it("refuses a metadata log that has lost its name: it may be somebody's", () => {
    const metadata = `${folder}/data/__cluster_metadata-0`;
    fs.mkdirSync(metadata, { recursive: true });
    fs.writeFileSync(`${metadata}/00000000000000000000.log`, '');
    expect(run()).toBe(1);
    expect(fs.existsSync(`${folder}/data/meta.properties`)).toBe(false);
  });

  it('refuses a directory that another holds, and leaves its lock', () => {
    fs.mkdirSync(`${folder}/data`);
    const locking = lockFolder(`${folder}/data`);
    expect(locking.kind).toBe('locked');
    expect(run()).toBe(1);
    expect(fs.readdirSync(`${folder}/data`)).toEqual(['.lock']);
    if (locking.kind === 'locked') locking.lock.release(true);
    expect(run()).toBe(0);
  });

  it('refuses an id that is not the one of the configuration', () => {
    expect(run(CLUSTER, false, ['cluster.id=ours'])).toBe(2);
    expect(fs.existsSync(`${folder}/data`)).toBe(false);
    expect(run(CLUSTER, false, [`cluster.id=${CLUSTER}`])).toBe(0);
  });
});
