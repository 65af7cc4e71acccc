/**
 * From a folder to a member that may stand for election: what lies there is listed, the vote of earlier lives is
 * loaded, the newest sound snapshot is found, the log is opened behind it, and its control batches say who votes.
 *
 * A crash during all this leaves the folder as it was, but for leftovers that are gone. A snapshot that does not hold
 * together is passed over for the one before; the log reaches back to that one. What can be mended by no snapshot ends
 * the node with a sentence: a voter that has lost what it voted for must not vote.
 */
import { nextFile } from '../lib/ids.ts';
import { encodeUtf8 } from '../lib/utf8.ts';
import type { DiskInput, Env, FolderEntry, Outbox } from '../lib/world.ts';
import { openLog } from '../log/log.ts';
import { askDisk, askTidy, failRaft, failureText, isDeviceFailure } from './asks.ts';
import { type CheckpointReader, createCheckpointReader, isWhole, takeCheckpoint } from './checkpoint-read.ts';
import * as names from './names.ts';
import { decodeQuorumState, NO_QUORUM_STATE } from './quorum-state.ts';
import { keptFrom } from './snapshots.ts';
import type { Opening, Raft, RaftEvent, RaftFound } from './state.ts';

/** Begins: events 'leading' or 'failed' follow. */
export function beginOpening(raft: Raft, found: RaftFound, out: Outbox): void {
  raft.stage = 'opening';
  raft.opening = { found, phase: 'list', pending: 1, quorumState: null, logBase: Infinity, offset: 0, ticket: -1 };
  askDisk(raft, { kind: 'list' }, { kind: 'list', path: raft.folder }, out);
}

/** The folder's names, or its absence. */
export function takeListed(raft: Raft, env: Env, input: DiskInput, out: Outbox, events: RaftEvent[]): void {
  const opening = raft.opening;
  if (opening === null) return;
  if (input.kind === 'listed') {
    sortFiles(raft, env, input.entries, out);
  } else if (input.kind !== 'diskFailed' || input.error !== 'notFound') {
    failRaft(raft, failureText(raft, input), events);
    return;
  }
  if (input.kind !== 'listed') askTidy(raft, { kind: 'makeFolder', path: raft.folder }, out);
  opening.phase = 'files';
  opening.pending = 1;
  const path = `${raft.folder}/${names.QUORUM_STATE_NAME}`;
  askDisk(raft, { kind: 'quorumState' }, { kind: 'load', path }, out);
  const has = input.kind === 'listed' && input.entries.some(({ name }) => name === names.PARTITION_METADATA_NAME);
  if (has) return;
  opening.pending += 1;
  const metadata = `${raft.folder}/${names.PARTITION_METADATA_NAME}`;
  const bytes = encodeUtf8(`version: 0\ntopic_id: ${names.METADATA_TOPIC_ID}`);
  askDisk(raft, { kind: 'files' }, { kind: 'replace', path: metadata, bytes }, out);
}

function sortFiles(raft: Raft, env: Env, entries: readonly FolderEntry[], out: Outbox): void {
  for (const { name } of entries) {
    const base = names.logBaseOf(name);
    if (base >= 0 && raft.opening !== null) raft.opening.logBase = Math.min(raft.opening.logBase, base);
    const id = names.checkpointOf(name);
    if (id !== null) raft.snapshots.push(id);
    if (!names.isLeftover(name)) continue;
    env.reached('raft.opening.leftover');
    askTidy(raft, { kind: 'remove', path: `${raft.folder}/${name}` }, out);
  }
  raft.snapshots.sort((a, b) => a.endOffset - b.endOffset || a.epoch - b.epoch);
}

/** The vote of earlier lives, or that there is none. */
export function takeQuorumState(raft: Raft, env: Env, input: DiskInput, out: Outbox, events: RaftEvent[]): void {
  const opening = raft.opening;
  if (opening === null) return;
  if (input.kind === 'loaded') {
    const state = decodeQuorumState(input.bytes);
    if (typeof state === 'string') {
      failRaft(raft, `${state} A voter that has lost its memory must not vote: ${raft.folder}.`, events);
      return;
    }
    opening.quorumState = state;
  } else if (input.kind === 'diskFailed' && input.error === 'notFound') {
    opening.quorumState = NO_QUORUM_STATE;
  } else {
    failRaft(raft, failureText(raft, input), events);
    return;
  }
  raft.epoch = opening.quorumState.leaderEpoch;
  takeFile(raft, env, input, out, events);
}

/** One of the small files is there. */
export function takeFile(raft: Raft, env: Env, input: DiskInput, out: Outbox, events: RaftEvent[]): void {
  const opening = raft.opening;
  if (opening === null) return;
  if (isDeviceFailure(input)) {
    failRaft(raft, failureText(raft, input), events);
    return;
  }
  opening.pending -= 1;
  if (opening.pending > 0) return;
  opening.phase = 'checkpoint';
  beginCheckpoint(raft, env, out, events);
}

