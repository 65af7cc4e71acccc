/**
 * Whether what a log keeps beside its batches is what its batches say: the leader epoch of each, and the last batch of
 * each producer. Read from the simulated disk byte by byte, when a node has come to serve, and at the end of a run.
 *
 * A log in which the disk has damaged something is passed over: there nobody knows what the batches said.
 */
import type { Node } from '../../core/broker/node.ts';
import { assert } from '../../core/lib/assert.ts';
import { epochAt } from '../../core/log/epochs.ts';
import type { Log } from '../../core/log/log.ts';
import { nameOf } from '../../core/log/names.ts';
import * as batch from '../../core/protocol/batch.ts';
import { readContent } from '../disk/content.ts';
import type { Disk } from '../disk/disk.ts';
import { isFolder, resolve } from '../disk/tree.ts';

/** Whether the logs of this life were looked at, plain data. */
export interface LogCheck {
  isDone: boolean;
}

/** No life yet. */
export function createLogCheck(): LogCheck {
  return { isDone: false };
}

/** A new life of the node. */
export function beginLogCheck(check: LogCheck): void {
  check.isDone = false;
}

/** Looks after the step in which a life of the node came to serve. */
export function checkLogsOnce(check: LogCheck, node: Node, disk: Disk, mayLose: boolean): void {
  if (check.isDone || node.stage !== 'serving') return;
  check.isDone = true;
  checkLogs(node, disk, mayLose);
}

/**
 * Looks at every log of a node. Throws AssertionError where it and its batches differ. `mayLose`: unclean elections are
 * allowed, which take more than what clients have in flight.
 */
export function checkLogs(node: Node, disk: Disk, mayLose: boolean): void {
  for (const { partitions } of node.topics.byName.values()) {
    for (const partition of partitions) {
      if (partition === null) continue;
      const { log, phase } = partition;
      const isRotten = disk.damages.some(({ path }) => path.startsWith(`${log.folder}/`));
      if (phase === 'log' && isQuiet(log) && !isRotten) checkBatches(log, disk, mayLose);
    }
  }
}

/** Nothing is on its way to the disk, and nothing is known to be damaged. */
function isQuiet(log: Log): boolean {
  return log.state === 'open' && log.writes.length === 0 && log.removesLeft === 0 && log.damaged.length === 0;
}

function checkBatches(log: Log, disk: Disk, mayLose: boolean): void {
  const lastOffsets = new Map<number, number>();
  const lastSequences = new Map<number, number>();
  const lastEpochs = new Map<number, number>();
  for (const segment of log.segments) {
    const { entry } = resolve(disk.tree, `${log.folder}/${nameOf(segment.base, '.log')}`);
    if (entry === undefined || isFolder(entry)) continue;
    const bytes = readContent(entry.content, 0, segment.sizeBytes);
    const view = batch.dataViewOf(bytes);
    for (let at = 0; batch.batchEnd(view, at, bytes.length) > 0; at += batch.batchSizeBytes(view, at)) {
      const baseOffset = batch.baseOffset(view, at);
      if (baseOffset < log.start) continue;
      const epoch = batch.leaderEpoch(view, at);
      const known = epochAt(log.epochs, baseOffset);
      assert(
        known === epoch,
        `${log.folder} takes offset ${baseOffset} for one of epoch ${known}, and it is of ${epoch}`,
      );
      const producerId = batch.producerId(view, at);
      if (producerId < 0) continue;
      lastOffsets.set(producerId, batch.nextOffset(view, at) - 1);
      lastSequences.set(producerId, batch.lastSequence(view, at));
      lastEpochs.set(producerId, batch.producerEpoch(view, at));
    }
  }
  for (const [producerId, lastOffset] of lastOffsets) {
    const producer = log.producers?.get(producerId);
    // Of a log that was cut it may be known what came last, and not where it lies.
    const lastSequence = lastSequences.get(producerId) ?? -1;
    if (producer?.batches.length === 0 && producer.lastSequence === lastSequence) continue;
    // Nor that, where more went than a log keeps: then it is what came before the oldest that was kept.
    if (mayLose && producer?.batches.length === 0 && producer.lastSequence > lastSequence) continue;
    // A later epoch had begun in what was cut, and is known in the place of those before it: it shuts them out.
    if (producer?.batches.length === 0 && producer.epoch > (lastEpochs.get(producerId) ?? -1)) continue;
    const known = producer?.batches.at(-1)?.lastOffset;
    assert(
      known === lastOffset,
      `${log.folder} takes ${known} for the last offset of producer ${producerId}, and it is ${lastOffset}`,
    );
  }
  for (const [producerId, { batches }] of log.producers ?? []) {
    // Whoever wrote what was deleted from the front is still known.
    const last = batches.at(-1);
    if (last === undefined || last.baseOffset < log.start || lastOffsets.has(producerId)) continue;
    assert(false, `${log.folder} knows of a batch of producer ${producerId} at ${last.baseOffset}, and there is none`);
  }
}
