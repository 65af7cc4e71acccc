/**
 * Before the tail of a log is cut, the checkpoints must say no more of it than what will be left, durably: a start that
 * found less than they say would take it for damage (`core/log/truncate.ts`). So a cut waits here until each file has
 * been written once more, by a replacement that began after the partition was marked (`Partition.lowered`); as long as
 * that mark stands, no file says more. All cuts that are due share the next replacement of each file.
 *
 * Where nothing of a log is kept the file of starts comes last, when both others say 0. A high watermark of 0 beside a
 * start above it is then the mark of such a cut, because no other start is written down before its high watermark
 * (`linesFor`): whoever finds it with the log as it was knows of the crash in between, and that nothing is wrong.
 *
 * The same way a start that the log does not have is corrected before anything is appended: one that a crash has
 * overtaken, or one of a cut that was given up. Records behind the end of the log as it is would make it be believed.
 *
 * A crash forgets who waits: the checkpoints are low already, or the log is as it was. Both are safe.
 */
import type { Env, Outbox } from '../../lib/world.ts';
import type { LogFound } from '../../log/types.ts';
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
  /** What the checkpoints say of logs that are not open yet, where they say that one starts above 0. */
  readonly claimed: Map<Partition, LogFound>;
}

/** Nobody waits. */
export function createLowering(): Lowering {
  return { waiting: new Map(), claimed: new Map() };
}

/** A log is being opened of which the checkpoints say `found`. */
export function noteClaimedStart(node: Node, partition: Partition, found: LogFound): void {
  if (found.logStartOffset > 0) node.checkpoints.lowering.claimed.set(partition, found);
}

/** What the checkpoints said of a log, if that it starts above 0; asked once, when it is open. */
export function claimedStart(node: Node, partition: Partition): LogFound | null {
  const { claimed } = node.checkpoints.lowering;
  const found = claimed.get(partition) ?? null;
  claimed.delete(partition);
  return found;
}

/** The log is to be cut: `cutLowered` follows, unless the partition is not marked with `lowered` any more. */
export function lowerCheckpoints(node: Node, env: Env, partition: Partition, lowered: Lowered, out: Outbox): void {
  partition.lowered = lowered;
  const others = [RECOVERY_POINTS, HIGH_WATERMARKS];
  wait(node, env, partition, lowered, lowered.kind === 'reset' ? others : [...others, LOG_STARTS], out);
}

/**
 * The checkpoints claim another start of the log than it has: `settleRole` follows once they do not. Until then they
 * say nothing above `most` of how far it reaches.
 */
export function correctStart(node: Node, env: Env, partition: Partition, most: number, out: Outbox): void {
  env.reached('broker.start_corrected');
  const lowered = { kind: 'correction', most } as const;
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
  for (const [partition, { lowered, needed }] of [...waiting]) {
    const left = needed.filter(({ file, number }) => file.written < number);
    for (const { file, number } of left) {
      if (file.begun < number || file.writing === null) file.isRewriteDue = true;
    }
    if (left.length > 0) continue;
    waiting.delete(partition);
    if (partition.lowered !== lowered || partition.phase !== 'log') continue;
    if (lowered.kind === 'correction') {
      partition.lowered = null;
      settleRole(node, env, partition, out);
    } else if (lowered.kind === 'reset' && !lowered.isStartDue) {
      lowered.isStartDue = true;
      wait(node, env, partition, lowered, [LOG_STARTS], out);
    } else {
      cutLowered(node, env, partition, lowered.offset, out);
    }
  }
}
