/**
 * What no disk should do, and disks do: a simulated disk breaks its word, and keeps a list of where.
 *
 * - It is gone, and an empty one stands in its place; or one with all that it held some time ago.
 * - An append lands in the middle of another file, and zeros are where it belongs. So does a read, once.
 * - A write is acknowledged and is not there: zeros, or the small file that was to be replaced.
 * - It lies: syncs are answered, and nothing is durable until an honest one. What a power loss then takes of it is a
 *   damage; without one, nobody ever knows. What replaces a small file meanwhile may be the former file again.
 * - A bit of any file flips.
 *
 * All but the first two are armed here and happen when the node next asks for something that fits.
 */
import { joinParts } from '../../core/lib/bytes.ts';
import { below, chance, type Dice, SITE } from '../dice.ts';
import { appendParts, bytesOfView, type Inode, overwrite, readContent } from './content.ts';
import type { Disk, Rot } from './disk.ts';
import { type Fate, loseBytes, SECTOR_BYTES } from './loss.ts';
import { copyTree, createTree, filesOf, type NameChange, type Tree } from './tree.ts';

/** How bytes came to be other ones than were written. `misread`: once, on their way to the node. */
export type Betrayal = 'rotten' | 'misdirected' | 'misread' | 'unwritten' | 'unsynced';

/** Where. */
export interface DiskDamage {
  readonly kind: Betrayal;
  readonly path: string;
  readonly position: number;
  /** Where the bytes belong that lie, or were read, there; absent for bytes that belong nowhere. */
  readonly of?: string;
}

/** Something that goes wrong next. `fits`: with which files, the one that is hit by accident included. */
export interface Armed<K extends Betrayal> {
  readonly kind: K;
  readonly fits: RegExp;
}

/** All that a disk showed at some time, and what was wrong with it. */
export interface DiskCopy {
  readonly tree: Tree;
  readonly rot: readonly Rot[];
  readonly damages: readonly DiskDamage[];
}

/** What is armed, and what was promised in vain. */
export interface Betrayals {
  /** What the next append to a file that fits does, what the next replace, and whether the next read goes astray. */
  append: Armed<'misdirected' | 'unwritten'> | null;
  replace: Armed<'unwritten'> | null;
  read: Armed<'misread'> | null;
  /** Syncs are answered, and nothing comes of them. */
  isLying: boolean;
  /** It has been so: what is there for sure nobody knows who believes its answers. */
  hasLied: boolean;
  /** Small files that were replaced while it lied, by what is not durable. */
  readonly replaced: Map<NameChange, string>;
}

/** An honest disk. */
export function createBetrayals(): Betrayals {
  return { append: null, replace: null, read: null, isLying: false, hasLied: false, replaced: new Map() };
}

/** All betrayal ends: what was not kept so far is not kept, and what comes is. */
export function makeHonest(disk: Disk): void {
  const { betrayals } = disk;
  betrayals.append = null;
  betrayals.replace = null;
  betrayals.read = null;
  betrayals.isLying = false;
}

/** All that a disk shows now, to be brought back later. */
export function copyDisk({ tree, rot, damages }: Disk): DiskCopy {
  return { tree: copyTree(tree), rot: [...rot], damages: [...damages] };
}

/**
 * Puts another disk in the place of one whose node is down: an empty one (null), or one with a copy. What was wrong
 * with the last one, or was about to go wrong, is gone with it.
 */
export function swapDisk(disk: Disk, copy: DiskCopy | null): void {
  disk.tree = copy === null ? createTree() : copyTree(copy.tree);
  disk.rot = [...(copy?.rot ?? [])];
  disk.damages = [...(copy?.damages ?? [])];
  disk.betrayals.append = null;
  disk.betrayals.replace = null;
  disk.betrayals.read = null;
  disk.betrayals.replaced.clear();
  disk.betrayals.hasLied = disk.betrayals.isLying;
  disk.syncFailed = false;
  disk.usedBytes = 0;
  for (const { file } of filesOf(disk.tree)) disk.usedBytes += file.content.size;
}

/** Bytes go astray that were to be appended to `file`; the path of `file` is `path`. */
export function betrayAppend(disk: Disk, dice: Dice, file: Inode, path: string, parts: readonly Uint8Array[]): void {
  const { betrayals } = disk;
  const armed = betrayals.append;
  betrayals.append = null;
  const bytes = joinParts(parts);
  const position = file.content.size;
  appendParts(file.content, [new Uint8Array(bytes.length)]);
  if (armed === null) return;
  const { kind, fits } = armed;
  disk.damages.push({ kind, path, position });
  if (kind !== 'misdirected') return;
  const victim = fileThatFits(disk, dice, fits);
  if (victim === null) return;
  const sectors = Math.floor(victim.file.content.size / SECTOR_BYTES);
  const at = SECTOR_BYTES * below(dice, SITE.betrayal, disk.entity, sectors + 1);
  const hit = bytes.subarray(0, victim.file.content.size - at);
  if (hit.length === 0) return;
  overwrite(victim.file.content, at, hit);
  disk.damages.push({ kind, path: victim.path, position: at, of: path });
}

/** Whether a small file that is to be replaced stays as it is, though nobody is told. */
export function isReplaceLost({ betrayals, damages }: Disk, path: string): boolean {
  if (betrayals.replace?.fits.test(path) !== true) return false;
  damages.push({ kind: betrayals.replace.kind, path, position: 0 });
  betrayals.replace = null;
  return true;
}

/** The bytes of a place that was not asked for, in the place of those of `path`. */
export function betrayRead(disk: Disk, dice: Dice, path: string, position: number, length: number): Uint8Array {
  const armed = disk.betrayals.read;
  disk.betrayals.read = null;
  const victim = armed === null ? null : fileThatFits(disk, dice, armed.fits);
  if (victim === null) return new Uint8Array(0);
  const { content } = victim.file;
  const isElsewhere = chance(dice, SITE.betrayal, disk.entity, 500_000);
  const at = isElsewhere ? below(dice, SITE.betrayal, disk.entity, content.size) : Math.min(position, content.size);
  disk.damages.push({ kind: 'misread', path, position, of: victim.path });
  const found = readContent(content, at, length);
  if (found.length === length) return found;
  const padded = new Uint8Array(length);
  padded.set(found);
  return padded;
}

function fileThatFits(disk: Disk, dice: Dice, fits: RegExp): { path: string; file: Inode } | null {
  const files = filesOf(disk.tree).filter(({ path, file }) => file.content.size > 0 && fits.test(path));
  return files[below(dice, SITE.betrayal, disk.entity, files.length)] ?? null;
}

/** A power loss takes what it takes of a file, also of what was promised in vain, which is a damage. */
export function losePromised(disk: Disk, dice: Dice, path: string, file: Inode): Fate {
  const promised = file.promised === null ? null : bytesOfView(file, file.promised);
  const fate = loseBytes(file, dice, disk.entity);
  if (promised === null) return fate;
  const left = readContent(file.content, 0, promised.length);
  const position = firstDifference(promised, left);
  if (position >= 0) disk.damages.push({ kind: 'unsynced', path, position });
  return fate;
}

function firstDifference(promised: Uint8Array, left: Uint8Array): number {
  for (let i = 0; i < promised.length; i++) if (promised[i] !== left[i]) return i;
  return -1;
}

/** A power loss takes back a change of names: a damage where it had been promised. */
export function loseName({ betrayals, damages }: Disk, change: NameChange): void {
  const path = betrayals.replaced.get(change);
  if (path !== undefined) damages.push({ kind: 'unsynced', path, position: 0 });
}
