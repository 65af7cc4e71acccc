/** One simulated disk in the hands of a test: effects go in, what is due is carried out, and the answers come back. */
import type { DiskEffect, DiskInput } from '../../core/lib/world.ts';
import { createDice, type Dice } from '../../runtime-sim/dice.ts';
import { readContent } from '../../runtime-sim/disk/content.ts';
import { createDisk, type Disk, type DiskDue, finishDisk, submitDisk } from '../../runtime-sim/disk/disk.ts';
import { isFolder, resolve } from '../../runtime-sim/disk/tree.ts';

/** A disk, and what is still to be done to it. */
export interface Rig {
  readonly disk: Disk;
  readonly dice: Dice;
  readonly due: DiskDue[];
  ticket: number;
}

/** An effect without the owner and ticket, which the rig adds. */
export type Bare = DiskEffect extends infer E ? (E extends DiskEffect ? Omit<E, 'owner' | 'ticket'> : never) : never;

/** A disk with nothing on it. */
export function rig(seed = 1): Rig {
  return { disk: createDisk(0), dice: createDice(seed), due: [], ticket: 0 };
}

/** Submits effects, of which nothing is carried out yet. */
export function submit(to: Rig, ...effects: Bare[]): void {
  for (const effect of effects) {
    to.ticket += 1;
    submitDisk(to.disk, to.dice, 0, { ...effect, owner: 1, ticket: to.ticket } as DiskEffect, to.due);
  }
}

/** Carries out whatever is due, earliest first; the answers. */
export function settle(to: Rig): DiskInput[] {
  const answers: DiskInput[] = [];
  for (;;) {
    to.due.sort((a, b) => a.atUs - b.atUs);
    const next = to.due.shift();
    if (next === undefined) return answers;
    finishDisk(to.disk, to.dice, next.atUs, next.operation, answers, to.due);
  }
}

/** What a file holds; null where there is none. */
export function textOf({ disk }: Rig, path: string): string | null {
  const { entry } = resolve(disk.tree, path);
  if (entry === undefined || isFolder(entry)) return null;
  return new TextDecoder().decode(readContent(entry.content, 0, entry.content.size));
}

/** The bytes of a text. */
export function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** Opens a file, which is made if it is not there. */
export function open(file: number, path: string): Bare {
  return { kind: 'open', file, path, create: true };
}

/** Appends a text. */
export function append(file: number, text: string): Bare {
  return { kind: 'append', file, parts: [bytes(text)] };
}

/** Syncs a file. */
export function sync(file: number): Bare {
  return { kind: 'sync', file };
}

/** Syncs the names in the root. */
export const syncRoot: Bare = { kind: 'syncFolder', path: '/' };
