/**
 * Looks now and then for leaders that wait for nothing: all that counts for a high watermark is known to them, and it
 * stands still (KAFKA-13091), or a set that they have proposed is asked for no more, and nobody has decided it
 * (KAFKA-14144). Whoever waits for an acknowledgement, or for a replica to come into sync, waits for ever then.
 *
 * A replica that is about to come into sync may hold a leader up, and so may a proposal that is on its way: then
 * nothing is said. Reads states, and changes nothing.
 */
import type { Node } from '../../core/broker/node.ts';
import type { Partition } from '../../core/broker/state.ts';
import { wantedInSync } from '../../core/replication/in-sync.ts';
import { type Complaint, complain, type History } from '../../core/verify/history.ts';
import type { Actor } from '../actor.ts';
import { monotonicMs } from '../clock.ts';
import { nodeOf } from '../nodes.ts';

/** By what a life of a node keeps of a partition, a proposal or the quorum: since when it could go on. Microseconds. */
export type Stalls = Map<object, number>;

/** So long a high watermark may stand still, while the node runs. Microseconds. */
const STALL_US_MAX = 1_000_000;
/**
 * So long a proposal may be left alone that nobody asks for any more, while its node knows all that is committed: the
 * controller may have told it of what was not committed yet, or never is. Microseconds.
 */
const UNDECIDED_US_MAX = 6_000_000;

/** Looks at all nodes. */
export function lookForStalls(stalls: Stalls, history: History, nodes: readonly Actor[], nowUs: number): void {
  let newest = -1;
  for (const actor of nodes) newest = Math.max(newest, nodeOf(actor)?.image.provenance.offset ?? -1);
  for (const actor of nodes) {
    const node = nodeOf(actor);
    if (node === null) continue;
    // A process that stands still can do nothing.
    const isRunning = actor.inbox === null;
    const isNewest = node.image.provenance.offset >= newest;
    for (const topic of node.topics.byId.values()) {
      for (const partition of topic.partitions) {
        if (partition === null) continue;
        const waits = isRunning && isStalled(partition, monotonicMs(actor.clock, nowUs));
        if (hasLasted(stalls, partition, waits, STALL_US_MAX, nowUs)) complain(history, stalled(node, partition));
        const proposal = partition.leader.inSync?.pending ?? null;
        if (proposal === null) continue;
        const isLeft = isRunning && isNewest && isLeftAlone(node, partition);
        if (hasLasted(stalls, proposal, isLeft, UNDECIDED_US_MAX, nowUs)) complain(history, undecided(node, partition));
      }
    }
  }
}

/** Whether something has been so for longer than it may; told once. */
export function hasLasted(stalls: Stalls, what: object, isSo: boolean, usMax: number, nowUs: number): boolean {
  if (!isSo) {
    stalls.delete(what);
    return false;
  }
  const sinceUs = stalls.get(what) ?? nowUs;
  stalls.set(what, sinceUs);
  if (nowUs - sinceUs <= usMax) return false;
  stalls.set(what, Number.POSITIVE_INFINITY);
  return true;
}

/** A leader waits though it need not. */
export function stalled({ nodeId }: Node, { topic, index, leader }: Partition): Complaint {
  const sentence = `node ${nodeId} leads ${topic.name}-${index} and stays at ${leader.highWatermark}`;
  const why = 'though all in sync have told it that they have more';
  return { checker: 'stalled', promise: 6, partition: -1, sentence: `${sentence}, ${why}` };
}

function undecided({ nodeId }: Node, { topic, index, leader }: Partition): Complaint {
  const isr = leader.inSync?.pending?.isr.join(', ') ?? '';
  const proposes = `node ${nodeId} has proposed [${isr}] for ${topic.name}-${index}`;
  const sentence = `${proposes}, and neither asks again nor gives up`;
  return { checker: 'undecided', promise: 6, partition: -1, sentence };
}

/** Whether a leader could commit more than it does, by what it has heard. `nowMs`: by the clock of its node. */
export function isStalled({ leader, log }: Partition, nowMs: number): boolean {
  const { inSync, highWatermark } = leader;
  if (leader.epoch < 0 || inSync === null || inSync.pending !== null || log.durable <= highWatermark) return false;
  if (inSync.isr.length < wantedInSync(inSync, leader.inSyncMin)) return false;
  for (const { id, fetchOffset, caughtUpMs } of inSync.followers.values()) {
    if (inSync.isr.includes(id)) {
      if (fetchOffset <= highWatermark) return false;
      continue;
    }
    // One that lags for long enough is not about to join.
    const isCaughtUp = fetchOffset >= log.end || nowMs - caughtUpMs <= inSync.lagMaxMs;
    if (fetchOffset >= inSync.epochStart && isCaughtUp) return false;
  }
  return true;
}

/** Whether what a leader has proposed is neither on its way to the controller nor about to be. */
function isLeftAlone({ inSync: { alterer } }: Node, { topic, index, leader }: Partition): boolean {
  const proposal = leader.inSync?.pending ?? null;
  if (proposal === null || alterer.waiting.get(`${topic.id}/${index}`)?.proposal === proposal) return false;
  return !alterer.sent.some((item) => item.proposal === proposal);
}
