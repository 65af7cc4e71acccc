/**
 * A disk in memory, for nodes inside a test process: the same promises, nothing survives. Everything is durable at
 * once, since there is no power to lose; the disk that loses power is the simulator's.
 *
 * A file is one growing buffer; what is read is copied, so that a truncate never changes bytes that somebody holds.
 */
import { unreachable } from '../../core/lib/assert.ts';
import type { DiskEffect, DiskError, DiskInput, FileId, FolderEntry } from '../../core/lib/world.ts';
import { LOAD_BYTES_MAX } from '../../core/lib/world.ts';
import type { Disk } from './disk.ts';

/** A file's bytes are `bytes` up to `sizeBytes`. */
interface MemoryFile {
  bytes: Uint8Array;
  sizeBytes: number;
}

interface OpenFile {
  readonly file: MemoryFile;
  failed: boolean;
}

/** Files and folders by absolute path. Kept apart from the disk, so that a second node may find what the first left. */
export interface MemoryFiles {
  readonly files: Map<string, MemoryFile>;
  readonly folders: Set<string>;
  /** The most bytes that all files may hold; an append beyond it is 'noSpace'. */
  readonly capacityBytes: number;
}

/** Nothing but the folder '/'. */
export function createMemoryFiles(capacityBytes = Number.POSITIVE_INFINITY): MemoryFiles {
  return { files: new Map(), folders: new Set(['/']), capacityBytes };
}

/** Carried as an exception inside this file only. */
class Refusal {
  readonly error: DiskError;
  readonly detail: string;
  constructor(error: DiskError, detail: string) {
    this.error = error;
    this.detail = detail;
  }
}

/** A disk over `files` whose answers go to `complete`, which must only put them into a queue. */
export function createMemoryDisk(complete: (input: DiskInput) => void, files = createMemoryFiles()): Disk {
  const open = new Map<FileId, OpenFile>();
  return {
    execute: (effect) => {
      const { owner, ticket } = effect;
      try {
        complete(answer(files, open, effect));
      } catch (refusal) {
        if (!(refusal instanceof Refusal)) throw refusal;
        const { error, detail } = refusal;
        complete({ kind: 'diskFailed', owner, ticket, during: effect.kind, error, detail });
      }
    },
    shut: async () => open.clear(),
  };
}

function answer(disk: MemoryFiles, open: Map<FileId, OpenFile>, effect: DiskEffect): DiskInput {
  const { owner, ticket } = effect;
  switch (effect.kind) {
    case 'open':
      return { kind: 'opened', owner, ticket, sizeBytes: openFile(disk, open, effect) };
    case 'append':
      append(disk, opened(open, effect.file), effect.parts);
      return { kind: 'appended', owner, ticket };
    case 'sync':
      opened(open, effect.file);
      return { kind: 'synced', owner, ticket };
    case 'read':
      return { kind: 'read', owner, ticket, bytes: read(opened(open, effect.file).file, effect) };
    case 'truncate': {
      const { file } = opened(open, effect.file);
      file.sizeBytes = Math.min(file.sizeBytes, effect.size);
      opened(open, effect.file).failed = false;
      break;
    }
    case 'closeFile':
      opened(open, effect.file);
      open.delete(effect.file);
      break;
    case 'load':
      return { kind: 'loaded', owner, ticket, bytes: load(disk, effect.path) };
    case 'list':
      return { kind: 'listed', owner, ticket, entries: list(disk, effect.path) };
    case 'replace':
      folderOf(disk, effect.path);
      disk.files.set(effect.path, { bytes: effect.bytes, sizeBytes: effect.bytes.length });
      break;
    case 'rename':
      rename(disk, effect.from, effect.to);
      break;
    case 'remove':
      remove(disk, effect.path);
      break;
    case 'makeFolder':
      makeFolder(disk, effect.path);
      break;
    case 'syncFolder':
      if (!disk.folders.has(effect.path)) throw new Refusal('notFound', `there is no folder ${effect.path}`);
      break;
    default:
      unreachable(effect);
  }
  return { kind: 'changed', owner, ticket };
}

function opened(open: Map<FileId, OpenFile>, id: FileId): OpenFile {
  const file = open.get(id);
  if (file === undefined) throw new Refusal('closed', 'the file is not open');
  return file;
}

function folderOf(disk: MemoryFiles, path: string): void {
  const folder = path.slice(0, Math.max(1, path.lastIndexOf('/')));
  if (!disk.folders.has(folder)) throw new Refusal('notFound', `there is no folder ${folder}`);
}

