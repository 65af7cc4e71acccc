/**
 * A small disk for the log's own tests: it carries effects out in any order that the contract allows, and forgets
 * what the contract lets a power loss forget.
 *
 * Each file has the bytes that the cache holds and those that are synced; each folder has the names of now and
 * those that are durable. A power loss keeps, sector by sector, the one or the other (or zeros, where a file had
 * grown).
 */
import type { DiskEffect, DiskError, DiskInput } from '../../core/lib/world.ts';

/** A random number in [0, 1). */
export type Dice = () => number;

interface Inode {
  bytes: Uint8Array;
  synced: Uint8Array;
}

interface OpenFile {
  readonly inode: Inode;
  readonly path: string;
  isPoisoned: boolean;
}

const SECTOR_BYTES = 512;

/** The files, what was asked and not yet done, and what to spoil. */
export interface TestDisk {
  names: Map<string, Inode>;
  durableNames: Map<string, Inode>;
  folders: Set<string>;
  open: Map<number, OpenFile>;
  queue: DiskEffect[];
  /** Bytes that all files may hold together. */
  capacityBytes: number;
  /** Effects that fail with this error are chosen by it. */
  fault: (effect: DiskEffect) => DiskError | null;
  /** What was carried out, for assertions. */
  done: DiskEffect[];
}

/** An empty disk that holds the folder `/data`. */
export function createTestDisk(): TestDisk {
  return {
    names: new Map(),
    durableNames: new Map(),
    folders: new Set(['/data']),
    open: new Map(),
    queue: [],
    capacityBytes: Infinity,
    fault: () => null,
    done: [],
  };
}

/** Carries out one waiting effect, a random one of those that may be next, and returns its answer. */
export function carryOut(disk: TestDisk, dice: Dice): DiskInput | null {
  const ready: number[] = [];
  const lanes = new Set<string>();
  for (const [i, effect] of disk.queue.entries()) {
    const mine = lanesOf(effect);
    if (!mine.some((lane) => lanes.has(lane))) ready.push(i);
    for (const lane of mine) lanes.add(lane);
  }
  const chosen = ready[Math.floor(dice() * ready.length)];
  if (chosen === undefined) return null;
  const [effect] = disk.queue.splice(chosen, 1) as [DiskEffect];
  return perform(disk, effect);
}

/** Effects that share a lane are carried out in the order in which they were asked for. */
function lanesOf(effect: DiskEffect): string[] {
  switch (effect.kind) {
    case 'open':
    case 'append':
    case 'sync':
    case 'truncate':
    case 'closeFile':
      return [`file ${effect.file}`];
    case 'read':
    case 'load':
    case 'list':
      return [];
    default:
      return ['names'];
  }
}

function perform(disk: TestDisk, effect: DiskEffect): DiskInput {
  const { owner, ticket } = effect;
  const error = disk.fault(effect) ?? tryIt(disk, effect);
  disk.done.push(effect);
  if (typeof error === 'string') {
    if (effect.kind === 'append') poison(disk, effect.file);
    return { kind: 'diskFailed', during: effect.kind, error, detail: 'told to', owner, ticket };
  }
  return { ...error, owner, ticket } as DiskInput;
}

function poison(disk: TestDisk, file: number): void {
  const open = disk.open.get(file);
  if (open !== undefined) open.isPoisoned = true;
}

function usedBytes(disk: TestDisk): number {
  let used = 0;
  for (const inode of disk.names.values()) used += inode.bytes.length;
  return used;
}

type Done = { kind: string; sizeBytes?: number; bytes?: Uint8Array; entries?: unknown };

function tryIt(disk: TestDisk, effect: DiskEffect): DiskError | Done {
  switch (effect.kind) {
    case 'open': {
      let inode = disk.names.get(effect.path);
      if (inode === undefined) {
        if (!effect.create) return 'notFound';
        inode = { bytes: new Uint8Array(), synced: new Uint8Array() };
        disk.names.set(effect.path, inode);
      }
      disk.open.set(effect.file, { inode, path: effect.path, isPoisoned: false });
      return { kind: 'opened', sizeBytes: inode.bytes.length };
    }
    case 'list': {
      if (!disk.folders.has(effect.path)) return 'notFound';
      const entries = [];
      for (const [path, inode] of disk.names) {
        const name = path.slice(effect.path.length + 1);
        if (path.startsWith(`${effect.path}/`) && !name.includes('/')) {
          entries.push({ name, isFolder: false, sizeBytes: inode.bytes.length });
        }
      }
      return { kind: 'listed', entries: entries.sort((a, b) => (a.name < b.name ? -1 : 1)) };
    }
    case 'load': {
      const inode = disk.names.get(effect.path);
      return inode === undefined ? 'notFound' : { kind: 'loaded', bytes: inode.bytes };
    }
    case 'append':
    case 'sync':
    case 'read':
    case 'truncate':
    case 'closeFile':
      return tryFile(disk, effect);
    default:
      return tryName(disk, effect);
  }
}

