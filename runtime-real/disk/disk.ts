/**
 * The disk of a real node, on the files of the operating system.
 *
 * What must happen in order happens at once: opening, appending, truncating a file are synchronous calls into the page
 * cache (a writev of 2 KB takes 5 to 10 µs, a round through the thread pool 54 µs). What waits for the device goes
 * through libuv's pool of four threads: syncs, at most SYNCS_MAX of them so that a read always finds a free thread (64
 * dirty files, 64-byte reads beside them: p99 0.24 ms with the cap, 5 ms without), reads, and the syncs inside
 * `replace`. Answers are handed to `complete`, which must only put them into a queue.
 *
 * Names change in the order they were asked for, see `names.ts`. A crash of the process loses the answers and nothing
 * that was written; what a power loss takes is said in `core/lib/world.ts`.
 */
import fs from 'node:fs';
import { unreachable } from '../../core/lib/assert.ts';
import type { Asked, DiskEffect, DiskInput, FileId, FolderEntry } from '../../core/lib/world.ts';
import { LOAD_BYTES_MAX } from '../../core/lib/world.ts';
import { describeError, diskError } from './errors.ts';
import { createIdleness, type Idleness } from './idleness.ts';
import { LOAN_BYTES_MAX, LOAN_BYTES_MIN, type Loans } from './loans.ts';
import { ASIDE_SUFFIX, createNames, type Names } from './names.ts';
import { createSyncs, type Syncs } from './syncs.ts';

/** The calls into the operating system; tests put failing ones in their place. */
export type FileSystem = Pick<
  typeof fs,
  | 'openSync'
  | 'closeSync'
  | 'fstatSync'
  | 'statSync'
  | 'writevSync'
  | 'ftruncateSync'
  | 'readSync'
  | 'readdirSync'
  | 'renameSync'
  | 'mkdirSync'
  | 'read'
  | 'rm'
  | 'fdatasync'
  | 'fsync'
>;

/** A disk as a host drives it. */
export interface Disk {
  /** Carries out one effect; its answer comes through `complete`. */
  execute(effect: DiskEffect): void;
  /** Closes every file once what is under way has ended. Nothing may be executed afterwards. */
  shut(): Promise<void>;
}

/** A file between 'open' and 'closeFile'. */
interface OpenFile {
  readonly descriptor: number;
  sizeBytes: number;
  /** Raised by every truncate: a read that began under an older one is stale. */
  generation: number;
  /** An append failed, and no truncate has been issued since: nothing may land behind the hole. */
  failed: boolean;
  /** Reads and syncs that have not been answered. */
  busy: number;
  /** The close that waits for them; null while open. */
  closing: Asked | null;
}

/** A disk whose answers go to `complete`. With `loans`, what it lends comes back there. */
export function createDisk(
  complete: (input: DiskInput) => void,
  system: FileSystem = fs,
  loans: Loans | null = null,
): Disk {
  const syncs = createSyncs(system);
  const files = new Map<FileId, OpenFile>();
  const names = createNames(complete, system, syncs);
  const idleness = createIdleness(() => [...files.values()].every((file) => file.busy === 0));
  const state: State = { system, loans, complete, files, syncs, names, idleness };
  return {
    execute: (effect) => execute(state, effect),
    shut: () => shut(state),
  };
}

interface State {
  readonly system: FileSystem;
  readonly loans: Loans | null;
  readonly complete: (input: DiskInput) => void;
  readonly files: Map<FileId, OpenFile>;
  readonly syncs: Syncs;
  readonly names: Names;
  /** Of reads and syncs of the files. */
  readonly idleness: Idleness;
}

function execute(state: State, effect: DiskEffect): void {
  switch (effect.kind) {
    case 'open':
    case 'load':
    case 'list':
      attempt(state, effect);
      break;
    case 'append':
    case 'sync':
    case 'read':
    case 'truncate':
    case 'closeFile':
      executeOnFile(state, effect);
      break;
    case 'replace':
    case 'rename':
    case 'remove':
    case 'makeFolder':
    case 'syncFolder':
      state.names.execute(effect);
      break;
    default:
      unreachable(effect);
  }
}

function fail(state: State, effect: DiskEffect, error: unknown): void {
  state.complete({
    kind: 'diskFailed',
    owner: effect.owner,
    ticket: effect.ticket,
    during: effect.kind,
    error: diskError(error),
    detail: describeError(error),
  });
}

