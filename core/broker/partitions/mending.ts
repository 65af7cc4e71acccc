/**
 * Mends a replica of which bytes on the disk are damaged: it is fetched anew from another one, which leads meanwhile.
 *
 * Theory of operation. A checksum that does not hold below what was synced is no torn tail: the record was there, and
 * others have it. So the replica stands down before anything is touched. It tells the controller that it has lost its
 * log directory (KIP-858: the assignment LOST), which takes it out of the in-sync set, gives its lead to another, and
 * lets it neither lead nor come into sync. Until then nothing is cut, whatever the leader makes of its epochs, some of
 * which the damage may hide: it still counts as one that has all. Then its log is cut where the damage begins, and
 * fetched from the leader. Once it is sound, and has all that it had before and all that its leader calls committed, it
 * names its directory again (`control/directories.ts`) and comes into sync like any other. While it has less than it
 * had, the leader believes it to have more: that is why it may not come into sync before.
 *
 * Who is the only one in sync leads on, with the damaged offsets out of service: the controller does not let it go. It
 * stands down as soon as another has come into sync.
 *
 * Readers of damaged offsets are told to ask again, of whoever leads then, while another replica may bring them back:
 * one that is away, or has not fetched yet from this leader, may have all of them.
 *
 * A crash forgets where the damage was. The next life finds its replica called lost, and fetches all of it.
 */
import type { Env, Outbox } from '../../lib/world.ts';
import type { ReadOutcome } from '../../log/types.ts';
import { DirectoryId } from '../../metadata/describe-topics.ts';
import { type PartitionImage, topicById } from '../../metadata/image.ts';
import { ErrorCode } from '../../protocol/errors.ts';
import type { Follower } from '../../replication/in-sync.ts';
import { partitionName } from '../checkpoints/files.ts';
import { noteDirectory } from '../control/directories.ts';
import { say } from '../say.ts';
import type { Node, Partition } from '../state.ts';
import { cutDamaged } from './followers.ts';

/** A replica that is being mended. Plain data. */
export interface Mend {
  /**
   * standingDown: the controller has not let it go yet. cutting: it waits for a leader, and for the cut. fetching: what
   * was cut comes back. done: the controller is to hear of it.
   */
  stage: 'standingDown' | 'cutting' | 'fetching' | 'done';
  /** Where the damage is was forgotten: nothing is kept. */
  isWhole: boolean;
  /** Where its log ended when the controller had let it go. */
  end: number;
  /** The last epoch in which it followed before that: its leader believes it to have as much. -1 where it led. */
  leaderEpoch: number;
}

/** Goes on with a touched partition that is damaged, or is being mended. */
export function settleMend(node: Node, env: Env, partition: Partition, out: Outbox): void {
  const { log, topic, index, phase } = partition;
  const image = topicById(node.image, topic.id)?.partitions[index];
  if (log.state !== 'open' || phase !== 'log' || image === undefined || !image.replicas.includes(node.nodeId)) return;
  if (partition.mend === null) begin(node, env, partition, image, out);
  const { mend } = partition;
  if (mend === null) return;
  const isLost = image.directories[image.replicas.indexOf(node.nodeId)] === DirectoryId.LOST;
  if (mend.stage === 'standingDown') standDown(node, partition, mend, image, isLost);
  if (partition.followed !== null) partition.followed.standsDown = partition.mend?.stage === 'standingDown';
  if (mend.stage === 'fetching' && log.damaged.length > 0) mend.stage = 'cutting';
  if (mend.stage === 'cutting') cut(node, env, partition, mend, out);
  if (mend.stage === 'fetching' && isMended(partition, mend)) {
    env.reached('broker.mend.done');
    mend.stage = 'done';
    noteDirectory(node, partition, image);
    const fields = new Map<string, string | number>([['partition', partitionName(topic.name, index)]]);
    say(out, 'info', 'a damaged replica is whole again: what was damaged was fetched', fields);
  }
  if (mend.stage === 'done' && !isLost) partition.mend = null;
}