type FileEffect = Extract<DiskEffect, { kind: 'append' | 'sync' | 'read' | 'truncate' | 'closeFile' }>;

function tryFile(disk: TestDisk, effect: FileEffect): DiskError | Done {
  const open = disk.open.get(effect.file);
  if (open === undefined) return 'closed';
  const inode = open.inode;
  switch (effect.kind) {
    case 'append': {
      let size = inode.bytes.length;
      for (const part of effect.parts) size += part.length;
      if (open.isPoisoned || usedBytes(disk) + size - inode.bytes.length > disk.capacityBytes) return 'noSpace';
      const bytes = new Uint8Array(size);
      bytes.set(inode.bytes);
      let at = inode.bytes.length;
      for (const part of effect.parts) {
        bytes.set(part, at);
        at += part.length;
      }
      inode.bytes = bytes;
      return { kind: 'appended' };
    }
    case 'sync':
      inode.synced = inode.bytes;
      return { kind: 'synced' };
    case 'read':
      if (effect.position < 0) throw new Error(`a read at ${effect.position}`);
      return { kind: 'read', bytes: inode.bytes.slice(effect.position, effect.position + effect.length) };
    case 'truncate':
      open.isPoisoned = false;
      if (effect.size < inode.bytes.length) inode.bytes = inode.bytes.slice(0, effect.size);
      return { kind: 'changed' };
    case 'closeFile':
      disk.open.delete(effect.file);
      return { kind: 'changed' };
  }
}

type NameEffect = Extract<DiskEffect, { kind: 'replace' | 'rename' | 'remove' | 'makeFolder' | 'syncFolder' }>;

function tryName(disk: TestDisk, effect: NameEffect): DiskError | Done {
  switch (effect.kind) {
    case 'replace': {
      if (usedBytes(disk) + effect.bytes.length > disk.capacityBytes) return 'noSpace';
      const inode = { bytes: effect.bytes.slice(), synced: effect.bytes.slice() };
      disk.names.set(effect.path, inode);
      disk.durableNames.set(effect.path, inode);
      return { kind: 'changed' };
    }
    case 'rename': {
      const inode = disk.names.get(effect.from);
      if (inode === undefined) return 'notFound';
      disk.names.delete(effect.from);
      disk.names.set(effect.to, inode);
      return { kind: 'changed' };
    }
    case 'remove':
      disk.names.delete(effect.path);
      return { kind: 'changed' };
    case 'makeFolder':
      disk.folders.add(effect.path);
      return { kind: 'changed' };
    case 'syncFolder':
      for (const path of [...disk.durableNames.keys()]) if (isIn(path, effect.path)) disk.durableNames.delete(path);
      for (const [path, inode] of disk.names) if (isIn(path, effect.path)) disk.durableNames.set(path, inode);
      return { kind: 'changed' };
  }
}

function isIn(path: string, folder: string): boolean {
  return path.startsWith(`${folder}/`) && !path.slice(folder.length + 1).includes('/');
}

/** The process dies: what was asked and not done never happens; the cache survives. */
export function crashProcess(disk: TestDisk): void {
  disk.queue = [];
  disk.open.clear();
}

/** The machine dies: whatever was not synced or not named durably may be lost, in pieces and in any order. */
export function losePower(disk: TestDisk, dice: Dice): void {
  crashProcess(disk);
  const names = new Map<string, Inode>();
  for (const path of new Set([...disk.names.keys(), ...disk.durableNames.keys()])) {
    const inode = dice() < 0.5 ? disk.names.get(path) : disk.durableNames.get(path);
    if (inode !== undefined) names.set(path, inode);
  }
  for (const inode of new Set(names.values())) {
    inode.bytes = tear(inode, dice);
    inode.synced = inode.bytes;
  }
  disk.names = names;
  disk.durableNames = new Map(names);
}

/** Each sector is that of the cache, that of the disk, or zeros where the disk had none yet. */
function tear(inode: Inode, dice: Dice): Uint8Array {
  const { bytes, synced } = inode;
  if (bytes === synced) return bytes;
  const mode = dice();
  if (mode < 0.3) return bytes;
  if (mode < 0.5) return synced;
  const low = Math.min(bytes.length, synced.length);
  const high = Math.max(bytes.length, synced.length);
  const size = low + Math.floor(dice() * (high - low + 1));
  const result = new Uint8Array(size);
  for (let at = 0; at < size; at += SECTOR_BYTES) {
    const end = Math.min(size, at + SECTOR_BYTES);
    const source = dice() < 0.5 ? bytes : synced;
    result.set(source.subarray(at, Math.min(end, source.length)), at);
    // What was the same in both is never lost.
    for (let i = at; i < end && i < low; i++) if (bytes[i] === synced[i]) result[i] = bytes[i] as number;
  }
  return result;
}
