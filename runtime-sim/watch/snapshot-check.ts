/**
 * Whether the snapshots of the metadata that several nodes have made, or fetched, are the same where they have one
 * name: the records below an offset come to one image, and that is written in one way. Byte by byte, but for when each
 * batch was written, and so for its checksum.
 *
 * Reads disks, and changes nothing. A snapshot in which the disk has damaged something is passed over, and so is what a
 * disk was formatted with, for that is each node's own.
 */

import {
  ATTRIBUTES_AT,
  BASE_TIMESTAMP_AT,
  batchEnd,
  CRC_AT,
  dataViewOf,
  PRODUCER_ID_AT,
} from '../../core/protocol/batch.ts';
import { BOOTSTRAP_ID, checkpointOf, metadataFolder } from '../../core/raft/names.ts';
import type { Complaint } from '../../core/verify/history.ts';
import { readContent } from '../disk/content.ts';
import type { Disk } from '../disk/disk.ts';
import { isFolder, resolve } from '../disk/tree.ts';

/** The disk of a node that is up, and its log directory there. */
export interface Shelf {
  readonly node: number;
  readonly folder: string;
  readonly disk: Disk;
}

interface Snapshot {
  readonly node: number;
  readonly bytes: Uint8Array;
}

/** Compares what lies on some disks; what is wrong, or null. `reached` hears of each pair. */
export function compareSnapshots(shelves: readonly Shelf[], reached: (mark: string) => void): Complaint | null {
  const known = new Map<string, Snapshot>();
  for (const shelf of shelves) {
    for (const [name, snapshot] of snapshotsOn(shelf)) {
      const other = known.get(name);
      if (other === undefined) {
        known.set(name, snapshot);
        continue;
      }
      reached('sim.snapshots.compared');
      const at = firstDifference(other.bytes, snapshot.bytes);
      if (at < 0) continue;
      const names = `nodes ${other.node} and ${snapshot.node}`;
      const sentence = `${names} have different bytes in snapshot ${name}, from ${at} on`;
      return { checker: 'unequal-snapshots', promise: 2, partition: -1, sentence };
    }
  }
  return null;
}

function* snapshotsOn({ node, folder: parent, disk }: Shelf): Generator<readonly [string, Snapshot]> {
  const { tree, damages } = disk;
  const path = metadataFolder(parent);
  const { entry: folder } = resolve(tree, path);
  if (folder === undefined || !isFolder(folder)) return;
  for (const [name, file] of folder.entries) {
    const id = checkpointOf(name);
    if (id === null || id.endOffset <= BOOTSTRAP_ID.endOffset || isFolder(file)) continue;
    if (damages.some((damage) => damage.path === `${path}/${name}`)) continue;
    yield [name, { node, bytes: timeless(readContent(file.content, 0, file.content.size)) }];
  }
}

/** Where in a batch its checksum lies, and the times of its first record and of its last. Bytes, from and to. */
const OWN: readonly (readonly [number, number])[] = [
  [CRC_AT, ATTRIBUTES_AT],
  [BASE_TIMESTAMP_AT, PRODUCER_ID_AT],
];

/** A copy without what each node writes itself. */
function timeless(bytes: Uint8Array): Uint8Array {
  const copy = bytes.slice();
  const view = dataViewOf(copy);
  for (let at = 0; ; ) {
    const end = batchEnd(view, at, copy.length);
    if (end < 0) return copy;
    for (const [from, to] of OWN) copy.fill(0, at + from, at + to);
    at = end;
  }
}

/** Where two files differ; -1 for nowhere. */
function firstDifference(one: Uint8Array, other: Uint8Array): number {
  const shared = Math.min(one.length, other.length);
  for (let i = 0; i < shared; i++) if (one[i] !== other[i]) return i;
  return one.length === other.length ? -1 : shared;
}