type Direct = Extract<DiskEffect, { kind: 'open' | 'load' | 'list' }>;

function attempt(state: State, effect: Direct): void {
  const { owner, ticket } = effect;
  try {
    if (effect.kind === 'open') {
      state.complete({
        kind: 'opened',
        owner,
        ticket,
        sizeBytes: open(state, effect.file, effect.path, effect.create),
      });
    } else if (effect.kind === 'load') {
      state.complete({ kind: 'loaded', owner, ticket, bytes: load(state.system, effect.path) });
    } else {
      state.complete({ kind: 'listed', owner, ticket, entries: list(state.system, effect.path) });
    }
  } catch (error) {
    fail(state, effect, error);
  }
}

function open(state: State, file: FileId, path: string, create: boolean): number {
  const flags = fs.constants.O_RDWR | fs.constants.O_APPEND | (create ? fs.constants.O_CREAT : 0);
  const descriptor = state.system.openSync(path, flags, 0o644);
  const sizeBytes = state.system.fstatSync(descriptor).size;
  state.files.set(file, { descriptor, sizeBytes, generation: 0, failed: false, busy: 0, closing: null });
  return sizeBytes;
}

function load(system: FileSystem, path: string): Uint8Array {
  const descriptor = system.openSync(path, fs.constants.O_RDONLY);
  try {
    const sizeBytes = system.fstatSync(descriptor).size;
    if (sizeBytes > LOAD_BYTES_MAX) throw new Error(`${path} has ${sizeBytes} bytes, more than ${LOAD_BYTES_MAX}`);
    const bytes = new Uint8Array(sizeBytes);
    let at = 0;
    while (at < sizeBytes) {
      const count = system.readSync(descriptor, bytes, at, sizeBytes - at, at);
      if (count === 0) break;
      at += count;
    }
    return at === sizeBytes ? bytes : bytes.slice(0, at);
  } finally {
    system.closeSync(descriptor);
  }
}

function list(system: FileSystem, path: string): FolderEntry[] {
  const entries: FolderEntry[] = [];
  for (const entry of system.readdirSync(path, { withFileTypes: true })) {
    if (entry.name.endsWith(ASIDE_SUFFIX)) continue;
    const isFolder = entry.isDirectory();
    // A file that vanished since has no size that could matter.
    const sizeBytes = isFolder ? 0 : (system.statSync(`${path}/${entry.name}`, { throwIfNoEntry: false })?.size ?? 0);
    entries.push({ name: entry.name, isFolder, sizeBytes });
  }
  return entries.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}

type OnFile = Extract<DiskEffect, { kind: 'append' | 'sync' | 'read' | 'truncate' | 'closeFile' }>;

function executeOnFile(state: State, effect: OnFile): void {
  const file = state.files.get(effect.file);
  if (file === undefined || file.closing !== null) {
    const { owner, ticket, kind } = effect;
    state.complete({
      kind: 'diskFailed',
      owner,
      ticket,
      during: kind,
      error: 'closed',
      detail: 'the file is not open',
    });
    return;
  }
  switch (effect.kind) {
    case 'append':
      append(state, file, effect);
      break;
    case 'sync':
      sync(state, file, effect);
      break;
    case 'read':
      read(state, file, effect);
      break;
    case 'truncate':
      truncate(state, file, effect);
      break;
    case 'closeFile':
      file.closing = { owner: effect.owner, ticket: effect.ticket };
      closeWhenIdle(state, effect.file, file);
      break;
    default:
      unreachable(effect);
  }
}

function append(state: State, file: OpenFile, effect: Extract<OnFile, { kind: 'append' }>): void {
  const { owner, ticket } = effect;
  if (file.failed) {
    const detail = 'an earlier append failed, and the file has not been truncated since';
    state.complete({ kind: 'diskFailed', owner, ticket, during: 'append', error: 'io', detail });
    return;
  }
  try {
    file.sizeBytes += writeAll(state.system, file.descriptor, effect.parts);
    state.complete({ kind: 'appended', owner, ticket });
  } catch (error) {
    file.failed = true;
    try {
      state.system.ftruncateSync(file.descriptor, file.sizeBytes);
      fail(state, effect, error);
    } catch (cutError) {
      fail(state, effect, cutError); // Half an append stays behind: the device is not to be trusted.
    }
  }
}

