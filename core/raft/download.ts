/**
 * Fetching a snapshot from the leader (FetchSnapshot), and putting it in the place of the log.
 *
 * It is written beside its place, piece by piece, synced, read back and judged whole, and only then given its name.
 * From there on it holds whatever the role becomes: the log begins anew at its end. A crash before the name leaves a
 * '.part' that the next start removes; what a later one leaves or brings back of the old log is noticed there
 * (`forgetFalseHead`).
 */
import { nextFile } from '../lib/ids.ts';
import type { DiskInput } from '../lib/world.ts';
import { resetTo } from '../log/log.ts';
import { ErrorCode } from '../protocol/errors.ts';
import type { ResponseOf } from '../protocol/messages/index.ts';
import { askDisk, askTidy, failRaft, failureText, isDeviceFailure } from './asks.ts';
import { askPeer } from './calls.ts';
import { type CheckpointHead, createCheckpointReader, isWhole, takeCheckpoint } from './checkpoint-read.ts';
import { fetchFailed, noteAlive, noteEndpoints, pumpFollower } from './following.ts';
import { newsOf, snapshotRequest } from './messages.ts';
import { checkpointName, partName, type SnapshotId } from './names.ts';
import { dropReading } from './reading.ts';
import type { CallOutcome, Download, Follow } from './role-state.ts';
import { learnLeader } from './roles.ts';
import { scheduleSnapshot } from './snapshots.ts';
import type { Turn } from './state.ts';
import { takeBackVoters } from './voter-history.ts';
import { abandonSnapshot } from './writing.ts';

/** A follower whose disk was full fetches again after this, ms. */
export const FULL_RETRY_MS = 1000;

/** Begins to fetch a snapshot; one that is here already only takes the place of the log. */
export function beginDownload(turn: Turn, follow: Follow, id: SnapshotId): void {
  const { raft, env, out, events } = turn;
  env.reached('raft.download');
  abandonSnapshot(raft, env, out, events);
  if (raft.snapshots.some(({ endOffset, epoch }) => endOffset === id.endOffset && epoch === id.epoch)) {
    raft.installing = { id, file: -1, head: null, stage: 'reset', pending: 0 };
    beginReset(turn);
    return;
  }
  const file = nextFile(raft.ids);
  follow.download = { id, file, stage: 'open', position: 0, sizeBytes: -1, pending: 1, reader: null };
  const path = `${raft.folder}/${partName(id)}`;
  askDisk(raft, { kind: 'download', file }, { kind: 'open', file, path, create: true }, out);
}

/** Gives up what is being fetched. */
export function dropDownload(turn: Turn): void {
  const { raft, out } = turn;
  const download = raft.follow?.download ?? null;
  if (raft.follow === null || download === null) return;
  raft.follow.download = null;
  askTidy(raft, { kind: 'closeFile', file: download.file }, out);
  askTidy(raft, { kind: 'remove', path: `${raft.folder}/${partName(download.id)}` }, out);
}

/** Asks for the next piece. */
export function fetchPiece(turn: Turn, follow: Follow, download: Download): void {
  const { raft } = turn;
  follow.isFetching = true;
  askPeer(turn, raft.leaderId, { apiKey: 59, body: snapshotRequest(raft, download.id, download.position) });
}

/** A piece has come, or has not. */
export function takePieceAnswer(turn: Turn, outcome: CallOutcome): void {
  const { raft, env, out } = turn;
  const { follow } = raft;
  const download = follow?.download ?? null;
  if (follow === null || download === null) return;
  follow.isFetching = false;
  const response = 'response' in outcome ? (outcome.response as ResponseOf<59>) : null;
  const news = response === null ? null : newsOf(59, response);
  const partition = response?.topics[0]?.partitions[0];
  if (news === null || partition === undefined) {
    fetchFailed(turn, follow, 'failure' in outcome ? outcome.failure : 'error');
    return;
  }
  noteEndpoints(raft, news);
  const isGone = news.errorCode === ErrorCode.SNAPSHOT_NOT_FOUND || news.errorCode === ErrorCode.POSITION_OUT_OF_RANGE;
  if (isGone) {
    // The leader has a newer one by now: the next fetch names it.
    env.reached('raft.download.gone');
    noteAlive(turn, follow);
    dropDownload(turn);
    pumpFollower(turn);
    return;
  }
  if (news.errorCode !== ErrorCode.NONE) {
    if (!learnLeader(turn, news.leaderId, news.leaderEpoch)) fetchFailed(turn, follow, 'error');
    return;
  }
  const { snapshotId, position, size, unalignedRecords: bytes } = partition;
  const isSame = snapshotId.endOffset === download.id.endOffset && snapshotId.epoch === download.id.epoch;
  const isNext = position === download.position && bytes.length > 0 && position + bytes.length <= size;
  if (!isSame || !isNext || (download.sizeBytes >= 0 && download.sizeBytes !== size)) {
    fetchFailed(turn, follow, 'error');
    dropDownload(turn);
    return;
  }
  noteAlive(turn, follow);
  download.sizeBytes = size;
  download.position += bytes.length;
  download.stage = 'append';
  download.pending = 1;
  // The bytes are a view of an answer that may be larger; they live until they are written.
  askDisk(
    raft,
    { kind: 'download', file: download.file },
    { kind: 'append', file: download.file, parts: [bytes] },
    out,
  );
}

