/** Snapshots of one name on several disks: what must be the same in them, and what is each node's own. */
import { expect, test } from 'vitest';
import { encodeUtf8 } from '../../core/lib/utf8.ts';
import { encodeBatch } from '../../core/protocol/records.ts';
import { checkpointName, metadataFolder } from '../../core/raft/names.ts';
import { createDice } from '../../runtime-sim/dice.ts';
import { createDisk, putFile, rotDisk } from '../../runtime-sim/disk/disk.ts';
import { compareSnapshots, type Shelf } from '../../runtime-sim/watch/snapshot-check.ts';

const FOLDER = '/data';

/** A node with one snapshot of two batches. */
function shelf(node: number, texts: readonly [string, string], timestampMs: number, endOffset = 42): Shelf {
  const disk = createDisk(node);
  const batches = texts.map((text) => encodeBatch([{ timestampMs, key: null, value: encodeUtf8(text) }]));
  const bytes = Uint8Array.from(batches.flatMap((batch) => [...batch]));
  putFile(disk, `${metadataFolder(FOLDER)}/${checkpointName({ endOffset, epoch: 2 })}`, bytes);
  return { node, folder: FOLDER, disk };
}

test('snapshots of one name hold the same, whenever each was written', () => {
  const reached: string[] = [];
  const shelves = [shelf(1, ['one', 'two'], 7), shelf(2, ['one', 'two'], 9), shelf(3, ['one', 'six'], 9, 50)];
  expect(compareSnapshots(shelves, (mark) => reached.push(mark))).toBeNull();
  expect(reached).toEqual(['sim.snapshots.compared']);
});

test('one that holds something else, or less, is found, unless a disk has damaged it', () => {
  const [one, other] = [shelf(1, ['one', 'two'], 7), shelf(2, ['one', 'six'], 7)];
  const found = compareSnapshots([one, other], () => {});
  expect(found).toMatchObject({ checker: 'unequal-snapshots', promise: 2 });
  expect(found?.sentence).toContain('nodes 1 and 2 have different bytes');
  expect(compareSnapshots([one, shelf(2, ['one', ''], 7)], () => {})).not.toBeNull();
  expect(rotDisk(other.disk, createDice(1), 0, () => true)).toBe(true);
  expect(compareSnapshots([one, other], () => {})).toBeNull();
});

test('what a disk was formatted with is its own', () => {
  const shelves = [shelf(1, ['one', 'two'], 7, 0), shelf(2, ['one', 'six'], 7, 0)];
  expect(compareSnapshots(shelves, () => {})).toBeNull();
});
