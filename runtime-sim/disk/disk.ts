/**
 * A simulated disk: keeps the promises of `core/lib/world.ts` and no more.
 *
 * Time. Each effect takes a drawn time. Mutations of one file wait for each other, and so do mutations of names;
 * everything else overtakes freely: reads overtake appends, a young sync may finish before an old one. A sync covers
 * what was issued before it on its file and finishes later, while appends go on. A disk may be slow for a
 * while, with bytes, with names, or with both.
 *
 * Errors, drawn at the moment an effect is carried out: appends, reads and syncs fail with 'io'; appends, replaces
 * and new files fail with 'noSpace' while the disk is full. After a failed append the file refuses appends until a
 * truncate of it comes by. A failed sync leaves its bytes unsynced, and no later sync of the file brings anything to
 * the device, whatever it answers; `syncFailed` tells the world that the machine must lose power before this disk is
 * used again, since no kernel says what it still holds.
 *
 * Process crash: what was carried out stays in the cache. Of what was under way, each file keeps a prefix of its queue,
 * and the append after that may be there in part. Names likewise; a replace under way may leave its new file aside.
 *
 * Power loss: a process crash, then `loss.ts` for each file, and every name change that no folder sync covered is kept
 * or lost: a prefix of them, or each by itself.
 *
 * Bit rot: one bit of a file's durable bytes is flipped for good; where and when is kept in `rot` for the oracle. How
 * else a disk may break its word is told in `betrayal.ts`; all of it is in `damages`.
 */

import { joinParts } from '../../core/lib/bytes.ts';
import type { DiskEffect, DiskError, DiskInput, FileId } from '../../core/lib/world.ts';
import { around, below, chance, type Dice, SITE } from '../dice.ts';
import { type Betrayals, createBetrayals, type DiskDamage, loseName, losePromised } from './betrayal.ts';
import { appendParts, finishView, flipBit, type Inode, setContent, type View, viewNow } from './content.ts';
import { carryOut } from './effects.ts';
import { createTree, filesOf, loseNames, makeFile, makeFolder, resolve, settleChanges, type Tree } from './tree.ts';

/** One effect under way. */
export interface DiskOperation {
  readonly effect: DiskEffect;
  /** Of a sync or a read: the file; of a sync also what of it will be durable. */
  inode: Inode | null;
  view: View | null;
  /** Of a read: how many cuts the file had seen when it was asked for. */
  cuts: number;
}

/** An operation that is to be finished at a time, by `finishDisk`. */
export interface DiskDue {
  readonly atUs: number;
  readonly operation: DiskOperation;
}

/** A file id in use. */
export interface OpenFile {
  readonly path: string;
  /** Null until the open is carried out. */
  inode: Inode | null;
  /** Mutations and syncs that wait, in the order of issue; the first is being carried out. */
  readonly queue: DiskOperation[];
  /** Syncs and reads under way: a close waits for them. */
  busy: number;
  /** A close was issued: what comes after it is refused. */
  isClosing: boolean;
  /** Set by a failed append, cleared by a truncate. */
  refuses: DiskError | null;
  /** Set by a failed open. */
  isBroken: boolean;
}

/** A flipped bit. */
export interface Rot {
  readonly path: string;
  readonly position: number;
  readonly sizeBytes: number;
  readonly atUs: number;
}

/** How often effects fail, in a million; and how slow bytes and names are, in hundredths of their usual time. */
export interface DiskMood {
  appendIoPpm: number;
  readIoPpm: number;
  syncIoPpm: number;
  slowness: number;
  namesSlowness: number;
  capacityBytes: number;
}

/** What happened on a disk, in numbers. */
export interface DiskFigures {
  appends: number;
  syncs: number;
  reads: number;
  filesTorn: number;
  filesCut: number;
  filesLost: number;
  namesLost: number;
  appendsCut: number;
  bitsRotten: number;
  errors: number;
}

