/**
 * The names of a simulated disk: folders, what they show now, and what of it would survive a power loss.
 *
 * Every change of a name is applied to what is shown and kept in a list of changes that no folder sync has covered.
 * `syncFolder` moves the changes of its folder, in order, into what is durable. A rename is one change: after a power
 * loss the thing has its old name or the new one, never both or none.
 */
import { createInode, type Inode, setContent } from './content.ts';

/** A folder: what a listing shows, and what a power loss leaves of it. */
export interface Folder {
  readonly folder: number;
  readonly entries: Map<string, Entry>;
  durable: Map<string, Entry>;
  /** Rises with every change of its names, of those that are shown and of those that are durable. */
  changes: number;
}

/** What a name stands for. */
export type Entry = Folder | Inode;

/** One change of a name: `to` set to `entry`, or `from` taken away, or both at once. */
export interface NameChange {
  readonly from: { readonly folder: Folder; readonly name: string } | null;
  readonly to: { readonly folder: Folder; readonly name: string } | null;
  readonly entry: Entry;
}

/** All names of one disk. */
export interface Tree {
  readonly root: Folder;
  /** Not yet durable, oldest first. */
  unsynced: NameChange[];
  made: number;
}

/** A disk with an empty root. */
export function createTree(): Tree {
  return { root: createFolder(0), unsynced: [], made: 0 };
}

function createFolder(folder: number): Folder {
  return { folder, entries: new Map(), durable: new Map(), changes: 0 };
}

/** Tells folders from files. */
export function isFolder(entry: Entry): entry is Folder {
  return 'entries' in entry;
}

/** Where a path leads: its folder (null when that is missing), its last name, and what is there. */
export interface Place {
  readonly folder: Folder | null;
  readonly name: string;
  readonly entry: Entry | undefined;
}

/** Finds a path by what is shown now. The root itself has the name ''. */
export function resolve(tree: Tree, path: string): Place {
  const names = path.split('/').filter((name) => name !== '');
  let folder: Folder = tree.root;
  for (let i = 0; i < names.length - 1; i++) {
    const next = folder.entries.get(names[i] as string);
    if (next === undefined || !isFolder(next)) return { folder: null, name: '', entry: undefined };
    folder = next;
  }
  const name = names[names.length - 1];
  if (name === undefined) return { folder: null, name: '', entry: tree.root };
  return { folder, name, entry: folder.entries.get(name) };
}

/** Shows a change and remembers that it is not durable. */
export function changeName(tree: Tree, change: NameChange): void {
  applyChange(change, (folder) => folder.entries);
  tree.unsynced.push(change);
}

function applyChange(change: NameChange, names: (folder: Folder) => Map<string, Entry>): void {
  if (change.from !== null) {
    const entries = names(change.from.folder);
    if (entries.get(change.from.name) === change.entry) entries.delete(change.from.name);
    change.from.folder.changes += 1;
  }
  if (change.to === null) return;
  names(change.to.folder).set(change.to.name, change.entry);
  change.to.folder.changes += 1;
}

/** Makes a change durable out of turn: a `replace` that finished. */
export function settleChange(tree: Tree, change: NameChange): void {
  applyChange(change, (folder) => folder.durable);
  // What took this name before, and was never made durable, comes back no more.
  const { to } = change;
  const isPast = (other: NameChange): boolean => {
    return other === change || (other.from === null && isSamePlace(other.to, to));
  };
  tree.unsynced = tree.unsynced.filter((other) => !isPast(other));
}

function isSamePlace(one: NameChange['to'], other: NameChange['to']): boolean {
  return one !== null && other !== null && one.folder === other.folder && one.name === other.name;
}

/** A new file under a name whose folder exists. */
export function makeFile(tree: Tree, folder: Folder, name: string): Inode {
  tree.made += 1;
  const file = createInode(tree.made);
  changeName(tree, { from: null, to: { folder, name }, entry: file });
  return file;
}

/** A new folder under a name whose folder exists. */
export function makeFolder(tree: Tree, folder: Folder, name: string): void {
  tree.made += 1;
  changeName(tree, { from: null, to: { folder, name }, entry: createFolder(tree.made) });
}

/** Takes a name away; of a folder, all names in it first. `files` receives the files that went. */
export function removeName(tree: Tree, folder: Folder, name: string, files: Inode[]): void {
  const entry = folder.entries.get(name);
  if (entry === undefined) return;
  if (isFolder(entry)) for (const child of [...entry.entries.keys()]) removeName(tree, entry, child, files);
  else files.push(entry);
  changeName(tree, { from: { folder, name }, to: null, entry });
}

function touches(change: NameChange, folder: Folder): boolean {
  return change.from?.folder === folder || change.to?.folder === folder;
}

/** The changes that a sync of this folder, asked for now, will cover. */
export function changesOf(tree: Tree, folder: Folder): Set<NameChange> {
  return new Set(tree.unsynced.filter((change) => touches(change, folder)));
}

/** Makes these changes durable, in the order in which they were made. */
export function settleChanges(tree: Tree, changes: ReadonlySet<NameChange>): void {
  for (const change of tree.unsynced) if (changes.has(change)) applyChange(change, (folder) => folder.durable);
  tree.unsynced = tree.unsynced.filter((change) => !changes.has(change));
}

/**
 * What a power loss leaves: the durable names and those unsynced changes that `survives` lets through, in order.
 * Returns how many changes were lost.
 */
export function loseNames(tree: Tree, survives: (index: number) => boolean): number {
  let lost = 0;
  tree.unsynced.forEach((change, index) => {
    if (survives(index)) applyChange(change, (folder) => folder.durable);
    else lost += 1;
  });
  tree.unsynced = [];
  const show = (folder: Folder): void => {
    folder.entries.clear();
    folder.changes += 1;
    for (const [name, entry] of folder.durable) {
      folder.entries.set(name, entry);
      if (isFolder(entry)) show(entry);
    }
  };
  show(tree.root);
  return lost;
}

/** All names and files as they are shown, on another disk, and durable there. Bytes are shared. */
export function copyTree(tree: Tree): Tree {
  const copyFolder = (from: Folder): Folder => {
    const to = createFolder(from.folder);
    for (const [name, entry] of from.entries)
      to.entries.set(name, isFolder(entry) ? copyFolder(entry) : copyFile(entry));
    to.durable = new Map(to.entries);
    return to;
  };
  return { root: copyFolder(tree.root), unsynced: [], made: tree.made };
}

function copyFile({ inode, content }: Inode): Inode {
  const copy = createInode(inode);
  setContent(copy, content.chunks);
  return copy;
}

/** Every file that has a name, with its path; in the order of the folders' entries. */
export function filesOf(tree: Tree): { readonly path: string; readonly file: Inode }[] {
  const found: { path: string; file: Inode }[] = [];
  const walk = (folder: Folder, prefix: string): void => {
    for (const [name, entry] of folder.entries) {
      if (isFolder(entry)) walk(entry, `${prefix}/${name}`);
      else found.push({ path: `${prefix}/${name}`, file: entry });
    }
  };
  walk(tree.root, '');
  return found;
}
