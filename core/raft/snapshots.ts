/**
 * Which snapshots are kept, when the next is due, and how far the log is cut under them.
 *
 * The two newest are kept, and the log from the older one's end on: if the newest is found damaged, nothing is lost.
 * Removing is not made durable: what a power loss brings back is removed again at the next start.
 */
import { assert } from '../lib/assert.ts';
import type { Env, Outbox } from '../lib/world.ts';
import { deleteBelow } from '../log/log.ts';
import type { LogEvent } from '../log/types.ts';
import { askTidy } from './asks.ts';
import { checkpointName, type SnapshotId } from './names.ts';
import type { Raft } from './state.ts';
import { forgetVoters } from './voter-history.ts';

/** Snapshots that are kept. */
export const SNAPSHOTS_KEPT = 2;
/** After a snapshot that could not be written, the next try waits so long, ms. */
const RETRY_MS = 60_000;

/**
 * Where the log must begin at the latest: the end of the older of the two snapshots that are kept. While there is only
 * one, because what came before it was damaged, the log stays: it alone stands for that one.
 */
export function keptFrom(snapshots: readonly SnapshotId[]): number {
  return snapshots[snapshots.length - SNAPSHOTS_KEPT]?.endOffset ?? 0;
}

/**
 * Removes what earlier lives left behind: snapshots that are superseded, and the log below the oldest that is kept.
 * For the owner to ask for once it has found that it can serve what is here: before that, a foreign directory is left
 * as it is.
 */
export function tidySnapshots(raft: Raft, out: Outbox): void {
  pruneSnapshots(raft, out);
  cutLog(raft, out);
}

function cutLog(raft: Raft, out: Outbox): void {
  if (raft.log.state !== 'open') return;
  const logEvents: LogEvent[] = [];
  deleteBelow(raft.log, Math.min(keptFrom(raft.snapshots), raft.log.durable), out, logEvents);
  assert(logEvents.length === 0, 'nobody reads below the newest snapshot but one');
}

/** Removes the snapshots beyond those that are kept, and those that are of no use. */
function pruneSnapshots(raft: Raft, out: Outbox): void {
  const newest = raft.snapshots[raft.snapshots.length - 1];
  const isSuperseded = (id: SnapshotId): boolean => newest !== undefined && id.endOffset < newest.endOffset;
  const gone = raft.snapshots.splice(0, Math.max(0, raft.snapshots.length - SNAPSHOTS_KEPT));
  gone.push(...raft.badSnapshots.filter(isSuperseded));
  raft.badSnapshots = raft.badSnapshots.filter((id) => !isSuperseded(id));
  for (const id of gone) askTidy(raft, { kind: 'remove', path: `${raft.folder}/${checkpointName(id)}` }, out);
}

/** A new snapshot is durable: older ones and the log below them may go. */
export function addSnapshot(raft: Raft, env: Env, id: SnapshotId, out: Outbox): void {
  raft.snapshots.push(id);
  forgetVoters(raft, id.endOffset);
  // One that was damaged has been written anew under its own name: it must not go with the damaged ones.
  raft.badSnapshots = raft.badSnapshots.filter((bad) => bad.endOffset !== id.endOffset || bad.epoch !== id.epoch);
  const segmentsBefore = raft.log.segments.length;
  tidySnapshots(raft, out);
  if (raft.log.segments.length < segmentsBefore) env.reached('raft.log.cut');
  scheduleSnapshot(raft, env);
}

/** The time-out of the next snapshot begins. */
export function scheduleSnapshot(raft: Raft, env: Env): void {
  raft.snapshotAtMs = env.nowMs + raft.config.snapshotIntervalMs;
}

/** A snapshot could not be written: tries again later. */
export function postponeSnapshot(raft: Raft, env: Env): void {
  raft.snapshotAtMs = env.nowMs + Math.min(RETRY_MS, raft.config.snapshotIntervalMs);
  // Bytes count anew, lest a full disk be tried at every append.
  raft.unsnapshottedBytes = Math.min(raft.unsnapshottedBytes, 1);
}

/** Whether the owner should begin a snapshot of what is committed. */
export function isSnapshotDue(raft: Raft, env: Env): boolean {
  if (raft.writing !== null || raft.unsnapshottedBytes === 0 || !mayWrite(raft)) return false;
  return raft.unsnapshottedBytes >= raft.config.snapshotBytes || env.nowMs >= raft.snapshotAtMs;
}

/** Whatever the role, what is committed may be kept as a snapshot; but not while another's is being fetched. */
function mayWrite(raft: Raft): boolean {
  return raft.highWatermark >= 0 && raft.installing === null && (raft.follow?.download ?? null) === null;
}

/** When a snapshot will be due if nothing more is appended, in `env.nowMs`; Infinity when none will. */
export function snapshotDeadlineMs(raft: Raft): number {
  const isChanged = raft.unsnapshottedBytes > 0 && raft.writing === null && mayWrite(raft);
  return isChanged ? raft.snapshotAtMs : Infinity;
}