function openFile(
  disk: MemoryFiles,
  open: Map<FileId, OpenFile>,
  effect: Extract<DiskEffect, { kind: 'open' }>,
): number {
  let file = disk.files.get(effect.path);
  if (file === undefined) {
    folderOf(disk, effect.path);
    if (!effect.create) throw new Refusal('notFound', `there is no file ${effect.path}`);
    file = { bytes: new Uint8Array(0), sizeBytes: 0 };
    disk.files.set(effect.path, file);
  }
  open.set(effect.file, { file, failed: false });
  return file.sizeBytes;
}

function append(disk: MemoryFiles, open: OpenFile, parts: readonly Uint8Array[]): void {
  if (open.failed) throw new Refusal('io', 'an earlier append failed, and the file has not been truncated since');
  const { file } = open;
  let total = 0;
  for (const part of parts) total += part.length;
  if (disk.capacityBytes !== Number.POSITIVE_INFINITY) {
    let held = 0;
    for (const other of disk.files.values()) held += other.sizeBytes;
    if (held + total > disk.capacityBytes) {
      open.failed = true;
      throw new Refusal('noSpace', 'the memory disk is full');
    }
  }
  const sizeBytes = file.sizeBytes + total;
  if (sizeBytes > file.bytes.length) {
    const bytes = new Uint8Array(Math.max(4096, sizeBytes, file.bytes.length * 2));
    bytes.set(file.bytes.subarray(0, file.sizeBytes));
    file.bytes = bytes;
  }
  let at = file.sizeBytes;
  for (const part of parts) {
    file.bytes.set(part, at);
    at += part.length;
  }
  file.sizeBytes = sizeBytes;
}

function read(file: MemoryFile, effect: { readonly position: number; readonly length: number }): Uint8Array {
  const end = Math.min(file.sizeBytes, effect.position + effect.length);
  return file.bytes.slice(Math.min(effect.position, end), end);
}

function load(disk: MemoryFiles, path: string): Uint8Array {
  const file = disk.files.get(path);
  if (file === undefined) throw new Refusal('notFound', `there is no file ${path}`);
  if (file.sizeBytes > LOAD_BYTES_MAX) throw new Refusal('io', `${path} has more than ${LOAD_BYTES_MAX} bytes`);
  return file.bytes.slice(0, file.sizeBytes);
}

function list(disk: MemoryFiles, path: string): FolderEntry[] {
  if (!disk.folders.has(path)) throw new Refusal('notFound', `there is no folder ${path}`);
  const prefix = path === '/' ? '/' : `${path}/`;
  const inside = (other: string): boolean =>
    other.length > prefix.length && other.startsWith(prefix) && !other.includes('/', prefix.length);
  const entries: FolderEntry[] = [];
  for (const [name, file] of disk.files) {
    if (inside(name)) entries.push({ name: name.slice(prefix.length), isFolder: false, sizeBytes: file.sizeBytes });
  }
  for (const name of disk.folders) {
    if (inside(name)) entries.push({ name: name.slice(prefix.length), isFolder: true, sizeBytes: 0 });
  }
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
}

function rename(disk: MemoryFiles, from: string, to: string): void {
  folderOf(disk, to);
  const file = disk.files.get(from);
  if (file !== undefined) {
    disk.files.delete(from);
    disk.files.set(to, file);
    return;
  }
  if (!disk.folders.has(from)) throw new Refusal('notFound', `there is no file ${from}`);
  const moved = (path: string): boolean => path === from || path.startsWith(`${from}/`);
  for (const [path, inner] of [...disk.files].filter(([path]) => moved(path))) {
    disk.files.delete(path);
    disk.files.set(to + path.slice(from.length), inner);
  }
  for (const path of [...disk.folders].filter(moved)) {
    disk.folders.delete(path);
    disk.folders.add(to + path.slice(from.length));
  }
}

function remove(disk: MemoryFiles, path: string): void {
  const gone = (other: string): boolean => other === path || other.startsWith(`${path}/`);
  for (const other of [...disk.files.keys()].filter(gone)) disk.files.delete(other);
  for (const other of [...disk.folders].filter(gone)) disk.folders.delete(other);
}

function makeFolder(disk: MemoryFiles, path: string): void {
  let at = 0;
  while (at >= 0) {
    at = path.indexOf('/', at + 1);
    const folder = at < 0 ? path : path.slice(0, at);
    if (disk.files.has(folder)) throw new Refusal('io', `${folder} is a file`);
    disk.folders.add(folder);
  }
}