/** One disk; survives the crashes of the node that uses it. */
export interface Disk {
  /** Keys the dice. */
  readonly entity: number;
  tree: Tree;
  readonly files: Map<FileId, OpenFile>;
  /** Mutations of names that wait; the first is being carried out. */
  names: DiskOperation[];
  usedBytes: number;
  syncs: number;
  syncFailed: boolean;
  readonly mood: DiskMood;
  rot: Rot[];
  /** Each way in which it broke its word, in the order of happening: rot, and what is in `betrayal.ts`. */
  damages: DiskDamage[];
  readonly betrayals: Betrayals;
  /** For tests: the next effect of a kind fails so. */
  readonly failNext: Map<DiskEffect['kind'], DiskError>;
  readonly figures: DiskFigures;
}

/** An empty disk in a good mood. */
export function createDisk(entity: number): Disk {
  return {
    entity,
    tree: createTree(),
    files: new Map(),
    names: [],
    usedBytes: 0,
    syncs: 0,
    syncFailed: false,
    mood: {
      appendIoPpm: 0,
      readIoPpm: 0,
      syncIoPpm: 0,
      slowness: 100,
      namesSlowness: 100,
      capacityBytes: Number.POSITIVE_INFINITY,
    },
    rot: [],
    damages: [],
    betrayals: createBetrayals(),
    failNext: new Map(),
    figures: {
      appends: 0,
      syncs: 0,
      reads: 0,
      filesTorn: 0,
      filesCut: 0,
      filesLost: 0,
      namesLost: 0,
      appendsCut: 0,
      bitsRotten: 0,
      errors: 0,
    },
  };
}

/** Base and mean of the drawn part, microseconds. */
const TIMES: Readonly<Record<DiskEffect['kind'], readonly [number, number]>> = {
  open: [15, 30],
  append: [4, 12],
  sync: [180, 400],
  read: [10, 60],
  truncate: [10, 40],
  closeFile: [3, 10],
  replace: [300, 700],
  load: [20, 60],
  rename: [15, 50],
  remove: [15, 60],
  makeFolder: [15, 40],
  syncFolder: [150, 400],
  list: [20, 60],
};

/** What waits for the file system's journal, which may stall by itself. */
const OF_NAMES: ReadonlySet<DiskEffect['kind']> = new Set(['replace', 'rename', 'remove', 'makeFolder', 'syncFolder']);

function finishUs(disk: Disk, dice: Dice, nowUs: number, kind: DiskEffect['kind']): number {
  const [base, mean] = TIMES[kind];
  const usual = base + around(dice, SITE.diskLatency, disk.entity, mean);
  const { slowness, namesSlowness } = disk.mood;
  return nowUs + Math.floor((usual * (OF_NAMES.has(kind) ? namesSlowness : slowness)) / 100);
}

/** Takes one effect; what is now to be finished, and when, is pushed to `due`. */
export function submitDisk(disk: Disk, dice: Dice, nowUs: number, effect: DiskEffect, due: DiskDue[]): void {
  const operation: DiskOperation = { effect, inode: null, view: null, cuts: 0 };
  switch (effect.kind) {
    case 'open':
    case 'append':
    case 'truncate':
    case 'closeFile':
    case 'sync':
      submitToFile(disk, dice, nowUs, operation, effect, due);
      return;
    case 'replace':
    case 'rename':
    case 'remove':
    case 'makeFolder':
    case 'syncFolder':
      disk.names.push(operation);
      if (disk.names.length === 1) due.push({ atUs: finishUs(disk, dice, nowUs, effect.kind), operation });
      return;
    case 'read':
      beginRead(disk, operation, effect.file);
      break;
    default:
  }
  due.push({ atUs: finishUs(disk, dice, nowUs, effect.kind), operation });
}

function beginRead(disk: Disk, operation: DiskOperation, id: FileId): void {
  const file = disk.files.get(id);
  if (file === undefined || file.inode === null || file.isClosing) return;
  operation.inode = file.inode;
  operation.cuts = file.inode.cuts.length;
  for (const { effect } of file.queue) if (effect.kind === 'truncate') operation.cuts += 1;
  file.busy += 1;
}

type FileEffect = Extract<DiskEffect, { kind: 'open' | 'append' | 'truncate' | 'closeFile' | 'sync' }>;

