/**
 * Looks now and then for leaders that do not commit what they may: all that counts for a high watermark is known to
 * them, and it stands still. Whoever waits for an acknowledgement waits for nothing then (KAFKA-13091).
 *
 * A replica that is about to come into sync may hold a leader up, and so may a proposal: then nothing is said. Reads
 * states, and changes nothing.
 */
import type { Partition } from '../core/broker/state.ts';
import { wantedInSync } from '../core/replication/in-sync.ts';
import { complain, type History } from '../core/verify/history.ts';
import type { Actor } from './actor.ts';
import { nodeOf } from './nodes.ts';

/** By partition of a life of a node: since when it could commit more. Microseconds. */
export type Stalls = Map<object, number>;

/** So long it may take, while the node runs. Microseconds. */
const STALL_US_MAX = 1_000_000;

/** Looks at all nodes. */
export function lookForStalls(stalls: Stalls, history: History, nodes: readonly Actor[], nowUs: number): void {
  for (const actor of nodes) {
    const node = nodeOf(actor);
    if (node === null) continue;
    for (const topic of node.topics.byId.values()) {
      for (const partition of topic.partitions) {
        if (partition === null) continue;
        // A process that stands still can do nothing.
        if (actor.inbox !== null || !isStalled(partition)) {
          stalls.delete(partition);
          continue;
        }
        const sinceUs = stalls.get(partition) ?? nowUs;
        stalls.set(partition, sinceUs);
        if (nowUs - sinceUs <= STALL_US_MAX) continue;
        stalls.set(partition, Number.POSITIVE_INFINITY);
        const { highWatermark } = partition.leader;
        const sentence = `node ${node.nodeId} leads ${topic.name}-${partition.index} and stays at ${highWatermark}`;
        const why = 'though all in sync have told it that they have more';
        complain(history, { checker: 'stalled', promise: 6, partition: -1, sentence: `${sentence}, ${why}` });
      }
    }
  }
}

function isStalled({ leader, log }: Partition): boolean {
  const { inSync, highWatermark } = leader;
  if (leader.epoch < 0 || inSync === null || inSync.pending !== null || log.durable <= highWatermark) return false;
  if (inSync.isr.length < wantedInSync(inSync, leader.inSyncMin)) return false;
  for (const { id, fetchOffset } of inSync.followers.values()) {
    const isJoining = !inSync.isr.includes(id) && fetchOffset >= inSync.epochStart;
    if (isJoining || (inSync.isr.includes(id) && fetchOffset <= highWatermark)) return false;
  }
  return true;
}
