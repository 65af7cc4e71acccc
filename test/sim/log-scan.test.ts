/** What a disk holds of a log for sure: what was synced, under a name that was, without a gap; and what is read now. */
import { expect, test } from 'vitest';
import { formatPartitionMetadata, PARTITION_METADATA } from '../../core/broker/checkpoints/files.ts';
import { encodeBatch } from '../../core/protocol/records.ts';
import { appendParts, cutInode, finishView, type Inode, viewNow } from '../../runtime-sim/disk/content.ts';
import { createDisk, type Disk } from '../../runtime-sim/disk/disk.ts';
import {
  changeName,
  changesOf,
  type Folder,
  isFolder,
  loseNames,
  makeFile,
  makeFolder,
  resolve,
  settleChanges,
} from '../../runtime-sim/disk/tree.ts';
import {
  createScans,
  type Held,
  heldOf,
  heldOfQuorum,
  heldOfTopic,
  type Scans,
} from '../../runtime-sim/watch/log-scan.ts';

const FOLDER = '/data/orders-0';

interface Shelf {
  readonly disk: Disk;
  readonly scans: Scans;
  life: number;
}

function folderAt({ tree }: Disk, path: string): Folder {
  const { entry } = resolve(tree, path);
  if (entry === undefined || !isFolder(entry)) throw new Error('no such folder');
  return entry;
}

function createShelf(): Shelf {
  const disk = createDisk(0);
  makeFolder(disk.tree, disk.tree.root, 'data');
  makeFolder(disk.tree, folderAt(disk, '/data'), 'orders-0');
  settleChanges(disk.tree, changesOf(disk.tree, disk.tree.root));
  settleChanges(disk.tree, changesOf(disk.tree, folderAt(disk, '/data')));
  return { disk, scans: createScans(), life: 0 };
}

function fileAt({ disk }: Shelf, base: number): Inode {
  return makeFile(disk.tree, folderAt(disk, FOLDER), `${String(base).padStart(20, '0')}.log`);
}

function syncNames({ disk }: Shelf): void {
  settleChanges(disk.tree, changesOf(disk.tree, folderAt(disk, FOLDER)));
}

let syncs = 0;

function sync(file: Inode): void {
  syncs += 1;
  finishView(file, viewNow(file, syncs));
}

/** Appends batches of two records each, from an offset on. */
function append(file: Inode, baseOffset: number, batches: number, leaderEpoch: number): void {
  const record = { timestampMs: 1, key: null, value: null };
  for (let i = 0; i < batches; i++) {
    appendParts(file.content, [encodeBatch([record, record], { baseOffset: baseOffset + 2 * i, leaderEpoch })]);
  }
}

function held({ disk, scans, life }: Shelf, offset: number, isForSure = true): Held {
  return heldOf(scans, { disk, life, folder: FOLDER, isForSure }, offset);
}

test('only what is synced is there for sure', () => {
  const shelf = createShelf();
  const file = fileAt(shelf, 0);
  append(file, 0, 2, 1);
  syncNames(shelf);
  sync(file);
  append(file, 4, 1, 2);
  expect(held(shelf, 4)).toEqual({ end: 4, lastEpoch: 1, epoch: 1 });
  expect(held(shelf, 6)).toEqual({ end: 4, lastEpoch: 1, epoch: -1 });
  expect(held(shelf, 6, false)).toEqual({ end: 6, lastEpoch: 2, epoch: 2 });
  sync(file);
  expect(held(shelf, 6)).toEqual({ end: 6, lastEpoch: 2, epoch: 2 });
  expect(held(shelf, 4).epoch).toBe(1);
});

test('a file whose name is not durable is not there for sure, nor is what lies behind a gap', () => {
  const shelf = createShelf();
  const [one, two, three] = [fileAt(shelf, 0), fileAt(shelf, 4), fileAt(shelf, 6)];
  append(one, 0, 2, 1);
  append(two, 4, 1, 1);
  append(three, 6, 1, 1);
  sync(one);
  expect(held(shelf, 4).end).toBe(0);
  syncNames(shelf);
  sync(three);
  expect(held(shelf, 4).end).toBe(4);
  expect(held(shelf, 4, false).end).toBe(8);
  sync(two);
  expect(held(shelf, 4).end).toBe(8);
});

test('what was cut is looked through again', () => {
  const shelf = createShelf();
  const file = fileAt(shelf, 0);
  syncNames(shelf);
  append(file, 0, 2, 1);
  sync(file);
  const { size } = file.content;
  expect(held(shelf, 4).epoch).toBe(1);
  cutInode(file, size / 2);
  append(file, 2, 1, 5);
  expect(held(shelf, 4)).toEqual({ end: 2, lastEpoch: 1, epoch: -1 });
  expect(held(shelf, 4, false)).toEqual({ end: 4, lastEpoch: 5, epoch: 5 });
});

