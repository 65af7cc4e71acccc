/**
 * Whether the folders on a node's disk are those of the partitions that it keeps: one for each, and none of a partition
 * that has left, under its own name. What was set aside has another name. Looked at when a run is over and nothing is
 * on its way to the disk.
 */
import { METADATA_FOLDER, parseFolderName } from '../../core/broker/checkpoints/files.ts';
import type { Node } from '../../core/broker/node.ts';
import { assert } from '../../core/lib/assert.ts';
import type { Disk } from '../disk/disk.ts';
import { isFolder, resolve } from '../disk/tree.ts';

/** Throws AssertionError where they differ. */
export function checkFolders(node: Node, disk: Disk): void {
  const { entry } = resolve(disk.tree, node.folder);
  if (entry === undefined || !isFolder(entry) || node.stage !== 'serving') return;
  for (const name of entry.entries.keys()) {
    const parsed = parseFolderName(name);
    if (parsed === null || name === METADATA_FOLDER || node.topics.leaving.has(name)) continue;
    const partition = node.topics.byName.get(parsed.topic)?.partitions[parsed.partition] ?? null;
    assert(partition !== null, `${name} lies on node ${node.nodeId}, which keeps it no more`);
  }
  for (const { partitions } of node.topics.byName.values()) {
    for (const partition of partitions) {
      if (partition === null || partition.phase !== 'log') continue;
      const name = partition.log.folder.slice(node.folder.length + 1);
      assert(entry.entries.has(name), `${name} is kept by node ${node.nodeId}, and has no folder there`);
    }
  }
}