/** What a reader is told of damage: that it is for good only where no other replica can bring what is damaged back. */
export function toldOf(node: Node, partition: Partition, outcome: ReadError): ReadError {
  const image = topicById(node.image, partition.topic.id)?.partitions[partition.index];
  if (outcome.error !== ErrorCode.CORRUPT_MESSAGE || image === undefined) return outcome;
  if (!mayBeSpared(node, partition, image)) return outcome;
  return { kind: 'error', error: ErrorCode.KAFKA_STORAGE_ERROR };
}

type ReadError = Extract<ReadOutcome, { kind: 'error' }>;

/** Whether another replica is in sync, or may come into sync: it has what is damaged here, or has yet to say so. */
function mayBeSpared(node: Node, { log, leader }: Partition, image: PartitionImage): boolean {
  if (isSpared(node, image)) return true;
  // Metadata of old versions know no directories: this replica leads on, whoever else is there.
  if (image.directories.length === 0) return false;
  let damagedEnd = -1;
  for (const { end } of log.damaged) damagedEnd = Math.max(damagedEnd, end);
  return image.replicas.some((id) => id !== node.nodeId && !isStuck(leader.inSync?.followers.get(id), damagedEnd));
}

/** Whether a follower is known to wait for what is damaged: it can never catch up. */
function isStuck(follower: Follower | undefined, damagedEnd: number): boolean {
  return follower !== undefined && follower.fetchOffset >= 0 && follower.fetchOffset < damagedEnd;
}

/** Whether another replica is in sync, so that this one need not lead. */
function isSpared({ nodeId }: Node, { isr, directories }: PartitionImage): boolean {
  // Metadata of old versions know no directories, and so none that is lost.
  return directories.length > 0 && isr.some((id) => id !== nodeId);
}

function begin(node: Node, env: Env, partition: Partition, image: PartitionImage, out: Outbox): void {
  const [damage] = partition.log.damaged;
  if (damage === undefined || !isSpared(node, image)) return;
  env.reached('broker.mend.begun');
  partition.mend = { stage: 'standingDown', isWhole: false, end: -1, leaderEpoch: followedEpoch(node, image) };
  const fields = new Map<string, string | number>([
    ['partition', partitionName(partition.topic.name, partition.index)],
    ['offset', damage.start],
  ]);
  say(out, 'error', 'this replica is damaged: it stands down, and is fetched from this offset on', fields);
  noteDirectory(node, partition, image);
}

function standDown(node: Node, partition: Partition, mend: Mend, image: PartitionImage, isLost: boolean): void {
  if (isLost) {
    mend.stage = 'cutting';
    mend.end = partition.log.end;
  } else if (isSpared(node, image)) {
    mend.leaderEpoch = followedEpoch(node, image);
  } else {
    partition.mend = null;
    noteDirectory(node, partition, image);
  }
}

function followedEpoch({ nodeId }: Node, { leader, leaderEpoch }: PartitionImage): number {
  return leader === nodeId ? -1 : leaderEpoch;
}

/** The image of a new life says that this replica was lost, and nobody knows where any more. */
export function mendWhole(partition: Partition): void {
  partition.mend = { stage: 'cutting', isWhole: true, end: -1, leaderEpoch: -1 };
}

function cut(node: Node, env: Env, partition: Partition, mend: Mend, out: Outbox): void {
  const { log, followed } = partition;
  if (followed === null || partition.lowered !== null || log.truncation !== null) return;
  const { stage } = followed;
  if (stage === 'lowering' || stage === 'cutting') return;
  const offset = mend.isWhole ? log.start : (log.damaged[0]?.start ?? log.end);
  if (offset >= log.end) {
    mend.stage = 'fetching';
    mend.isWhole = false;
    return;
  }
  cutDamaged(node, env, partition, Math.max(offset, log.start), offset <= log.start, out);
}

function isMended({ log, followed, leaderEpoch }: Partition, mend: Mend): boolean {
  if (followed === null || followed.leaderHighWatermark < 0 || followed.stage === 'lowering') return false;
  // Another leader knows nothing of what this replica had.
  const hasAll = leaderEpoch !== mend.leaderEpoch || log.durable >= mend.end;
  return hasAll && log.durable >= followed.leaderHighWatermark;
}