test('a folder is looked through again when a name in it comes, becomes durable or is lost', () => {
  const shelf = createShelf();
  const first = fileAt(shelf, 0);
  append(first, 0, 1, 1);
  sync(first);
  syncNames(shelf);
  expect([held(shelf, 2).end, held(shelf, 2, false).end]).toEqual([2, 2]);
  const second = fileAt(shelf, 2);
  append(second, 2, 1, 1);
  sync(second);
  expect([held(shelf, 2).end, held(shelf, 2, false).end]).toEqual([2, 4]);
  loseNames(shelf.disk.tree, () => false);
  expect([held(shelf, 2).end, held(shelf, 2, false).end]).toEqual([2, 2]);
  const third = fileAt(shelf, 2);
  append(third, 2, 2, 1);
  sync(third);
  syncNames(shelf);
  expect([held(shelf, 2).end, held(shelf, 2, false).end]).toEqual([6, 6]);
});

test('a checkpoint stands for the log below it, once all of it is durable', () => {
  const shelf = createShelf();
  const { disk, scans, life } = shelf;
  const file = makeFile(
    disk.tree,
    folderAt(disk, FOLDER),
    `${'9'.padStart(20, '0')}-${'4'.padStart(10, '0')}.checkpoint`,
  );
  appendParts(file.content, [new Uint8Array(10)]);
  const place = { disk, life, folder: FOLDER, isForSure: true };
  expect(heldOfQuorum(scans, place, 9).end).toBe(0);
  syncNames(shelf);
  expect(heldOfQuorum(scans, place, 9).end).toBe(0);
  sync(file);
  expect(heldOfQuorum(scans, place, 9)).toEqual({ end: 9, lastEpoch: 4, epoch: 4 });
  expect(heldOfQuorum(scans, place, 5)).toEqual({ end: 9, lastEpoch: 4, epoch: -1 });
  // Below it a segment is left, and one behind that is gone.
  const [old, current] = [fileAt(shelf, 0), fileAt(shelf, 8)];
  append(old, 0, 1, 1);
  append(current, 8, 2, 4);
  for (const one of [old, current]) sync(one);
  syncNames(shelf);
  expect(heldOfQuorum(scans, place, 12)).toEqual({ end: 12, lastEpoch: 4, epoch: 4 });
});

test('a log that begins anew without files is whole up to where it begins, once that is durable', () => {
  const shelf = createShelf();
  const { tree } = shelf.disk;
  const starts = makeFile(tree, folderAt(shelf.disk, '/data'), 'log-start-offset-checkpoint');
  appendParts(starts.content, [new TextEncoder().encode('0\n2\norders 0 7\norders 1 9\n')]);
  expect(held(shelf, 7).end).toBe(0);
  settleChanges(tree, changesOf(tree, folderAt(shelf.disk, '/data')));
  expect(held(shelf, 7)).toEqual({ end: 7, lastEpoch: -1, epoch: -1 });
  expect(held(shelf, 8).end).toBe(7);
});

test('a gap in what was deleted is none', () => {
  const shelf = createShelf();
  const { tree } = shelf.disk;
  const [one, three] = [fileAt(shelf, 0), fileAt(shelf, 6)];
  append(one, 0, 2, 1);
  append(three, 6, 1, 1);
  for (const file of [one, three]) sync(file);
  syncNames(shelf);
  expect(held(shelf, 8).end).toBe(4);
  const starts = makeFile(tree, folderAt(shelf.disk, '/data'), 'log-start-offset-checkpoint');
  appendParts(starts.content, [new TextEncoder().encode('0\n1\norders 0 6\n')]);
  settleChanges(tree, changesOf(tree, folderAt(shelf.disk, '/data')));
  expect(held(shelf, 8)).toEqual({ end: 8, lastEpoch: 1, epoch: 1 });
});

test('a log whose folder is gone holds nothing', () => {
  const shelf = createShelf();
  const folder = folderAt(shelf.disk, '/data');
  const entry = folderAt(shelf.disk, FOLDER);
  changeName(shelf.disk.tree, { from: { folder, name: 'orders-0' }, to: { folder, name: 'elsewhere' }, entry });
  expect(held(shelf, 4, false)).toEqual({ end: 0, lastEpoch: -1, epoch: -1 });
});

test('a folder that is another topic’s by now says nothing of the one before', () => {
  const shelf = createShelf();
  const file = fileAt(shelf, 0);
  append(file, 0, 1, 4);
  const metadata = makeFile(shelf.disk.tree, folderAt(shelf.disk, FOLDER), PARTITION_METADATA);
  const [id, other] = ['A'.repeat(22), `${'A'.repeat(20)}BA`];
  appendParts(metadata.content, [new TextEncoder().encode(formatPartitionMetadata(id))]);
  const place = { disk: shelf.disk, life: 0, folder: FOLDER, isForSure: false };
  expect(heldOfTopic(shelf.scans, place, id, 2)).toEqual({ end: 2, lastEpoch: 4, epoch: 4 });
  expect(heldOfTopic(shelf.scans, place, other, 2)).toBeNull();
});