function submitToFile(
  disk: Disk,
  dice: Dice,
  nowUs: number,
  operation: DiskOperation,
  effect: FileEffect,
  due: DiskDue[],
): void {
  let file = disk.files.get(effect.file);
  if (effect.kind === 'open' && file === undefined) {
    file = { path: effect.path, inode: null, queue: [], busy: 0, isClosing: false, refuses: null, isBroken: false };
    disk.files.set(effect.file, file);
  }
  if (file === undefined || file.isClosing) {
    due.push({ atUs: finishUs(disk, dice, nowUs, effect.kind), operation });
    return;
  }
  if (effect.kind === 'closeFile') file.isClosing = true;
  file.queue.push(operation);
  if (file.queue.length === 1) startNext(disk, dice, nowUs, file, due);
}

/** Starts what is first in a file's queue; syncs leave it at once, for they block nothing. */
function startNext(disk: Disk, dice: Dice, nowUs: number, file: OpenFile, due: DiskDue[]): void {
  for (let next = file.queue[0]; next !== undefined; next = file.queue[0]) {
    if (next.effect.kind === 'closeFile' && file.busy > 0) return;
    due.push({ atUs: finishUs(disk, dice, nowUs, next.effect.kind), operation: next });
    if (next.effect.kind !== 'sync') return;
    file.queue.shift();
    if (file.inode === null) continue;
    disk.syncs += 1;
    file.busy += 1;
    next.inode = file.inode;
    next.view = viewNow(file.inode, disk.syncs);
    file.inode.syncing.add(next.view);
  }
}

/** Carries an operation out, answers it, and starts what waited for it. */
export function finishDisk(
  disk: Disk,
  dice: Dice,
  nowUs: number,
  operation: DiskOperation,
  answers: DiskInput[],
  due: DiskDue[],
): void {
  const { effect } = operation;
  answers.push(carryOut(disk, dice, operation));
  if (disk.names[0] === operation) {
    disk.names.shift();
    const next = disk.names[0];
    if (next !== undefined) due.push({ atUs: finishUs(disk, dice, nowUs, next.effect.kind), operation: next });
    return;
  }
  if (!('file' in effect)) return;
  const file = disk.files.get(effect.file);
  if (file === undefined) return;
  if (operation.inode !== null) {
    file.busy -= 1;
    if (file.busy === 0 && file.queue[0]?.effect.kind === 'closeFile') startNext(disk, dice, nowUs, file, due);
    return;
  }
  if (file.queue[0] !== operation) return;
  file.queue.shift();
  if (effect.kind === 'closeFile' || file.isBroken) {
    // What was queued behind finds the id gone and is answered by 'closed'.
    disk.files.delete(effect.file);
    for (const left of file.queue) due.push({ atUs: finishUs(disk, dice, nowUs, left.effect.kind), operation: left });
    return;
  }
  startNext(disk, dice, nowUs, file, due);
}

/** The process that used the disk is gone; with `powerLost` the machine too. */
export function crashDisk(disk: Disk, dice: Dice, powerLost: boolean): void {
  for (const file of disk.files.values()) crashFile(disk, dice, file);
  disk.files.clear();
  crashNames(disk, dice);
  if (powerLost) losePower(disk, dice);
  recount(disk);
}

function crashFile(disk: Disk, dice: Dice, file: OpenFile): void {
  if (file.queue.length > 0) {
    const done = below(dice, SITE.diskCrash, disk.entity, file.queue.length + 1);
    for (const operation of file.queue.slice(0, done))
      if (operation.effect.kind !== 'sync') carryOut(disk, dice, operation);
    const next = file.queue[done]?.effect;
    if (next?.kind === 'append' && file.inode !== null && chance(dice, SITE.diskCrash, disk.entity, 300_000)) {
      const bytes = joinParts(next.parts);
      appendParts(file.inode.content, [bytes.subarray(0, below(dice, SITE.diskCrash, disk.entity, bytes.length))]);
      disk.figures.appendsCut += 1;
    }
  }
  if (file.inode === null) return;
  for (const view of file.inode.syncing) {
    // A sync under way may have reached the device.
    if (chance(dice, SITE.diskCrash, disk.entity, 500_000) && !disk.betrayals.isLying) finishView(file.inode, view);
  }
  file.inode.syncing.clear();
}

