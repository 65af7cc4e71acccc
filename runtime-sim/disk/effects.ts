/**
 * Carries out one effect on a simulated disk, at the moment when it is finished, and words the answer.
 *
 * Nothing here waits or orders: that is `disk.ts`. Errors are drawn here, before anything is changed.
 */
import type { DiskEffect, DiskError, DiskInput } from '../../core/lib/world.ts';
import { LOAD_BYTES_MAX } from '../../core/lib/world.ts';
import { chance, type Dice, SITE } from '../dice.ts';
import { betrayAppend, betrayRead, isReplaceLost } from './betrayal.ts';
import {
  appendParts,
  createInode,
  cutInode,
  finishView,
  forsakeView,
  type Inode,
  promiseView,
  readContent,
  settle,
} from './content.ts';
import type { Disk, DiskOperation, OpenFile } from './disk.ts';
import * as tree from './tree.ts';

/** Changes the disk and gives the answer. */
export function carryOut(disk: Disk, dice: Dice, operation: DiskOperation): DiskInput {
  const { effect } = operation;
  const error = drawnError(disk, dice, effect);
  switch (effect.kind) {
    case 'open':
      return error === null ? open(disk, effect) : failOpen(disk, effect, error);
    case 'append':
      return append(disk, dice, effect, error);
    case 'sync':
      return sync(disk, operation, effect, error);
    case 'read':
      return error === null || operation.inode === null ? read(disk, dice, operation, effect) : failed(effect, error);
    case 'truncate':
      return error === null ? truncate(disk, effect) : failed(effect, error);
    case 'closeFile':
      return disk.files.has(effect.file) ? changed(effect) : failed(effect, 'closed');
    default:
      return error === null ? carryOutNames(disk, effect) : failed(effect, error);
  }
}

type NamesEffect = Exclude<DiskEffect, { file: number }>;

function carryOutNames(disk: Disk, effect: NamesEffect): DiskInput {
  switch (effect.kind) {
    case 'replace':
      return replace(disk, effect);
    case 'load':
      return load(disk, effect);
    case 'rename':
      return rename(disk, effect);
    case 'remove':
      return remove(disk, effect);
    case 'makeFolder':
      return makeFolder(disk, effect);
    case 'syncFolder':
      return syncFolder(disk, effect);
    case 'list':
      return list(disk, effect);
  }
}

function drawnError(disk: Disk, dice: Dice, effect: DiskEffect): DiskError | null {
  const asked = disk.failNext.size > 0 ? disk.failNext.get(effect.kind) : undefined;
  if (asked !== undefined) {
    disk.failNext.delete(effect.kind);
    return asked;
  }
  const { mood } = disk;
  const ppm =
    effect.kind === 'append'
      ? mood.appendIoPpm
      : effect.kind === 'read'
        ? mood.readIoPpm
        : effect.kind === 'sync' || effect.kind === 'replace'
          ? mood.syncIoPpm
          : 0;
  return ppm > 0 && chance(dice, SITE.diskError, disk.entity, ppm) ? 'io' : null;
}

function changed(effect: DiskEffect): DiskInput {
  return { kind: 'changed', owner: effect.owner, ticket: effect.ticket };
}

function failed(effect: DiskEffect, error: DiskError): DiskInput {
  return {
    kind: 'diskFailed',
    owner: effect.owner,
    ticket: effect.ticket,
    during: effect.kind,
    error,
    detail: `simulated ${error}`,
  };
}

type Of<K extends DiskEffect['kind']> = Extract<DiskEffect, { kind: K }>;

function fileOf(disk: Disk, id: number): (OpenFile & { inode: Inode }) | null {
  const file = disk.files.get(id);
  return file === undefined || file.inode === null ? null : (file as OpenFile & { inode: Inode });
}

function failOpen(disk: Disk, effect: Of<'open'>, error: DiskError): DiskInput {
  const file = disk.files.get(effect.file);
  if (file !== undefined) file.isBroken = true;
  return failed(effect, error);
}

function open(disk: Disk, effect: Of<'open'>): DiskInput {
  const place = tree.resolve(disk.tree, effect.path);
  const file = disk.files.get(effect.file) as OpenFile;
  let inode = place.entry;
  if (inode === undefined) {
    if (!effect.create || place.folder === null) return failOpen(disk, effect, 'notFound');
    if (isFull(disk, 1)) return failOpen(disk, effect, 'noSpace');
    inode = tree.makeFile(disk.tree, place.folder, place.name);
  }
  if (tree.isFolder(inode)) return failOpen(disk, effect, 'io');
  file.inode = inode;
  return { kind: 'opened', owner: effect.owner, ticket: effect.ticket, sizeBytes: inode.content.size };
}

function isFull(disk: Disk, sizeBytes: number): boolean {
  return disk.usedBytes + sizeBytes > disk.mood.capacityBytes;
}

function append(disk: Disk, dice: Dice, effect: Of<'append'>, drawn: DiskError | null): DiskInput {
  const file = fileOf(disk, effect.file);
  if (file === null) return failed(effect, 'closed');
  let sizeBytes = 0;
  for (const part of effect.parts) sizeBytes += part.length;
  const error = file.refuses ?? drawn ?? (isFull(disk, sizeBytes) ? 'noSpace' : null);
  if (error !== null) {
    file.refuses = error;
    disk.figures.errors += 1;
    return failed(effect, error);
  }
  const { betrayals } = disk;
  if (betrayals.append?.fits.test(file.path) !== true) appendParts(file.inode.content, effect.parts);
  else betrayAppend(disk, dice, file.inode, file.path, effect.parts);
  disk.usedBytes += sizeBytes;
  disk.figures.appends += 1;
  return { kind: 'appended', owner: effect.owner, ticket: effect.ticket };
}