/** Opens the newest snapshot that is still believed in; the log when there is none. */
function beginCheckpoint(raft: Raft, env: Env, out: Outbox, events: RaftEvent[]): void {
  const newest = raft.snapshots[raft.snapshots.length - 1];
  if (newest === undefined) {
    beginLog(raft, env, null, out, events);
    return;
  }
  const file = nextFile(raft.ids);
  raft.reading = { reader: createCheckpointReader(newest, file), offset: 0, ticket: -1, isAsked: true, pass: 0 };
  const path = `${raft.folder}/${names.checkpointName(newest)}`;
  askDisk(raft, { kind: 'checkpoint', file }, { kind: 'open', file, path, create: false }, out);
}

/** A piece of the snapshot that is being looked through. */
export function takeOpeningCheckpoint(
  raft: Raft,
  env: Env,
  reader: CheckpointReader,
  input: DiskInput,
  out: Outbox,
  events: RaftEvent[],
): void {
  const { file } = reader;
  if (isDeviceFailure(input)) {
    failRaft(raft, failureText(raft, input), events);
    return;
  }
  if (input.kind === 'opened') reader.sizeBytes = input.sizeBytes;
  const isSound = input.kind === 'opened' ? input.sizeBytes > 0 : takesPiece(reader, env, input);
  if (isSound && !isWhole(reader)) {
    const length = Math.min(reader.wantedBytes, reader.sizeBytes - reader.position);
    askDisk(raft, { kind: 'checkpoint', file }, { kind: 'read', file, position: reader.position, length }, out);
    return;
  }
  raft.reading = null;
  askTidy(raft, { kind: 'closeFile', file }, out);
  if (isSound) {
    beginLog(raft, env, reader, out, events);
    return;
  }
  env.reached('raft.opening.bad_snapshot');
  const fields = new Map([['file', `${raft.folder}/${names.checkpointName(reader.id)}`]]);
  const text = 'a snapshot of the metadata log does not hold together; the one before it is used';
  out.push({ kind: 'say', level: 'error', text, fields });
  raft.badSnapshots.push(reader.id);
  raft.snapshots.pop();
  beginCheckpoint(raft, env, out, events);
}

function takesPiece(reader: CheckpointReader, env: Env, input: DiskInput): boolean {
  return input.kind === 'read' && takeCheckpoint(reader, env, input.bytes) !== null;
}

/** Opens the log behind the snapshot that was read; null when there is none. */
function beginLog(raft: Raft, env: Env, reader: CheckpointReader | null, out: Outbox, events: RaftEvent[]): void {
  const opening = raft.opening;
  if (opening === null) return;
  opening.phase = 'log';
  const id = reader === null ? names.BOOTSTRAP_ID : reader.id;
  if (reader?.head?.voters != null) {
    raft.quorum = { kraftVersion: reader.head.kraftVersion, voters: reader.head.voters };
    raft.areVotersLogged = id.endOffset > 0;
  }
  raft.epoch = Math.max(raft.epoch, id.epoch);
  opening.offset = id.endOffset;
  if (id.endOffset > 0) env.reached('raft.opening.snapshot');
  if (opening.logBase > id.endOffset && opening.logBase < Infinity) {
    if (wasSynced(raft, opening, opening.logBase)) {
      failRaft(raft, gapText(raft, opening.logBase, id.endOffset), events);
      return;
    }
    env.reached('raft.opening.unnamed_head');
  }
  const oldest = keptFrom(raft.snapshots);
  // What a snapshot holds was committed, hence synced; so was what one held that is damaged now.
  const ends = [id, ...raft.badSnapshots].map(({ endOffset }) => endOffset);
  const recoveryPoint = Math.max(opening.found.recoveryPoint, ...ends);
  const { clean } = opening.found;
  const found = { clean, recoveryPoint, highWatermark: recoveryPoint, logStartOffset: oldest };
  openLog(raft.log, env, { ...found, snapshotEnd: id.endOffset }, out);
}

/**
 * Whether a log that begins above the newest sound snapshot was ever synced there. If not, a power loss took the name
 * of the segment before: nothing of it was promised, and the log removes what follows nothing. A log is cut only below
 * a snapshot whose name is durable, so what is missing below a synced one was held by one that is damaged now, or gone.
 * A disk that was empty has no snapshot yet: one that was never synced there is all that tells it from those.
 */
function wasSynced(raft: Raft, { found }: Opening, base: number): boolean {
  return found.recoveryPoint >= base || raft.badSnapshots.some(({ endOffset }) => endOffset >= base);
}

function gapText(raft: Raft, base: number, endOffset: number): string {
  return (
    `the metadata log in ${raft.folder} begins at offset ${base}, but the newest snapshot that can be read ends at ` +
    `${endOffset}: bring back the folder from a copy`
  );
}
