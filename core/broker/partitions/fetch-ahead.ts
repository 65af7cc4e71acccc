/**
 * Who may read ahead: a reader that goes through files in sequence, while the node has memory to spare.
 *
 * What is read ahead is charged to the budget of answers, to AHEAD_SHARE of it at most and only while half of it is
 * free, so that it never takes the place of an answer. A crash forgets it.
 */
import type { Env, Outbox } from '../../lib/world.ts';
import { READ_BYTES_MAX } from '../../log/cold.ts';
import { aheadBytes, readAhead } from '../../log/log.ts';
import type { ReadOutcome } from '../../log/types.ts';
import type { Node, Partition } from '../state.ts';
import type { FetchSlot } from './fetch-sessions.ts';
import { highWatermarkOf } from './partition-role.ts';

/** The share of tidemark.responses.max.bytes that may be spent on reading ahead. */
const AHEAD_SHARE = 1 / 4;

/** A range to read ahead once the step has sent what it has to send: an answer must not wait for it. */
export interface WantedAhead {
  readonly partition: Partition;
  readonly offset: number;
  readonly sizeBytesMax: number;
}

/** A reader has got `outcome`: the range that it asks next is to be read while it works, if it is one that goes on. */
export function readOn(node: Node, partition: Partition, slot: FetchSlot, outcome: ReadOutcome): void {
  if (outcome.kind !== 'batches' || outcome.goesOnAt === undefined) return;
  const { fetch, subscription } = slot;
  if (fetch.request.connection === null || node.stage !== 'serving') return;
  const sizeBytesMax = Math.min(subscription.asked.partitionMaxBytes, fetch.maxBytes, READ_BYTES_MAX);
  node.wantedAheads.push({ partition, offset: outcome.goesOnAt, sizeBytesMax });
}

/** Begins to read a range, if there is memory to spare. */
export function beginAhead(node: Node, env: Env, wanted: WantedAhead, out: Outbox): void {
  const { partition, offset, sizeBytesMax } = wanted;
  const budgetBytes = node.config['tidemark.responses.max.bytes'];
  const spentBytes = node.responseBytes + node.readingBytes + node.aheadBytes;
  if (node.aheadBytes + sizeBytesMax > budgetBytes * AHEAD_SHARE || spentBytes > budgetBytes / 2) return;
  if (partition.phase !== 'log') return;
  readAhead(partition.log, env, { offset, sizeBytesMax, upTo: highWatermarkOf(partition) }, out);
  recountAhead(node, partition);
}

/** Counts anew what the partition's log has read ahead. */
export function recountAhead(node: Node, partition: Partition): void {
  const sizeBytes = aheadBytes(partition.log);
  node.aheadBytes += sizeBytes - partition.aheadBytes;
  partition.aheadBytes = sizeBytes;
}
