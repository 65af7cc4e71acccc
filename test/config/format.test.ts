/** `tidemark format` on a real folder. */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { parseMetaProperties } from '../../core/broker/checkpoints/files.ts';
import { crc32c } from '../../core/lib/crc32c.ts';
import { createCheckpointReader, takeCheckpoint } from '../../core/raft/checkpoint-read.ts';
import { BOOTSTRAP_ID } from '../../core/raft/names.ts';
import { lockFolder } from '../../runtime-real/lock.ts';
import { type FormatOptions, format } from '../../tools/cli/tidemark/format.ts';
import { FAKE_CODECS } from '../log/world.ts';

const CLUSTER = 'Rb7sP1xVQ2uQWm0jvW5b4A';
const CHECKPOINT = '00000000000000000000-0000000000.checkpoint';

let folder = '';

beforeEach(() => {
  // The environment holds settings too; those of whoever runs the tests are none of theirs.
  for (const name of Object.keys(process.env)) if (name.startsWith('TIDEMARK_')) vi.stubEnv(name, undefined);
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tidemark-format-'));
});

afterEach(() => {
  vi.unstubAllEnvs();
  fs.rmSync(folder, { recursive: true });
});

function run(clusterId = CLUSTER, ignoresFormatted = false, more: readonly string[] = []): number {
  const flags = [`log.dirs=${folder}/data`, 'node.id=3', ...more];
  return format({ file: null, flags, clusterId, founders: 'configured', ignoresFormatted });
}

/** Formats a controller that is to be one of several. */
function runVoter(founders: FormatOptions['founders'], more: readonly string[] = []): number {
  const listeners = ['PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093', 'CONTROLLER'];
  const flags = [`log.dirs=${folder}/data`, 'node.id=3', `listeners=${listeners[0]}`];
  flags.push(`controller.listener.names=${listeners[1]}`, ...more);
  return format({ file: null, flags, clusterId: CLUSTER, founders, ignoresFormatted: false });
}

/** The voters that the checkpoint of a new directory names; null where there is none. */
function foundersOnDisk(): (readonly [id: number, directoryId: string, port: number | undefined])[] | null {
  const file = `${folder}/data/__cluster_metadata-0/${CHECKPOINT}`;
  if (!fs.existsSync(file)) return null;
  const bytes = new Uint8Array(fs.readFileSync(file));
  const reader = createCheckpointReader(BOOTSTRAP_ID, 1);
  reader.sizeBytes = bytes.length;
  const env = { nowMs: 0, wallMs: 0, crc32c, codecs: FAKE_CODECS, reached: () => {} };
  expect(takeCheckpoint(reader, env, bytes)).not.toBe(null);
  return reader.head?.voters?.map(({ id, directoryId, endpoints }) => [id, directoryId, endpoints[0]?.port]) ?? [];
}

function directoryOnDisk(): string {
  const meta = parseMetaProperties(fs.readFileSync(`${folder}/data/meta.properties`, 'utf8'));
  return 'problem' in meta ? meta.problem : (meta.directoryId ?? '');
}

describe('who votes in a cluster that is formatted', () => {
  const OTHER = 'KYVJKy3eQPSjRZYPl4C66w';
  const OWN = 'UuyJoMUwSgK2a2nR2tA0tA';
  const servers = ['controller.quorum.bootstrap.servers=127.0.0.1:9093,127.0.0.1:9193'];

  it('is this node where it stands alone', () => {
    expect(runVoter('alone', servers)).toBe(0);
    expect(foundersOnDisk()).toEqual([[3, directoryOnDisk(), 9093]]);
  });

  it('is somebody else where it joins, or where others are named and nothing is said', () => {
    expect(runVoter('others', servers)).toBe(0);
    expect(foundersOnDisk()).toBe(null);
    fs.rmSync(`${folder}/data`, { recursive: true });
    expect(runVoter('configured', servers)).toBe(0);
    expect(foundersOnDisk()).toBe(null);
    fs.rmSync(`${folder}/data`, { recursive: true });
    expect(runVoter('configured', ['controller.quorum.bootstrap.servers=127.0.0.1:9093'])).toBe(0);
    expect(foundersOnDisk()).toHaveLength(1);
  });

  it('is all that a list names, under the directories that it gives them', () => {
    const list = `3@127.0.0.1:9093:${OWN}, 4@[::1]:9193:${OTHER}`;
    expect(runVoter({ list }, servers)).toBe(0);
    expect(directoryOnDisk()).toBe(OWN);
    expect(foundersOnDisk()).toEqual([
      [3, OWN, 9093],
      [4, OTHER, 9193],
    ]);
  });

  it.each([
    [`3@127.0.0.1:9093`],
    [`x@127.0.0.1:9093:${OWN}`],
    [`3@127.0.0.1:9093:${OWN},3@127.0.0.1:9193:${OTHER}`],
    [`3@127.0.0.1:9093:${OWN},4@127.0.0.1:9193:${OWN}`],
    ['3@127.0.0.1:9093:AAAAAAAAAAAAAAAAAAAAAA'],
  ])('is not read from %s', (list) => {
    expect(runVoter({ list }, servers)).toBe(2);
    expect(fs.existsSync(`${folder}/data`)).toBe(false);
  });

  it('is said by the configuration or by options, not by both', () => {
    const voters = ['controller.quorum.voters=3@127.0.0.1:9093'];
    expect(runVoter('alone', voters)).toBe(2);
    expect(runVoter('others', voters)).toBe(0);
  });
});

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
