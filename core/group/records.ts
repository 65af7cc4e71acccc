/**
 * The records of groups as handlers make them, and how they lie in the log.
 *
 * Schemas and bytes are `core/protocol`'s; here a record gets the version that Apache Kafka 4.4 writes, and one that
 * cannot be read becomes a sentence. Records of types that are not known are passed over, as Kafka does: they are of
 * kinds of groups that this node does not serve. Pure, no state.
 */
import { ProtocolError } from '../lib/protocol-error.ts';
import {
  decodeGroupRecord,
  encodeGroupRecord,
  GROUP_RECORDS,
  type GroupRecord,
  type GroupRecordInput,
  type GroupRecordKind,
  type KeyedBytes,
} from '../protocol/group-records.ts';
import { type AnyMessage, type BodyInputOf, defaultsOf } from '../protocol/schema.ts';

type Entry = (typeof GROUP_RECORDS)[number];
type EntryOf<K extends GroupRecordKind> = Extract<Entry, readonly [K, ...unknown[]]>;

/** What a record of kind `K` is about, as it is written. */
export type GroupKeyInput<K extends GroupRecordKind> = BodyInputOf<EntryOf<K>[2]>;
/** What a record of kind `K` says, as it is written. */
export type GroupValueInput<K extends GroupRecordKind> = BodyInputOf<EntryOf<K>[3]>;

/** A record of a type that this node does not know. */
export interface ForeignRecord {
  readonly kind: 'foreign';
}

const DEFAULTS: ReadonlyMap<GroupRecordKind, object> = new Map(
  GROUP_RECORDS.map(([kind, , , value]) => [kind, defaultsOf((value as AnyMessage).fields)]),
);

/** The version of an OffsetCommit that can say when the offset expires; it has no leader epoch and no topic id. */
const EXPIRING_VERSION = 1;

/** The version of the value that Kafka writes. */
function versionOf(kind: GroupRecordKind, value: { readonly expireTimestamp?: number }): number {
  if (kind === 'GroupMetadata') return 3;
  if (kind !== 'OffsetCommit') return 0;
  return (value.expireTimestamp ?? -1) === -1 ? 4 : EXPIRING_VERSION;
}

/** A record that says something. Fields that are left out are at their defaults. */
export function groupRecord<K extends GroupRecordKind>(
  kind: K,
  key: GroupKeyInput<K>,
  value: GroupValueInput<K>,
): GroupRecord {
  const version = versionOf(kind, value as { readonly expireTimestamp?: number });
  return { kind, version, key, value: { ...DEFAULTS.get(kind), ...value } } as unknown as GroupRecord;
}

/** A record that says that what its key names is gone. */
export function tombstone<K extends GroupRecordKind>(kind: K, key: GroupKeyInput<K>): GroupRecord {
  return { kind, version: 0, key, value: null } as unknown as GroupRecord;
}

/** Key and value of a record in the log. */
export function encodeRecord(record: GroupRecord): KeyedBytes {
  return encodeGroupRecord(record as GroupRecordInput);
}

/** Lengths, deltas and counts around the key and value of one record in a batch, at most, bytes. */
export const RECORD_OVERHEAD_BYTES_MAX = 23;

/** Whether records fit one batch, where one record alone may have `recordSizeMax` bytes of key and value. */
export function fitBatch(records: readonly GroupRecord[], recordSizeMax: number): boolean {
  return batchedBytes(records, 0) <= recordSizeMax + RECORD_OVERHEAD_BYTES_MAX;
}

/** The bytes that the records from the given one on take in a batch, at most, its header not counted. */
export function batchedBytes(records: readonly GroupRecord[], from: number): number {
  let sizeBytes = 0;
  for (let i = from; i < records.length; i++) {
    const { key, value } = encodeRecord(records[i] as GroupRecord);
    sizeBytes += key.length + (value?.length ?? 0) + RECORD_OVERHEAD_BYTES_MAX;
  }
  return sizeBytes;
}

/** Reads a record of the log; a sentence if it makes no sense. Byte fields are views of `bytes`. */
export function decodeRecord(
  bytes: KeyedBytes,
): { readonly record: GroupRecord | ForeignRecord } | { readonly problem: string } {
  try {
    return { record: decodeGroupRecord(bytes) ?? { kind: 'foreign' } };
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    return { problem: `A record of the groups cannot be read: ${error.message}.` };
  }
}
