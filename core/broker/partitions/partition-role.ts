/**
 * What this node does with a partition that it keeps: lead it, follow whoever does, or neither, as the committed image
 * says. A change of the leader epoch changes the role; a later word about the same epoch only tells a leader of its
 * in-sync set.
 *
 * The high watermark goes with the partition from role to role. A cut of the log that is under way when the role
 * changes is given up, unless it has gone too far: then a lead begins when the log says that the cut is done.
 *
 * A crash forgets the role; the image and the checkpoints of the next life say it again.
 */
import type { Env, Outbox } from '../../lib/world.ts';
import { keepTail } from '../../log/log.ts';
import type { LogEvent } from '../../log/types.ts';
import { type PartitionImage, topicById } from '../../metadata/image.ts';
import { followEpoch } from '../../replication/fetcher.ts';
import { loseLead, takeLead, takePartitionState } from '../../replication/leader.ts';
import { partitionName } from '../checkpoints/files.ts';
import { claimedStart, correctStart } from '../checkpoints/lowering.ts';
import { noteDirectory } from '../control/directories.ts';
import { dropHost, leadGroups } from '../groups/hosting.ts';
import { say } from '../say.ts';
import type { Node, Partition } from '../state.ts';
import { markMoved } from './fetch.ts';
import { beginFollowing, endFollowing, takeFollowerEvent, touchFetcher } from './followers.ts';
import { touch } from './partitions.ts';
import { noteThrottled } from './throttles.ts';

/** Up to where this node shows a partition to readers. */
export function highWatermarkOf({ followed, leader }: Partition): number {
  return followed === null ? leader.highWatermark : followed.highWatermark;
}

/** What the image says of a partition; undefined when its topic is gone. */
function imageOf(node: Node, { topic, index }: Partition): PartitionImage | undefined {
  return topicById(node.image, topic.id)?.partitions[index];
}

/**
 * The log of a partition is open: what its checkpoints say is held against it. A start that a crash has overtaken is
 * corrected, durably, before the partition gets a role.
 */
export function takeFound(node: Node, env: Env, partition: Partition, out: Outbox): void {
  const { leader, log } = partition;
  leader.highWatermark = Math.min(leader.highWatermark, log.durable);
  const claimed = claimedStart(node, partition);
  const image = imageOf(node, partition);
  if (claimed === null || claimed.logStartOffset <= log.start) return;
  if (image === undefined || image.replicas.length < 2) return;
  correctStart(node, env, partition, claimed.wasReset === true ? 0 : Number.POSITIVE_INFINITY, out);
}

/** Takes the role that the image says. */
export function settleRole(node: Node, env: Env, partition: Partition, out: Outbox): void {
  const { log, leader } = partition;
  if (log.state !== 'open' || partition.phase !== 'log') return;
  if (partition.lowered?.kind === 'correction') return;
  const image = imageOf(node, partition);
  if (image === undefined) return;
  touch(node, partition);
  noteDirectory(node, partition, image);
  if (image.leaderEpoch <= partition.leaderEpoch) {
    takePartitionState(leader, env, image, node.finished);
    noteThrottled(node, env, partition, image);
    return;
  }
  if (isResetGivenUp(node, env, partition, image, out)) return;
  partition.leaderEpoch = image.leaderEpoch;
  markMoved(node, partition);
  if (image.leader === node.nodeId) beginLead(node, env, partition, image, out);
  else follow(node, partition, image);
  noteThrottled(node, env, partition, image);
}

/**
 * Whether a new epoch ends a reset of which the checkpoints may tell already: then they claim a start that the log does
 * not have, and it gets no role before they do not.
 */
function isResetGivenUp(node: Node, env: Env, partition: Partition, image: PartitionImage, out: Outbox): boolean {
  const { lowered, log } = partition;
  if (lowered?.kind !== 'reset' || !lowered.isStartDue) return false;
  if (image.leader === node.nodeId ? !keepTail(log) : log.truncation !== null) return false;
  env.reached('broker.reset_given_up');
  endFollowing(node, partition);
  correctStart(node, env, partition, 0, out);
  return true;
}

/** The partition leaves this node: it is not followed any more, and not led. */
export function leaveRole(node: Node, partition: Partition): void {
  if (partition.host !== null) dropHost(node, partition.host);
  endFollowing(node, partition);
  node.inSync.lacking.delete(partition);
  node.inSync.directories.misplaced.delete(partition);
}

function beginLead(node: Node, env: Env, partition: Partition, image: PartitionImage, out: Outbox): void {
  const { leader, log } = partition;
  endFollowing(node, partition);
  partition.wantsLead = !keepTail(log);
  if (partition.wantsLead) return;
  partition.lowered = null;
  partition.appendedBytes = 0;
  partition.toldEnd = log.durable;
  const lead = {
    self: node.nodeId,
    state: image,
    lagMaxMs: node.config['replica.lag.time.max.ms'],
    nowMs: env.nowMs,
  };
  if (!takeLead(leader, lead)) {
    const fields = new Map([['partition', partitionName(partition.topic.name, partition.index)]]);
    say(out, 'error', 'a log claims leader epochs that were never given; they are forgotten', fields);
  }
  leadGroups(node, env, partition, out);
}

function follow(node: Node, partition: Partition, image: PartitionImage): void {
  const { leader, followed, fetcher, log } = partition;
  partition.wantsLead = false;
  if (leader.epoch >= 0) loseLead(leader, node.finished);
  if (partition.host !== null) dropHost(node, partition.host);
  if (followed !== null && fetcher !== null && fetcher.leaderId === image.leader) {
    followEpoch(fetcher, followed, image.leaderEpoch);
    touchFetcher(node, fetcher);
  } else {
    endFollowing(node, partition);
    if (image.leader >= 0) beginFollowing(node, partition, image);
  }
  if (log.truncation === null) partition.lowered = null;
}

/** What the log has said, for its role. */
export function takeRoleEvent(node: Node, env: Env, partition: Partition, event: LogEvent, out: Outbox): void {
  if (partition.followed !== null) takeFollowerEvent(node, env, partition, event, out);
  const { leader, log, followed } = partition;
  const isCutOff = event.kind === 'cutRefused' && followed?.stage !== 'lowering';
  if (event.kind === 'truncated' || isCutOff) partition.lowered = null;
  if (event.kind !== 'truncated') return;
  leader.highWatermark = Math.min(leader.highWatermark, log.durable);
  if (followed !== null) followed.highWatermark = Math.min(followed.highWatermark, log.durable);
  if (!partition.wantsLead) return;
  const image = imageOf(node, partition);
  if (image !== undefined && image.leader === node.nodeId) beginLead(node, env, partition, image, out);
}