/** An answer of the disk for the snapshot's file, whether it is being fetched or put in place. */
export function takeDownloaded(turn: Turn, file: number, input: DiskInput): void {
  const { raft, env, events } = turn;
  if (isDeviceFailure(input)) {
    failRaft(raft, failureText(raft, input), events);
    return;
  }
  if (raft.installing !== null) {
    if (raft.installing.file === file) takeNamed(turn, input);
    return;
  }
  const { follow } = raft;
  const download = follow?.download ?? null;
  if (follow === null || download === null || download.file !== file) return;
  if (input.kind === 'diskFailed') {
    env.reached('raft.download.no_space');
    follow.retryAtMs = env.nowMs + FULL_RETRY_MS;
    dropDownload(turn);
    return;
  }
  download.pending -= 1;
  if (download.pending === 0) goOn(turn, follow, download, input);
}

function goOn(turn: Turn, follow: Follow, download: Download, input: DiskInput): void {
  const { raft, env, out } = turn;
  const { file } = download;
  const ask = { kind: 'download', file } as const;
  switch (download.stage) {
    case 'open':
      if (input.kind === 'opened' && input.sizeBytes > 0) {
        download.stage = 'truncate';
        download.pending = 1;
        askDisk(raft, ask, { kind: 'truncate', file, size: 0 }, out);
        return;
      }
      download.stage = 'fetch';
      pumpFollower(turn);
      return;
    case 'append':
      if (download.position === download.sizeBytes) {
        download.stage = 'sync';
        download.pending = 1;
        askDisk(raft, ask, { kind: 'sync', file }, out);
        return;
      }
      download.stage = 'fetch';
      pumpFollower(turn);
      return;
    case 'truncate':
      download.stage = 'fetch';
      pumpFollower(turn);
      return;
    case 'sync':
      download.stage = 'check';
      download.reader = createCheckpointReader(download.id, file);
      download.reader.sizeBytes = download.sizeBytes;
      readBack(turn, download);
      return;
    default:
      break;
  }
  const { reader } = download;
  const isSound = reader !== null && input.kind === 'read' && takeCheckpoint(reader, env, input.bytes) !== null;
  if (!isSound || reader === null) {
    env.reached('raft.download.damaged');
    follow.retryAtMs = env.nowMs + FULL_RETRY_MS;
    dropDownload(turn);
  } else if (isWhole(reader)) {
    install(turn, follow, download, reader.head);
  } else {
    readBack(turn, download);
  }
}

function readBack(turn: Turn, download: Download): void {
  const { reader, file } = download;
  if (reader === null) return;
  download.pending = 1;
  const length = Math.min(reader.wantedBytes, reader.sizeBytes - reader.position);
  askDisk(turn.raft, { kind: 'download', file }, { kind: 'read', file, position: reader.position, length }, turn.out);
}

/** The snapshot is whole and synced: it gets its name. */
function install(turn: Turn, follow: Follow, download: Download, head: CheckpointHead | null): void {
  const { raft, out } = turn;
  const { id, file } = download;
  follow.download = null;
  raft.installing = { id, file, head, stage: 'name', pending: 2 };
  askTidy(raft, { kind: 'closeFile', file }, out);
  const [from, to] = [`${raft.folder}/${partName(id)}`, `${raft.folder}/${checkpointName(id)}`];
  askDisk(raft, { kind: 'download', file }, { kind: 'rename', from, to }, out);
  askDisk(raft, { kind: 'download', file }, { kind: 'syncFolder', path: raft.folder }, out);
}

function takeNamed(turn: Turn, input: DiskInput): void {
  const { raft, env } = turn;
  const { installing } = raft;
  if (installing === null || installing.stage !== 'name') return;
  if (input.kind === 'diskFailed') {
    env.reached('raft.download.no_space');
    raft.installing = null;
    if (raft.follow !== null) raft.follow.retryAtMs = env.nowMs + FULL_RETRY_MS;
    return;
  }
  installing.pending -= 1;
  if (installing.pending > 0) return;
  installing.stage = 'reset';
  raft.snapshots.push(installing.id);
  beginReset(turn);
}

/** The log begins anew at the end of the newest snapshot: the event 'truncated' of the log follows. */
function beginReset(turn: Turn): void {
  const { raft, env, out } = turn;
  dropReading(raft, out);
  if (raft.installing !== null) resetTo(raft.log, env, raft.installing.id.endOffset, out);
}

/** The log has begun anew: nothing but the snapshot is left of what was before. */
export function takeReset(turn: Turn): void {
  const { raft, env, out, events } = turn;
  const { installing } = raft;
  if (installing === null) return;
  env.reached('raft.download.done');
  const { id, head } = installing;
  raft.installing = null;
  const isKept = (one: SnapshotId): boolean => one.endOffset === id.endOffset && one.epoch === id.epoch;
  for (const one of raft.snapshots) {
    if (!isKept(one)) askTidy(raft, { kind: 'remove', path: `${raft.folder}/${checkpointName(one)}` }, out);
  }
  raft.snapshots = [id];
  // What the log said of the voters behind the snapshot was never said.
  takeBackVoters(raft, id.endOffset);
  raft.earlierQuorums = [];
  if (head !== null && head.voters !== null) {
    raft.quorum = { kraftVersion: head.kraftVersion, voters: head.voters };
    raft.areVotersLogged = true;
  }
  raft.unsnapshottedBytes = 0;
  raft.highWatermark = Math.max(raft.highWatermark, id.endOffset);
  scheduleSnapshot(raft, env);
  events.push({ kind: 'snapshotLoaded' }, { kind: 'committed' });
  pumpFollower(turn);
}
