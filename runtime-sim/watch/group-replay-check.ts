/**
 * Whether what lies on a node's disk comes to what its coordinators of groups have in memory: the log of a partition of
 * `__consumer_offsets`, read from the simulated disk byte by byte and replayed, is the hard state of its coordinator.
 *
 * The live state has seen all that was appended, so this holds whenever nothing of the log is on its way to the disk,
 * unless the disk has damaged it. It costs a replay of the whole log: it is done when a coordinator is first seen
 * active, and then whenever the log has grown by so much.
 */
import type { Node } from '../../core/broker/node.ts';
import { GROUP_MACHINE } from '../../core/group/machine.ts';
import { type GroupState, sameHardState } from '../../core/group/state.ts';
import { assert } from '../../core/lib/assert.ts';
import type { Env } from '../../core/lib/world.ts';
import type { Log } from '../../core/log/log.ts';
import { nameOf } from '../../core/log/names.ts';
import { dataViewOf, isControl } from '../../core/protocol/batch.ts';
import { readRecords } from '../../core/protocol/records.ts';
import { splitBatches } from '../../core/raft/batches.ts';
import { readContent } from '../disk/content.ts';
import type { Disk } from '../disk/disk.ts';
import { isFolder, resolve } from '../disk/tree.ts';

/** Offsets between two replays of one coordinator. */
const OFFSETS_PER_REPLAY = 40;

/** What was replayed last: by coordinator, the end of its log then. Plain data. */
export interface GroupReplayCheck {
  readonly ends: Map<object, number>;
}

/** Nothing was looked at yet. */
export function createGroupReplayCheck(): GroupReplayCheck {
  return { ends: new Map() };
}

/** A new life. */
export function beginGroupReplayCheck({ ends }: GroupReplayCheck): void {
  ends.clear();
}

/** Looks after a step of the node. Throws AssertionError where disk and memory differ. */
export function checkGroupReplays({ ends }: GroupReplayCheck, node: Node, disk: Disk, env: Env): void {
  for (const { stage, coordinator, partition } of node.groups.hosts) {
    const { log } = partition;
    if (stage !== 'active' || coordinator.state === null || !isQuiet(log)) continue;
    if (log.end < (ends.get(coordinator) ?? Number.NEGATIVE_INFINITY) + OFFSETS_PER_REPLAY) continue;
    if (disk.damages.some(({ path }) => path.startsWith(`${log.folder}/`))) continue;
    ends.set(coordinator, log.end);
    const replayed = replay(log, disk, env);
    const isSame = sameHardState(replayed, coordinator.state);
    assert(isSame, `the replay of ${log.folder} up to ${log.end} is not what its coordinator knows`);
  }
  // Coordinators that have gone are not kept.
  if (ends.size > 2 * node.groups.hosts.size) {
    const live = new Set<object>([...node.groups.hosts].map(({ coordinator }) => coordinator));
    for (const one of ends.keys()) if (!live.has(one)) ends.delete(one);
  }
}

/** Nothing is on its way to the disk, and nothing is known to be damaged. */
function isQuiet(log: Log): boolean {
  return log.state === 'open' && log.writes.length === 0 && log.removesLeft === 0 && log.damaged.length === 0;
}

function replay(log: Log, disk: Disk, env: Env): GroupState {
  const state = GROUP_MACHINE.beginLoad();
  const place = { baseOffset: 0, nextOffset: 0, leaderEpoch: 0, timestampMs: 0 };
  for (const segment of log.segments) {
    const { entry } = resolve(disk.tree, `${log.folder}/${nameOf(segment.base, '.log')}`);
    if (entry === undefined || isFolder(entry)) continue;
    for (const bytes of splitBatches([readContent(entry.content, 0, segment.sizeBytes)])) {
      if (isControl(dataViewOf(bytes), 0)) continue;
      for (const { key, value } of readRecords(bytes, env.codecs)) {
        if (key === null) continue;
        const decoded = GROUP_MACHINE.decode({ key, value: value === null ? null : value.slice() });
        assert('record' in decoded, `${log.folder} holds what cannot be read`);
        GROUP_MACHINE.load(state, [decoded.record], place, false);
      }
    }
  }
  return state;
}
