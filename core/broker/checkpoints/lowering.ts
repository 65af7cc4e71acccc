/**
 * Before the tail of a log is cut, the checkpoints must say no more of it than what will be left, durably: a start that
 * found less than they say would take it for damage (`core/log/truncate.ts`). So a cut waits here until each file has
 * been written once more, by a replacement that began after the partition was marked (`Partition.lowered`); as long as
 * that mark stands, no file says more. All cuts that are due share the next replacement of each file.
 *
 * The same way a start of a log that a crash has overtaken is corrected before anything is appended.
 *
 * A crash forgets who waits: the checkpoints are low already, or the log is as it was. Both are safe.
 */
import type { Env, Outbox } from '../../lib/world.ts';
import { cutLowered } from '../partitions/followers.ts';
import { settleRole } from '../partitions/partition-role.ts';
import type { Lowered, Node, Partition } from '../state.ts';
import { type CheckpointFile, wakeCheckpoints } from './checkpoints.ts';
import { HIGH_WATERMARKS, LOG_STARTS, RECOVERY_POINTS } from './files.ts';

/** A partition that waits for the files. */
interface Waiting {
  readonly lowered: Lowered;
  /** The replacement of each file, by its number, that will have been written late enough. */
  readonly needed: readonly { readonly file: CheckpointFile; readonly number: number }[];
}

/** The state. */
export interface Lowering {
  readonly waiting: Map<Partition, Waiting>;
  /** Where the checkpoints say that logs start which are not open yet. */
  readonly claimed: Map<Partition, number>;
}

/** Nobody waits. */
export function createLowering(): Lowering {
  return { waiting: new Map(), claimed: new Map() };
}

/** A log is being opened that is said to start at `offset`. */
export function noteClaimedStart(node: Node, partition: Partition, offset: number): void {
  if (offset > 0) node.checkpoints.lowering.claimed.set(partition, offset);
}

/** Where the checkpoints said that a log starts; asked once, when it is open. */
export function claimedStart(node: Node, partition: Partition): number {
  const { claimed } = node.checkpoints.lowering;
  const offset = claimed.get(partition) ?? 0;
  claimed.delete(partition);
  return offset;
}

/** The log is to be cut: `cutLowered` follows, unless the partition is not marked with `lowered` any more. */
export function lowerCheckpoints(node: Node, env: Env, partition: Partition, lowered: Lowered, out: Outbox): void {
  partition.lowered = lowered;
  wait(node, env, partition, lowered, [RECOVERY_POINTS, HIGH_WATERMARKS, LOG_STARTS], out);
}

/** The checkpoints claim another start of the log than it has: `settleRole` follows once they do not. */
export function correctStart(node: Node, env: Env, partition: Partition, out: Outbox): void {
  env.reached('broker.start_corrected');
  const lowered = { offset: Number.POSITIVE_INFINITY, isReset: false };
  partition.lowered = lowered;
  wait(node, env, partition, lowered, [LOG_STARTS], out);
}

function wait(
  node: Node,
  env: Env,
  partition: Partition,
  lowered: Lowered,
  names: readonly string[],
  out: Outbox,
): void {
  const { lowering, files } = node.checkpoints;
  const needed = names.flatMap((name) => {
    const file = files.get(name);
    return file === undefined ? [] : [{ file, number: file.begun + 1 }];
  });
  for (const { file } of needed) file.isRewriteDue = true;
  lowering.waiting.set(partition, { lowered, needed });
  wakeCheckpoints(node, env, out);
}

/** A file has been written, or could not be: then it is tried again for those who wait for it. */
export function settleLowered(node: Node, env: Env, out: Outbox): void {
  const { waiting } = node.checkpoints.lowering;
  for (const [partition, { lowered, needed }] of waiting) {
    const left = needed.filter(({ file, number }) => file.written < number);
    for (const { file, number } of left) {
      if (file.begun < number || file.writing === null) file.isRewriteDue = true;
    }
    if (left.length > 0) continue;
    waiting.delete(partition);
    if (partition.lowered !== lowered || partition.phase !== 'log') continue;
    if (partition.leaderEpoch >= 0) {
      cutLowered(node, env, partition, lowered, out);
    } else {
      partition.lowered = null;
      settleRole(node, env, partition, out);
    }
  }
}
