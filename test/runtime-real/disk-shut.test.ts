/** What the real disk does when the device is slow to answer, never does, or fails. */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { DiskInput } from '../../core/lib/world.ts';
import { createDisk, type FileSystem } from '../../runtime-real/disk/disk.ts';
import { runMachine } from '../../runtime-real/host.ts';

let folder = '';

beforeEach(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tidemark-shut-'));
});

afterEach(() => {
  fs.rmSync(folder, { recursive: true });
});

type Held = (error: NodeJS.ErrnoException | null) => void;

/** A file system whose syncs end when `held` is called. */
function stuckSystem(): { readonly system: FileSystem; readonly held: Held[] } {
  const held: Held[] = [];
  const fdatasync = ((_descriptor: number, done: Held) => void held.push(done)) as FileSystem['fdatasync'];
  return { system: { ...fs, fdatasync }, held };
}

function turns(count: number): Promise<void> {
  return new Promise((resolve) => {
    const next = (left: number): unknown => (left === 0 ? resolve() : setImmediate(next, left - 1));
    next(count);
  });
}

test('a sync begins behind what is sent when the turn ends', async () => {
  const order: string[] = [];
  const fdatasync = ((_descriptor: number, done: Held) => {
    order.push('sync');
    setImmediate(done, null);
  }) as FileSystem['fdatasync'];
  const disk = createDisk(() => {}, { ...fs, fdatasync });
  // As in a turn of a host: in a callback of the loop, not behind an `await`, which is a microtask itself.
  setImmediate(() => {
    disk.execute({ kind: 'open', file: 1, path: `${folder}/a`, create: true, owner: 1, ticket: 1 });
    disk.execute({ kind: 'sync', file: 1, owner: 1, ticket: 2 });
    process.nextTick(() => order.push('send'));
  });
  await turns(2);
  expect(order).toEqual(['send', 'sync']);
  await disk.shut();
});

describe('a sync that does not end', () => {
  test('keeps the disk from being shut until it does', async () => {
    const { system, held } = stuckSystem();
    const answers: DiskInput[] = [];
    const disk = createDisk((input) => answers.push(input), system);
    disk.execute({ kind: 'open', file: 1, path: `${folder}/a`, create: true, owner: 1, ticket: 1 });
    disk.execute({ kind: 'sync', file: 1, owner: 1, ticket: 2 });
    let isShut = false;
    const shut = disk.shut().then(() => {
      isShut = true;
    });
    await turns(5);
    expect(isShut).toBe(false);
    held[0]?.(null);
    await shut;
    expect(answers.map(({ kind }) => kind)).toEqual(['opened', 'synced']);
  });

  test('does not keep a node from ending', async () => {
    const { system, held } = stuckSystem();
    const said: string[] = [];
    const step = (_env: unknown, input: { kind: string }, out: unknown[]): void => {
      if (input.kind !== 'start') return;
      out.push({ kind: 'open', file: 1, path: `${folder}/a`, create: true, owner: 1, ticket: 1 });
      out.push({ kind: 'sync', file: 1, owner: 1, ticket: 2 });
      out.push({ kind: 'exit', code: 3, reason: 'enough' });
    };
    const host = runMachine(
      { step, deadlineMs: () => Number.POSITIVE_INFINITY },
      {
        createDisk: (complete) => createDisk(complete, system),
        codecs: { compress: (_codec, bytes) => bytes, decompress: (_codec, bytes) => bytes },
        say: (_level, text) => said.push(text),
        frameBudgetBytes: 1e6,
        connectionsMax: 10,
        keepsProcessAlive: true,
        diskShutMsMax: 20,
      },
    );
    expect(await host.exited).toEqual({ code: 3, reason: 'enough' });
    expect(said).toEqual(['the disk does not answer; this node ends without waiting for it any longer']);
    held[0]?.(null);
  });
});

describe('a write aside that failed', () => {
  test('is removed before the next replace of the same file writes aside', async () => {
    const removals: (() => void)[] = [];
    let fails = true;
    const fdatasync = ((descriptor: number, done: Held) => {
      const error = fails ? new Error('made to fail') : null;
      fails = false;
      if (error === null) fs.fdatasync(descriptor, done);
      else setImmediate(done, error);
    }) as FileSystem['fdatasync'];
    const rm = ((file: string, options: fs.RmOptions, done: fs.NoParamCallback) => {
      removals.push(() => fs.rm(file, options, done));
    }) as FileSystem['rm'];
    const answers: DiskInput[] = [];
    const disk = createDisk((input) => answers.push(input), { ...fs, fdatasync, rm });
    const path = `${folder}/a`;
    disk.execute({ kind: 'replace', path, bytes: new Uint8Array([1]), owner: 1, ticket: 1 });
    disk.execute({ kind: 'replace', path, bytes: new Uint8Array([2]), owner: 1, ticket: 2 });
    while (removals.length === 0) await turns(1);
    await turns(20);
    expect(answers).toEqual([]);
    removals[0]?.();
    await disk.shut();
    expect(answers.map(({ kind, ticket }) => [kind, ticket])).toEqual([
      ['diskFailed', 1],
      ['changed', 2],
    ]);
    expect([...fs.readFileSync(path)]).toEqual([2]);
  });
});
