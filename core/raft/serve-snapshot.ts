/**
 * The leader's side of FetchSnapshot: pieces of a snapshot's file, read for other members. The file is opened anew for
 * each piece, so that one which goes meanwhile is simply not found any more.
 */
import { nextFile } from '../lib/ids.ts';
import type { DiskInput } from '../lib/world.ts';
import { ErrorCode } from '../protocol/errors.ts';
import type { RequestOf } from '../protocol/messages/index.ts';
import { askDisk, askTidy, failRaft, failureText, isDeviceFailure } from './asks.ts';
import { reply } from './calls.ts';
import { noteFetch } from './leading.ts';
import { SNAPSHOT_PIECE_BYTES, snapshotPartitionOf, snapshotResponse } from './messages.ts';
import { checkpointName } from './names.ts';
import type { SnapshotServing } from './role-state.ts';
import { leaderFault } from './serve-fetch.ts';
import type { Turn } from './state.ts';

/** Pieces that are being read, at most; who asks for one more comes again. */
const SERVING_MAX = 64;

/** Another member wants a piece of a snapshot. */
export function takeSnapshotRequest(turn: Turn, body: RequestOf<59>, waiter: number): void {
  const { raft, out } = turn;
  const partition = snapshotPartitionOf(body);
  const refuse = (errorCode: ErrorCode): void => reply(turn, waiter, 59, snapshotResponse(raft, errorCode, null));
  if (partition === null) {
    refuse(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION);
    return;
  }
  const fault = leaderFault(raft, partition.currentLeaderEpoch);
  if (fault !== ErrorCode.NONE || raft.lead === null) {
    refuse(fault);
    return;
  }
  if (body.replicaId >= 0) noteFetch(turn, raft.lead, body.replicaId, partition.replicaDirectoryId, null);
  const { endOffset, epoch } = partition.snapshotId;
  const id = raft.snapshots.find((one) => one.endOffset === endOffset && one.epoch === epoch);
  // What the directory was formatted with is nobody else's: the first leader puts it into the log.
  if (id === undefined || id.endOffset === 0) {
    refuse(ErrorCode.SNAPSHOT_NOT_FOUND);
    return;
  }
  if (partition.position < 0) {
    refuse(ErrorCode.POSITION_OUT_OF_RANGE);
    return;
  }
  if (raft.serving.size >= SERVING_MAX || body.maxBytes <= 0) {
    refuse(ErrorCode.REQUEST_TIMED_OUT);
    return;
  }
  const file = nextFile(raft.ids);
  const sizeBytesMax = Math.min(body.maxBytes, SNAPSHOT_PIECE_BYTES);
  raft.serving.set(file, { waiter, id, position: partition.position, sizeBytesMax, sizeBytes: -1 });
  const path = `${raft.folder}/${checkpointName(id)}`;
  askDisk(raft, { kind: 'serving', file }, { kind: 'open', file, path, create: false }, out);
}

/** An answer of the disk for a piece. */
export function takeServed(turn: Turn, file: number, input: DiskInput): void {
  const { raft, out, events } = turn;
  const serving = raft.serving.get(file);
  if (serving === undefined) return;
  if (isDeviceFailure(input)) {
    failRaft(raft, failureText(raft, input), events);
    return;
  }
  const refuse = (errorCode: ErrorCode): void => {
    end(turn, file, serving);
    reply(turn, serving.waiter, 59, snapshotResponse(raft, errorCode, null));
  };
  if (input.kind === 'opened') {
    serving.sizeBytes = input.sizeBytes;
    const { position } = serving;
    if (position >= input.sizeBytes) {
      refuse(ErrorCode.POSITION_OUT_OF_RANGE);
      return;
    }
    const length = Math.min(serving.sizeBytesMax, input.sizeBytes - position);
    askDisk(raft, { kind: 'serving', file }, { kind: 'read', file, position, length }, out);
    return;
  }
  if (input.kind !== 'read') {
    refuse(ErrorCode.SNAPSHOT_NOT_FOUND);
    return;
  }
  end(turn, file, serving);
  const { id, sizeBytes, position, waiter } = serving;
  const response = snapshotResponse(raft, ErrorCode.NONE, { id, sizeBytes, position, bytes: input.bytes });
  reply(turn, waiter, 59, response);
}

function end(turn: Turn, file: number, serving: SnapshotServing): void {
  const { raft, out } = turn;
  raft.serving.delete(file);
  if (serving.sizeBytes >= 0) askTidy(raft, { kind: 'closeFile', file }, out);
}
