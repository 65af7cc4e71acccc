/** The real disk, the memory disk and the real network, as the contract suite wants them. */
import fs from 'node:fs';
import nodeNet from 'node:net';
import os from 'node:os';
import path from 'node:path';
import type { DiskEffect, DiskError, DiskInput, NetworkInput } from '../../core/lib/world.ts';
import { createDisk, type Disk, type FileSystem } from '../../runtime-real/disk/disk.ts';
import { createMemoryDisk, createMemoryFiles } from '../../runtime-real/disk/memory.ts';
import { createNet } from '../../runtime-real/net/net.ts';
import type { DiskUnderTest, NetworkUnderTest } from './world-under-test.ts';

const CODES: Readonly<Record<DiskError, string>> = {
  notFound: 'ENOENT',
  noSpace: 'ENOSPC',
  stale: 'EIO',
  io: 'EIO',
  denied: 'EACCES',
  closed: 'EBADF',
};

/** A disk in a temporary folder, with failing system calls on demand. */
export async function realDisk(): Promise<DiskUnderTest> {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), 'tidemark-contract-'));
  const faults = new Map<string, DiskError>();
  const under = drive((complete) => createDisk(complete, failing(faults)), root);
  return {
    ...under,
    failNext: (during, error) => faults.set(during, error),
    dispose: async () => {
      await under.dispose();
      fs.rmSync(root, { recursive: true, force: true });
    },
  };
}

/** A disk in memory. It never fails by itself, so faults are answered in its place. */
export async function memoryDisk(): Promise<DiskUnderTest> {
  const faults = new Map<string, DiskError>();
  const failedFiles = new Set<number>();
  const under = drive((complete) => {
    const files = createMemoryFiles();
    files.folders.add('/data');
    const disk = createMemoryDisk(complete, files);
    return {
      ...disk,
      execute: (effect) => {
        const { kind, owner, ticket } = effect;
        const error = faults.get(kind) ?? (kind === 'append' && failedFiles.has(effect.file) ? 'io' : undefined);
        if (kind === 'truncate') failedFiles.delete(effect.file);
        if (error === undefined) return disk.execute(effect);
        if (kind === 'append') failedFiles.add(effect.file);
        faults.delete(kind);
        complete({ kind: 'diskFailed', owner, ticket, during: kind, error, detail: 'made to fail' });
      },
    };
  }, '/data');
  return { ...under, failNext: (during, error) => faults.set(during, error) };
}

function drive(create: (complete: (input: DiskInput) => void) => Disk, root: string): Omit<DiskUnderTest, 'failNext'> {
  let answers: DiskInput[] = [];
  let unanswered = 0;
  let executing = false;
  const disk = create((input) => {
    unanswered -= 1;
    answers.push(input);
  });
  return {
    root,
    execute: (effect: DiskEffect) => {
      if (executing) throw new Error('executed from within execute');
      executing = true;
      unanswered += 1;
      disk.execute(effect);
      executing = false;
    },
    settle: async () => {
      while (unanswered > 0) await new Promise((resolve) => setImmediate(resolve));
      const all = answers;
      answers = [];
      return all;
    },
    dispose: () => disk.shut(),
  };
}

/** The system's calls, of which one fails when it is told to: half way where it can. */
function failing(faults: Map<string, DiskError>): FileSystem {
  const take = (kind: string): NodeJS.ErrnoException | null => {
    const error = faults.get(kind);
    if (error === undefined) return null;
    faults.delete(kind);
    return Object.assign(new Error(`made to fail: ${error}`), { code: CODES[error] });
  };
  let halfWritten = false;
  const writevSync = (descriptor: number, parts: readonly NodeJS.ArrayBufferView[]): number => {
    if (faults.has('append') && !halfWritten) {
      halfWritten = true; // The first call takes some of it, the next one fails.
      return fs.writevSync(descriptor, parts.slice(0, 1));
    }
    halfWritten = false;
    const error = take('append');
    if (error !== null) throw error;
    return fs.writevSync(descriptor, parts);
  };
  const fdatasync = (descriptor: number, done: (error: NodeJS.ErrnoException | null) => void): void => {
    const error = take('sync') ?? take('replace');
    if (error !== null) setImmediate(done, error);
    else fs.fdatasync(descriptor, done);
  };
  const read = ((...args: Parameters<typeof fs.read>): void => {
    const error = take('read');
    if (error !== null) setImmediate(args.at(-1) as unknown as (error: Error) => void, error);
    else fs.read(...args);
  }) as typeof fs.read;
  return { ...fs, writevSync, fdatasync: fdatasync as typeof fs.fdatasync, read };
}

/** Two networks on the loopback device. */
export async function realNetwork(options: { readonly frameBudgetBytes: number }): Promise<NetworkUnderTest> {
  const ends = [0, 1].map(() => {
    const inputs: NetworkInput[] = [];
    const net = createNet((input) => inputs.push(input), {
      frameBudgetBytes: options.frameBudgetBytes,
      connectionsMax: 10_000,
      keepsProcessAlive: true,
      trouble: () => {},
    });
    return { inputs, execute: net.execute, shut: net.shut };
  });
  const [server, client] = ends as [(typeof ends)[0], (typeof ends)[0]];
  return {
    server,
    client,
    host: '127.0.0.1',
    freePort: async () => {
      const probe = nodeNet.createServer();
      await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
      const { port } = probe.address() as nodeNet.AddressInfo;
      await new Promise((resolve) => probe.close(resolve));
      return port;
    },
    until: async (what, condition) => {
      const deadline = performance.now() + 10_000;
      while (!condition()) {
        if (performance.now() > deadline) throw new Error(`waited in vain until ${what}`);
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
    },
    rest: () => new Promise((resolve) => setTimeout(resolve, 40)),
    dispose: async () => {
      await Promise.all(ends.map((end) => end.shut(true)));
    },
  };
}
