/** What a toy world is made of, and what a test sees of it. No state. */
import type { Effect, NetworkEffect } from '../../core/lib/world.ts';
import type { ToyWorld } from './toy-world.ts';

/** What a node asks of its disk. */
export type DiskEffect = Extract<Effect, { owner: number; kind: Exclude<Effect['kind'], 'entropy'> }>;

/** One file: what was written, and how much of it was synced. */
export interface ToyFile {
  bytes: Uint8Array;
  syncedBytes: number;
}

/** What a client sees of its connection. */
export interface ToyConnection {
  readonly id: number;
  received: Uint8Array;
  closed: boolean;
  paused: boolean;
  /** Bytes sent by the node and not confirmed. */
  unsent: number;
}

/** What joins the worlds of several nodes. */
export interface ToyLink {
  /** Carries out an effect of a node's network; false if it is none of its business. */
  take(world: ToyWorld, effect: NetworkEffect): boolean;
}

/** Changes to the defaults of the configuration, by name. */
export type Changes = { readonly [name: string]: string };

/** The names in a folder, sorted. */
export function entriesOf(
  files: ReadonlyMap<string, ToyFile>,
  folders: ReadonlySet<string>,
  path: string,
): { name: string; isFolder: boolean; sizeBytes: number }[] {
  const within = (name: string) => name.startsWith(`${path}/`) && !name.slice(path.length + 1).includes('/');
  const inside = [...folders].filter(within).map((name) => ({ name, isFolder: true, sizeBytes: 0 }));
  const found = [...files].filter(([name]) => within(name));
  return [...inside, ...found.map(([name, { bytes }]) => ({ name, isFolder: false, sizeBytes: bytes.length }))]
    .map((entry) => ({ ...entry, name: entry.name.slice(path.length + 1) }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Renames `path`, and all that lies in it. */
export function moveAll(files: Map<string, ToyFile>, path: string, to: string): void {
  for (const [name, moved] of [...files]) {
    if (name !== path && !name.startsWith(`${path}/`)) continue;
    files.delete(name);
    files.set(to + name.slice(path.length), moved);
  }
}