function sync(disk: Disk, operation: DiskOperation, effect: Of<'sync'>, error: DiskError | null): DiskInput {
  const { view, inode } = operation;
  if (view === null || inode === null) return failed(effect, 'closed');
  if (error !== null) {
    forsakeView(inode, view);
    disk.syncFailed = true;
    disk.figures.errors += 1;
    return failed(effect, error);
  }
  if (disk.betrayals.isLying) promiseView(inode, view);
  else finishView(inode, view);
  disk.figures.syncs += 1;
  return { kind: 'synced', owner: effect.owner, ticket: effect.ticket };
}

function read(disk: Disk, dice: Dice, operation: DiskOperation, effect: Of<'read'>): DiskInput {
  if (operation.inode === null) return failed(effect, 'closed');
  const { cuts, content } = operation.inode;
  for (let i = operation.cuts; i < cuts.length; i++) {
    if ((cuts[i] as number) < effect.position + effect.length) return failed(effect, 'stale');
  }
  disk.figures.reads += 1;
  const asked = readContent(content, effect.position, effect.length);
  const path = disk.files.get(effect.file)?.path ?? '';
  const isAstray = disk.betrayals.read?.fits.test(path) === true;
  const bytes = isAstray ? betrayRead(disk, dice, path, effect.position, asked.length) : asked;
  return { kind: 'read', owner: effect.owner, ticket: effect.ticket, bytes };
}

function truncate(disk: Disk, effect: Of<'truncate'>): DiskInput {
  const file = fileOf(disk, effect.file);
  if (file === null) return failed(effect, 'closed');
  file.refuses = null;
  const before = file.inode.content.size;
  cutInode(file.inode, effect.size);
  disk.usedBytes -= before - file.inode.content.size;
  return changed(effect);
}

function replace(disk: Disk, effect: Of<'replace'>): DiskInput {
  const place = tree.resolve(disk.tree, effect.path);
  if (place.folder === null) return failed(effect, 'notFound');
  const old = place.entry !== undefined && !tree.isFolder(place.entry) ? place.entry.content.size : 0;
  if (isFull(disk, effect.bytes.length)) return failed(effect, 'noSpace');
  if (place.entry !== undefined && isReplaceLost(disk, effect.path)) return changed(effect);
  disk.usedBytes += effect.bytes.length - old;
  disk.tree.made += 1;
  const entry = createInode(disk.tree.made);
  appendParts(entry.content, [effect.bytes]);
  settle(entry);
  const change = { from: null, to: { folder: place.folder, name: place.name }, entry };
  tree.changeName(disk.tree, change);
  if (disk.betrayals.isLying) disk.betrayals.replaced.set(change, effect.path);
  else tree.settleChange(disk.tree, change);
  return changed(effect);
}

function load(disk: Disk, effect: Of<'load'>): DiskInput {
  const { entry } = tree.resolve(disk.tree, effect.path);
  if (entry === undefined) return failed(effect, 'notFound');
  if (tree.isFolder(entry) || entry.content.size > LOAD_BYTES_MAX) return failed(effect, 'io');
  const bytes = readContent(entry.content, 0, entry.content.size);
  return { kind: 'loaded', owner: effect.owner, ticket: effect.ticket, bytes };
}

function rename(disk: Disk, effect: Of<'rename'>): DiskInput {
  const from = tree.resolve(disk.tree, effect.from);
  const to = tree.resolve(disk.tree, effect.to);
  if (from.folder === null || from.entry === undefined || to.folder === null) return failed(effect, 'notFound');
  if (to.entry !== undefined && tree.isFolder(to.entry)) return failed(effect, 'io');
  if (to.entry !== undefined && to.entry !== from.entry) disk.usedBytes -= to.entry.content.size;
  tree.changeName(disk.tree, {
    from: { folder: from.folder, name: from.name },
    to: { folder: to.folder, name: to.name },
    entry: from.entry,
  });
  return changed(effect);
}

function remove(disk: Disk, effect: Of<'remove'>): DiskInput {
  const { folder, name } = tree.resolve(disk.tree, effect.path);
  const files: Inode[] = [];
  if (folder !== null) tree.removeName(disk.tree, folder, name, files);
  for (const file of files) disk.usedBytes -= file.content.size;
  return changed(effect);
}

function makeFolder(disk: Disk, effect: Of<'makeFolder'>): DiskInput {
  const { folder, name, entry } = tree.resolve(disk.tree, effect.path);
  if (entry !== undefined) return tree.isFolder(entry) ? changed(effect) : failed(effect, 'io');
  if (folder === null) return failed(effect, 'notFound');
  tree.makeFolder(disk.tree, folder, name);
  return changed(effect);
}

function syncFolder(disk: Disk, effect: Of<'syncFolder'>): DiskInput {
  const { entry } = tree.resolve(disk.tree, effect.path);
  if (entry === undefined || !tree.isFolder(entry)) return failed(effect, 'notFound');
  tree.settleChanges(disk.tree, tree.changesOf(disk.tree, entry));
  return changed(effect);
}

function list(disk: Disk, effect: Of<'list'>): DiskInput {
  const { entry } = tree.resolve(disk.tree, effect.path);
  if (entry === undefined || !tree.isFolder(entry)) return failed(effect, 'notFound');
  const names = [...entry.entries.keys()].sort();
  const entries = names.map((name) => {
    const child = entry.entries.get(name) as tree.Entry;
    return tree.isFolder(child)
      ? { name, isFolder: true, sizeBytes: 0 }
      : { name, isFolder: false, sizeBytes: child.content.size };
  });
  return { kind: 'listed', owner: effect.owner, ticket: effect.ticket, entries };
}
