/**
 * The batches of the metadata log and of its snapshots: built from values, and taken apart again. Pure, no state.
 *
 * A batch holds records without keys, their values being the metadata records, or control records of the quorum.
 * Batches are not compressed when we write them; those of others may be.
 */

import { joinParts } from '../lib/bytes.ts';
import { Reader } from '../lib/cursor.ts';
import { ZERO_UUID } from '../lib/uuid.ts';
import type { Env } from '../lib/world.ts';
import * as batch from '../protocol/batch.ts';
import { bodyBytes, readBody } from '../protocol/compile.ts';
import { ControlType, controlTypeOf, quorumBatch } from '../protocol/control.ts';
import { LeaderChangeMessage, SnapshotFooterRecord, SnapshotHeaderRecord } from '../protocol/control-messages.ts';
import { encodeBatch, type LogRecord, readRecords } from '../protocol/records.ts';
import { decodeKraftVersion, decodeVoters, encodeKraftVersion, encodeVoters, type Voter } from './voters.ts';

/** Where and when a batch is written. */
export interface BatchPlace {
  readonly baseOffset: number;
  readonly leaderEpoch: number;
  /** Ms since 1970. */
  readonly timestampMs: number;
}

/** One batch of records as it is handed on. */
export interface RecordBatch {
  readonly baseOffset: number;
  /** The offset behind its last record. */
  readonly nextOffset: number;
  readonly leaderEpoch: number;
  /** When it was appended, ms since 1970. */
  readonly timestampMs: number;
  /** Of its records, in their order; views. Empty for a control batch. */
  readonly values: readonly Uint8Array[];
}

const RECORD_VERSION = 0;

/** A batch of records with these values, at least one. */
export function valuesBatch(values: readonly Uint8Array[], place: BatchPlace): Uint8Array {
  const { baseOffset, leaderEpoch, timestampMs } = place;
  return encodeBatch(
    values.map((value) => ({ timestampMs, key: null, value })),
    { baseOffset, leaderEpoch },
  );
}

/** The bytes that values take in a batch, at most. */
export function valuesSizeBytes(values: readonly Uint8Array[]): number {
  let sizeBytes = batch.BATCH_HEADER_BYTES;
  for (const value of values) sizeBytes += value.length + RECORD_OVERHEAD_BYTES_MAX;
  return sizeBytes;
}

/** Lengths, deltas and counts around the value of one record. */
const RECORD_OVERHEAD_BYTES_MAX = 28;

/** The whole batches that a read of the log gave. One that is in memory comes in two parts, so parts are joined. */
export function splitBatches(parts: readonly Uint8Array[]): Uint8Array[] {
  const bytes = joinParts(parts);
  const view = batch.dataViewOf(bytes);
  const batches: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += batch.batchSizeBytes(view, at)) {
    batches.push(bytes.subarray(at, at + batch.batchSizeBytes(view, at)));
  }
  return batches;
}

/** Takes a sound batch apart. Throws ProtocolError where its records are malformed. */
export function readBatch(bytes: Uint8Array, env: Env): RecordBatch {
  const view = batch.dataViewOf(bytes);
  return {
    baseOffset: batch.baseOffset(view, 0),
    nextOffset: batch.nextOffset(view, 0),
    leaderEpoch: batch.leaderEpoch(view, 0),
    timestampMs: batch.maxTimestamp(view, 0),
    values: batch.isControl(view, 0) ? [] : readRecords(bytes, env.codecs).map(({ value }) => value ?? NO_BYTES),
  };
}

const NO_BYTES = new Uint8Array(0);

/** What the control records of a quorum say; what none of them says is null. */
export interface QuorumControls {
  kraftVersion: number | null;
  voters: readonly Voter[] | null;
  /** Of the records that a snapshot holds, ms since 1970. */
  headerTimestampMs: number | null;
  isFooter: boolean;
}

/** Reads a control batch of the quorum; null for a batch of other records. Throws ProtocolError if it is malformed. */
export function readControls(bytes: Uint8Array, env: Env): QuorumControls | null {
  if (!batch.isControl(batch.dataViewOf(bytes), 0)) return null;
  const controls: QuorumControls = { kraftVersion: null, voters: null, headerTimestampMs: null, isFooter: false };
  for (const record of readRecords(bytes, env.codecs)) noteControl(controls, record);
  return controls;
}