/** Writes all the parts at the end, whatever the system takes at a time. Bytes. */
function writeAll(system: FileSystem, descriptor: number, parts: readonly Uint8Array[]): number {
  let total = 0;
  for (const part of parts) total += part.length;
  let written = system.writevSync(descriptor, parts as Uint8Array[]);
  while (written < total) {
    const count = system.writevSync(descriptor, partsFrom(parts, written));
    if (count === 0) throw new Error('the system wrote nothing');
    written += count;
  }
  return total;
}

function partsFrom(parts: readonly Uint8Array[], written: number): Uint8Array[] {
  const rest: Uint8Array[] = [];
  let skip = written;
  for (const part of parts) {
    if (skip >= part.length) {
      skip -= part.length;
      continue;
    }
    rest.push(skip === 0 ? part : part.subarray(skip));
    skip = 0;
  }
  return rest;
}

function sync(state: State, file: OpenFile, effect: Extract<OnFile, { kind: 'sync' }>): void {
  file.busy += 1;
  state.syncs.fdatasync(file.descriptor, (error) => {
    file.busy -= 1;
    if (error === null) state.complete({ kind: 'synced', owner: effect.owner, ticket: effect.ticket });
    else fail(state, effect, error);
    closeWhenIdle(state, effect.file, file);
  });
}

function read(state: State, file: OpenFile, effect: Extract<OnFile, { kind: 'read' }>): void {
  const { owner, ticket, position } = effect;
  const length = Math.min(effect.length, Math.max(0, file.sizeBytes - position));
  const bytes = bufferFor(state, effect, length);
  const { generation } = file;
  const finish = (error: Error | null, got: number): void => {
    file.busy -= 1;
    if (error !== null || file.generation !== generation) state.loans?.giveBack([bytes]);
    if (file.generation !== generation) {
      const detail = 'the file was truncated meanwhile';
      state.complete({ kind: 'diskFailed', owner, ticket, during: 'read', error: 'stale', detail });
    } else if (error !== null) {
      fail(state, effect, error);
    } else {
      state.complete({ kind: 'read', owner, ticket, bytes: got === length ? bytes : bytes.subarray(0, got) });
    }
    closeWhenIdle(state, effect.file, file);
  };
  const readOn = (at: number): void => {
    state.system.read(file.descriptor, bytes, at, length - at, position + at, (error, count) => {
      if (error !== null) finish(error, at);
      else if (count === 0 || at + count === length) finish(null, at + count);
      else readOn(at + count);
    });
  };
  file.busy += 1;
  // Answers that were sent before it leave first: waking a thread of the pool may take the processor from us.
  process.nextTick(readOn, 0);
}

/** Bytes of a small read share a pool of Node's; those of a large one may be lent. */
function bufferFor(state: State, effect: Extract<OnFile, { kind: 'read' }>, length: number): Buffer {
  const { loans } = state;
  if (loans !== null && effect.isLent === true && length >= LOAN_BYTES_MIN && length <= LOAN_BYTES_MAX) {
    return loans.borrow(length);
  }
  return length < Buffer.poolSize / 2 ? Buffer.allocUnsafe(length) : Buffer.allocUnsafeSlow(length);
}

function truncate(state: State, file: OpenFile, effect: Extract<OnFile, { kind: 'truncate' }>): void {
  file.generation += 1;
  try {
    if (effect.size < file.sizeBytes || file.failed) {
      const size = Math.min(effect.size, file.sizeBytes);
      state.system.ftruncateSync(file.descriptor, size);
      file.sizeBytes = size;
    }
    file.failed = false;
    state.complete({ kind: 'changed', owner: effect.owner, ticket: effect.ticket });
  } catch (error) {
    fail(state, effect, error);
  }
}

function closeWhenIdle(state: State, id: FileId, file: OpenFile): void {
  state.idleness.changed();
  if (file.closing === null || file.busy > 0) return;
  const { owner, ticket } = file.closing;
  state.files.delete(id);
  try {
    state.system.closeSync(file.descriptor);
    state.complete({ kind: 'changed', owner, ticket });
  } catch (error) {
    const detail = describeError(error);
    state.complete({ kind: 'diskFailed', owner, ticket, during: 'closeFile', error: diskError(error), detail });
  }
}

async function shut(state: State): Promise<void> {
  await state.names.idle();
  await state.syncs.idle();
  await state.idleness.wait();
  for (const file of state.files.values()) state.system.closeSync(file.descriptor);
  state.files.clear();
}
