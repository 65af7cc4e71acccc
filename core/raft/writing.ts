/**
 * Writing a snapshot: beside its place, piece by piece, synced, then given its name, and the name made durable.
 *
 * The owner is asked for records by the event 'snapshotWants' and hands them in with `writeSnapshot` until the last. A
 * crash leaves a '.part' that the next start removes, or the whole snapshot. A full disk gives it up; the log goes on.
 */
import { assert } from '../lib/assert.ts';
import { nextFile } from '../lib/ids.ts';
import type { DiskInput, Env, Outbox } from '../lib/world.ts';
import { rollLog } from '../log/log.ts';
import { askDisk, askTidy, failRaft, failureText, isDeviceFailure } from './asks.ts';
import { snapshotFoot, snapshotHead, valuesBatch } from './batches.ts';
import { checkpointName, partName, type SnapshotId } from './names.ts';
import { addSnapshot, postponeSnapshot } from './snapshots.ts';
import type { Raft, RaftEvent, Writing } from './state.ts';
import { votersBelow } from './voter-history.ts';

/**
 * Begins a snapshot of what all records below `id.endOffset` come to; `id.epoch` and `lastTimestampMs` (ms since 1970)
 * are those of the last of them. False where there is nothing new to write: the one on the disk ends there.
 */
export function beginSnapshot(raft: Raft, env: Env, id: SnapshotId, lastTimestampMs: number, out: Outbox): boolean {
  assert(raft.writing === null, 'one snapshot at a time');
  assert(id.endOffset <= raft.highWatermark, 'a snapshot holds what is committed');
  const newest = raft.snapshots[raft.snapshots.length - 1];
  if (id.endOffset <= (newest?.endOffset ?? 0)) {
    postponeSnapshot(raft, env);
    raft.unsnapshottedBytes = 0;
    return false;
  }
  const file = nextFile(raft.ids);
  const fresh = { stage: 'open', pending: 1, offset: 0, isLast: false } as const;
  raft.writing = { id, file, ...fresh, timestampMs: env.wallMs, lastTimestampMs };
  raft.unsnapshottedBytes = 0;
  // What is in the log by now can go once there are two newer snapshots.
  rollLog(raft.log, env, out);
  const path = `${raft.folder}/${partName(id)}`;
  askDisk(raft, { kind: 'writing', file }, { kind: 'open', file, path, create: true }, out);
  return true;
}

/** Hands in the values of the next records, perhaps none, after 'snapshotWants'. */
export function writeSnapshot(raft: Raft, values: readonly Uint8Array[], isLast: boolean, out: Outbox): void {
  const { writing } = raft;
  if (writing === null) return;
  assert(writing.stage === 'records', 'records are handed in when they are wanted');
  const parts: Uint8Array[] = [];
  if (writing.offset === 0) addPart(writing, parts, headOf(raft, writing));
  if (values.length > 0)
    addPart(writing, parts, { bytes: valuesBatch(values, placeOf(writing)), count: values.length });
  if (isLast) addPart(writing, parts, { bytes: snapshotFoot(placeOf(writing)), count: 1 });
  writing.isLast = isLast;
  writing.stage = 'append';
  ask(raft, writing, { kind: 'append', file: writing.file, parts }, out);
}

function addPart(writing: Writing, parts: Uint8Array[], part: { bytes: Uint8Array; count: number }): void {
  parts.push(part.bytes);
  writing.offset += part.count;
}

function headOf(raft: Raft, writing: Writing): { bytes: Uint8Array; count: number } {
  // Of what stands behind it the snapshot must know nothing: it may never be committed.
  const quorum = votersBelow(raft, writing.id.endOffset);
  const voters = quorum.kraftVersion > 0 ? quorum.voters : null;
  const bytes = snapshotHead(writing.lastTimestampMs, voters, placeOf(writing));
  return { bytes, count: voters === null ? 1 : 3 };
}