function noteControl(controls: QuorumControls, record: LogRecord): void {
  const value = record.value ?? NO_BYTES;
  switch (controlTypeOf(record)) {
    case ControlType.KRAFT_VERSION:
      controls.kraftVersion = decodeKraftVersion(value);
      break;
    case ControlType.KRAFT_VOTERS:
      controls.voters = decodeVoters(value);
      break;
    case ControlType.SNAPSHOT_HEADER: {
      const header = readBody(SnapshotHeaderRecord, RECORD_VERSION, new Reader(value));
      controls.headerTimestampMs = header.lastContainedLogTimestamp;
      break;
    }
    case ControlType.SNAPSHOT_FOOTER:
      controls.isFooter = true;
      break;
    default:
      break; // A new leader: the epoch of the batch says the same.
  }
}

/**
 * The first batch of a leader: who leads by whose votes, and the voters where the log does not name them yet. Kafka
 * 4.4 writes version 0 of the record, without directories, at both levels of kraft.version; so do we.
 */
export function startOfEpochBatch(
  leader: { readonly leaderId: number; readonly voterIds: readonly number[]; readonly grantingIds: readonly number[] },
  voters: readonly Voter[] | null,
  place: BatchPlace,
): Uint8Array {
  const list = (ids: readonly number[]) => ids.map((voterId) => ({ voterId, voterDirectoryId: ZERO_UUID }));
  const value = bodyBytes(LeaderChangeMessage, RECORD_VERSION, {
    version: RECORD_VERSION,
    leaderId: leader.leaderId,
    voters: list(leader.voterIds),
    grantingVoters: list(leader.grantingIds),
  });
  const change = { type: ControlType.LEADER_CHANGE, value };
  return quorumBatch(voters === null ? [change] : [change, ...voterControls(1, voters)], place);
}

/** The batch that changes the voters. */
export function votersBatch(voters: readonly Voter[], place: BatchPlace): Uint8Array {
  return quorumBatch([{ type: ControlType.KRAFT_VOTERS, value: encodeVoters(voters) }], place);
}

function voterControls(kraftVersion: number, voters: readonly Voter[]) {
  return [
    { type: ControlType.KRAFT_VERSION, value: encodeKraftVersion(kraftVersion) },
    { type: ControlType.KRAFT_VOTERS, value: encodeVoters(voters) },
  ];
}

/** The first batch of a snapshot; `voters` is null below kraft.version 1. `lastTimestampMs`: of what it holds. */
export function snapshotHead(lastTimestampMs: number, voters: readonly Voter[] | null, place: BatchPlace): Uint8Array {
  const body = { version: RECORD_VERSION, lastContainedLogTimestamp: lastTimestampMs };
  const header = { type: ControlType.SNAPSHOT_HEADER, value: bodyBytes(SnapshotHeaderRecord, RECORD_VERSION, body) };
  return quorumBatch(voters === null ? [header] : [header, ...voterControls(1, voters)], place);
}

/** The last batch of a snapshot. */
export function snapshotFoot(place: BatchPlace): Uint8Array {
  const value = bodyBytes(SnapshotFooterRecord, RECORD_VERSION, { version: RECORD_VERSION });
  return quorumBatch([{ type: ControlType.SNAPSHOT_FOOTER, value }], place);
}

/**
 * The file that makes a directory a voter of a new quorum (KIP-853): a snapshot at offset 0 that names the voters, and
 * the values of the records that the first controller is to begin with, at least one.
 */
export function bootstrapCheckpoint(
  voters: readonly Voter[],
  values: readonly Uint8Array[],
  timestampMs: number,
): Uint8Array {
  const head = snapshotHead(timestampMs, voters, { baseOffset: 0, leaderEpoch: 0, timestampMs });
  const baseOffset = 3; // Behind header, version and voters.
  const records = valuesBatch(values, { baseOffset, leaderEpoch: 0, timestampMs });
  const foot = snapshotFoot({ baseOffset: baseOffset + values.length, leaderEpoch: 0, timestampMs });
  const bytes = new Uint8Array(head.length + records.length + foot.length);
  bytes.set(head);
  bytes.set(records, head.length);
  bytes.set(foot, head.length + records.length);
  return bytes;
}
