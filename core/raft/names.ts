/** The names of the files of a quorum's log that are not the log's own. Pure, no state. */
import { LOG_SUFFIX, offsetOf } from '../log/names.ts';

/** The folder of the metadata log within a log directory: Kafka's topic `__cluster_metadata`, partition 0. */
export const METADATA_TOPIC = '__cluster_metadata';
/** The metadata log has one partition. */
export const METADATA_PARTITION = 0;
/** Kafka's fixed id of that topic. */
export const METADATA_TOPIC_ID = 'AAAAAAAAAAAAAAAAAAAAAQ';
/** What a voter must not forget. */
export const QUORUM_STATE_NAME = 'quorum-state';
/** Which topic a folder belongs to. */
export const PARTITION_METADATA_NAME = 'partition.metadata';

const CHECKPOINT_SUFFIX = '.checkpoint';
/** A snapshot that is being written. */
const PART_SUFFIX = '.checkpoint.part';
/** A snapshot that was about to be removed. */
const DELETED_SUFFIX = '.checkpoint.deleted';
const OFFSET_DIGITS = 20;
const EPOCH_DIGITS = 10;

/** Names a snapshot: it holds what all records below `endOffset` come to; the last of them has `epoch`. */
export interface SnapshotId {
  readonly endOffset: number;
  readonly epoch: number;
}

/** What a formatted voter begins with (KIP-853): the voters of a quorum whose log is still empty. */
export const BOOTSTRAP_ID: SnapshotId = { endOffset: 0, epoch: 0 };

/** The name of a snapshot's file. */
export function checkpointName(id: SnapshotId): string {
  return stemOf(id) + CHECKPOINT_SUFFIX;
}

/** The name while it is being written. */
export function partName(id: SnapshotId): string {
  return stemOf(id) + PART_SUFFIX;
}

function stemOf(id: SnapshotId): string {
  return `${String(id.endOffset).padStart(OFFSET_DIGITS, '0')}-${String(id.epoch).padStart(EPOCH_DIGITS, '0')}`;
}

/** The snapshot that a file of this name holds; null if it is no such name. */
export function checkpointOf(name: string): SnapshotId | null {
  const found = /^(\d{20})-(\d{10})\.checkpoint$/.exec(name);
  if (found === null) return null;
  const id = { endOffset: Number(found[1]), epoch: Number(found[2]) };
  return Number.isSafeInteger(id.endOffset) ? id : null;
}

/** Where the segment of the log begins whose records a file of this name holds; -1 if it is no such name. */
export function logBaseOf(name: string): number {
  return offsetOf(name, LOG_SUFFIX);
}

/** Whether a file is the rest of a snapshot that was never finished, or that was about to go. */
export function isLeftover(name: string): boolean {
  return name.endsWith(PART_SUFFIX) || name.endsWith(DELETED_SUFFIX);
}

/** The path of the metadata log's folder within the log directory `folder`. */
export function metadataFolder(folder: string): string {
  return `${folder}/${METADATA_TOPIC}-${METADATA_PARTITION}`;
}