function crashNames(disk: Disk, dice: Dice): void {
  const waiting = disk.names;
  disk.names = [];
  const done = below(dice, SITE.diskCrash, disk.entity, waiting.length + 1);
  for (const operation of waiting.slice(0, done)) carryOut(disk, dice, operation);
  const next = waiting[done]?.effect;
  if (next?.kind === 'replace' && chance(dice, SITE.diskCrash, disk.entity, 500_000)) {
    const half = next.bytes.slice(0, below(dice, SITE.diskCrash, disk.entity, next.bytes.length + 1));
    carryOut(disk, dice, {
      effect: { ...next, path: `${next.path}.tmp`, bytes: half },
      inode: null,
      view: null,
      cuts: 0,
    });
  }
}

function losePower(disk: Disk, dice: Dice): void {
  disk.syncFailed = false;
  const { figures } = disk;
  const isPrefix = chance(dice, SITE.diskCrash, disk.entity, 400_000);
  const prefix = below(dice, SITE.diskCrash, disk.entity, disk.tree.unsynced.length + 1);
  const keepPpm = below(dice, SITE.diskCrash, disk.entity, 1_000_000);
  const { unsynced } = disk.tree;
  const survives = (index: number): boolean => {
    const isKept = isPrefix ? index < prefix : chance(dice, SITE.diskCrash, disk.entity, keepPpm);
    const change = unsynced[index];
    if (!isKept && change !== undefined) loseName(disk, change);
    return isKept;
  };
  figures.namesLost += loseNames(disk.tree, survives);
  disk.betrayals.replaced.clear();
  for (const { path, file } of filesOf(disk.tree)) {
    const fate = losePromised(disk, dice, path, file);
    if (fate === 'torn') figures.filesTorn += 1;
    else if (fate === 'cut') figures.filesCut += 1;
    else if (fate === 'lost') figures.filesLost += 1;
  }
}

/** Counts the space again: names and bytes came and went. */
function recount(disk: Disk): void {
  disk.usedBytes = 0;
  for (const { file } of filesOf(disk.tree)) disk.usedBytes += file.content.size;
}

/** Puts a file onto a disk that nobody uses, durably; the folders on its path are made. */
export function putFile(disk: Disk, path: string, bytes: Uint8Array): void {
  const names = path.split('/').filter((name) => name !== '');
  for (let i = 1; i < names.length; i++) {
    const { folder, name, entry } = resolve(disk.tree, names.slice(0, i).join('/'));
    if (folder !== null && entry === undefined) makeFolder(disk.tree, folder, name);
  }
  const { folder, name } = resolve(disk.tree, path);
  if (folder === null) throw new Error('a file is in the way of a folder');
  setContent(makeFile(disk.tree, folder, name), [bytes]);
  settleChanges(disk.tree, new Set(disk.tree.unsynced));
  disk.usedBytes += bytes.length;
}

/** Flips one durable bit of a file whose path `wanted` accepts; false if there is none such. */
export function rotDisk(disk: Disk, dice: Dice, nowUs: number, wanted: (path: string) => boolean): boolean {
  const files = filesOf(disk.tree).filter(({ path, file }) => file.durable.shared > 0 && wanted(path));
  const chosen = files[below(dice, SITE.diskRot, disk.entity, files.length)];
  if (chosen === undefined) return false;
  const position = below(dice, SITE.diskRot, disk.entity, chosen.file.durable.shared);
  flipBit(chosen.file.content, position, below(dice, SITE.diskRot, disk.entity, 8));
  disk.figures.bitsRotten += 1;
  disk.rot.push({ path: chosen.path, position, sizeBytes: chosen.file.content.size, atUs: nowUs });
  disk.damages.push({ kind: 'rotten', path: chosen.path, position });
  return true;
}
