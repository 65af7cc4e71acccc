/** The checkpoint files of a test's node: what they say survives every crash. */
import { recoveryPoint } from '../../core/log/log.ts';
import type { LogFound } from '../../core/log/types.ts';
import { cutFollowed } from '../../core/replication/fetcher.ts';
import { type TestNode, watermarkOf } from './node.ts';

/** Lowers the checkpoints that a cut waits for. */
export function lowerOne(node: TestNode): boolean {
  const event = node.lowers.shift();
  if (event === undefined) return false;
  const { followed, offset, isReset } = event;
  const found = node.checkpoints[followed.index] as LogFound;
  node.checkpoints[followed.index] = {
    clean: false,
    recoveryPoint: isReset ? 0 : Math.min(found.recoveryPoint, offset),
    highWatermark: isReset ? 0 : Math.min(found.highWatermark, offset),
    logStartOffset: isReset ? offset : Math.min(found.logStartOffset, offset),
  };
  for (const fetcher of node.fetchers.values()) cutFollowed(fetcher, node.env, followed, offset, node.out);
  node.settle();
  return true;
}

/** Writes down what is durable and shown, but for partitions that are being cut. */
export function noteCheckpoints(node: TestNode): void {
  for (const part of node.parts) {
    const { followed, log } = part;
    if (!part.isOpen || log.truncation !== null || followed?.stage === 'lowering' || followed?.stage === 'cutting')
      continue;
    const highWatermark = watermarkOf(part);
    const logStartOffset = log.start;
    node.checkpoints[part.index] = { clean: false, recoveryPoint: recoveryPoint(log), highWatermark, logStartOffset };
  }
}