function placeOf(writing: Writing): { baseOffset: number; leaderEpoch: number; timestampMs: number } {
  return { baseOffset: writing.offset, leaderEpoch: writing.id.epoch, timestampMs: writing.timestampMs };
}

function ask(raft: Raft, writing: Writing, effect: Parameters<typeof askDisk>[2], out: Outbox): void {
  writing.pending += 1;
  askDisk(raft, { kind: 'writing', file: writing.file }, effect, out);
}

/** An answer for the snapshot's file. */
export function takeWritten(
  raft: Raft,
  env: Env,
  file: number,
  input: DiskInput,
  out: Outbox,
  events: RaftEvent[],
): void {
  const { writing } = raft;
  if (writing === null || writing.file !== file) return;
  if (isDeviceFailure(input)) {
    failRaft(raft, failureText(raft, input), events);
    return;
  }
  if (input.kind === 'diskFailed') {
    env.reached('raft.snapshot.given_up');
    giveUp(raft, env, failureText(raft, input), out, events);
    return;
  }
  writing.pending -= 1;
  if (writing.pending > 0) return;
  switch (writing.stage) {
    case 'open':
      if (input.kind === 'opened' && input.sizeBytes > 0) {
        writing.stage = 'truncate';
        ask(raft, writing, { kind: 'truncate', file, size: 0 }, out);
        break;
      }
      wantRecords(writing, events);
      break;
    case 'truncate':
      wantRecords(writing, events);
      break;
    case 'append':
      if (!writing.isLast) wantRecords(writing, events);
      else sync(raft, writing, out);
      break;
    case 'sync':
      name(raft, writing, out);
      break;
    case 'name':
      finish(raft, env, writing, out, events);
      break;
    default:
      break; // Nothing is awaited while records are.
  }
}

function wantRecords(writing: Writing, events: RaftEvent[]): void {
  writing.stage = 'records';
  events.push({ kind: 'snapshotWants' });
}

function sync(raft: Raft, writing: Writing, out: Outbox): void {
  writing.stage = 'sync';
  ask(raft, writing, { kind: 'sync', file: writing.file }, out);
}

function name(raft: Raft, writing: Writing, out: Outbox): void {
  const { id, file } = writing;
  const { folder } = raft;
  writing.stage = 'name';
  askTidy(raft, { kind: 'closeFile', file }, out);
  ask(raft, writing, { kind: 'rename', from: `${folder}/${partName(id)}`, to: `${folder}/${checkpointName(id)}` }, out);
  ask(raft, writing, { kind: 'syncFolder', path: folder }, out);
}

function finish(raft: Raft, env: Env, writing: Writing, out: Outbox, events: RaftEvent[]): void {
  raft.writing = null;
  env.reached('raft.snapshot.written');
  addSnapshot(raft, env, writing.id, out);
  events.push({ kind: 'snapshotEnded', isDone: true });
}

/** Gives up the snapshot being written, if there is one: the node stops, or the owner has nothing more to give. */
export function abandonSnapshot(raft: Raft, env: Env, out: Outbox, events: RaftEvent[]): void {
  if (raft.writing !== null) giveUp(raft, env, 'it is not wanted any more', out, events);
}

function giveUp(raft: Raft, env: Env, why: string, out: Outbox, events: RaftEvent[]): void {
  const { writing } = raft;
  if (writing === null) return;
  raft.writing = null;
  // Once it may have its name, it is left alone: it is whole.
  if (writing.stage !== 'name') {
    askTidy(raft, { kind: 'closeFile', file: writing.file }, out);
    askTidy(raft, { kind: 'remove', path: `${raft.folder}/${partName(writing.id)}` }, out);
  }
  const fields = new Map<string, string | number>([
    ['endOffset', writing.id.endOffset],
    ['why', why],
  ]);
  out.push({ kind: 'say', level: 'warn', text: 'a snapshot of the metadata log was not finished', fields });
  postponeSnapshot(raft, env);
  events.push({ kind: 'snapshotEnded', isDone: false });
}
