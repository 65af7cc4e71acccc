/**
 * What lies on the disks of stopped nodes, byte by byte: every pair of replicas must hold the same below the smaller
 * high watermark. Of the metadata log the watermark is what the quorum said before it was stopped.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { HIGH_WATERMARKS, LOG_STARTS, METADATA_FOLDER, parseCheckpoint } from '../../core/broker/checkpoints/files.ts';
import { BATCH_OVERHEAD_BYTES, baseOffset, batchSizeBytes, dataViewOf, nextOffset } from '../../core/protocol/batch.ts';
import type { Complaint } from '../../core/verify/history.ts';
import { compareReplicas, type ReplicaBytes } from '../../core/verify/replicas.ts';

/** A node that has stopped. */
export interface StoppedNode {
  readonly nodeId: number;
  readonly folder: string;
}

/** What was compared. */
export interface Comparison {
  readonly complaints: Complaint[];
  /** Batches of all replicas. */
  readonly batches: number;
}

/** Compares all replicas of these partitions, by the names of their folders, and of the metadata log. */
export function compareDisks(
  nodes: readonly StoppedNode[],
  names: readonly string[],
  metadataWatermark: number,
): Comparison {
  const complaints: Complaint[] = [];
  let batches = 0;
  for (const name of [...names, METADATA_FOLDER]) {
    const replicas = nodes.map((node) => readReplica(node, name, name === METADATA_FOLDER ? metadataWatermark : null));
    for (const [index, one] of replicas.entries()) {
      batches += one.batches.length;
      const short = endOf(one) < one.highWatermark;
      if (short) complaints.push(complaint(`${name} on node ${one.node} ends below ${one.highWatermark}`));
      for (const other of replicas.slice(index + 1)) {
        const found = compareReplicas(name, one, other);
        if (found !== null) complaints.push(found);
      }
    }
  }
  return { complaints, batches };
}

function complaint(sentence: string): Complaint {
  return { checker: 'unequal-replicas', promise: 2, partition: -1, sentence };
}

function endOf({ batches, start }: Pick<ReplicaBytes, 'batches' | 'start'>): number {
  const last = batches.at(-1);
  return last === undefined ? start : nextOffset(dataViewOf(last), 0);
}

function readReplica({ nodeId, folder }: StoppedNode, name: string, watermark: number | null): ReplicaBytes {
  const batches = readBatches(join(folder, name));
  const [first] = batches;
  const begins = first === undefined ? 0 : baseOffset(dataViewOf(first), 0);
  const start = Math.max(begins, lineOf(folder, LOG_STARTS, name) ?? 0);
  const end = endOf({ batches, start });
  // A voter may have been stopped before it had the last of what a majority had.
  const highWatermark = watermark === null ? (lineOf(folder, HIGH_WATERMARKS, name) ?? 0) : Math.min(watermark, end);
  return { node: nodeId, start, highWatermark, batches };
}

function lineOf(folder: string, file: string, name: string): number | null {
  const path = join(folder, file);
  if (!existsSync(path)) return null;
  const lines = parseCheckpoint(readFileSync(path, 'utf8'));
  if (lines === 'malformed') throw new Error(`${path} is malformed`);
  return lines.get(name) ?? null;
}

/** The whole batches of a partition's log, in the order of its segments. */
function readBatches(folder: string): Uint8Array[] {
  if (!existsSync(folder)) return [];
  const batches: Uint8Array[] = [];
  for (const file of readdirSync(folder)
    .filter((one) => one.endsWith('.log'))
    .sort()) {
    const bytes = readFileSync(join(folder, file));
    const view = dataViewOf(bytes);
    for (let at = 0; at + BATCH_OVERHEAD_BYTES <= bytes.length; ) {
      const end = at + batchSizeBytes(view, at);
      if (end > bytes.length) break;
      batches.push(bytes.subarray(at, end));
      at = end;
    }
  }
  return batches;
}
