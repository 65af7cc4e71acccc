/**
 * The records of `__consumer_offsets`: which types there are, and how one becomes the key and value of a log record.
 *
 * A key is the number of its type in 16 bits and a body of version 0; a value is the version of its schema in 16 bits
 * and the body; no value says that what the key names is gone. A key of a type that is not here (groups of kinds that
 * we do not serve) is no error: what it tells of does not exist for this node. No state.
 */
import { Reader } from '../lib/cursor.ts';
import { ProtocolError } from '../lib/protocol-error.ts';
import { Writer } from '../lib/writer.ts';
import { decoderOf, encoderOf } from './compile.ts';
import {
  GroupMetadataKey,
  GroupMetadataValue,
  LegacyOffsetCommitKey,
  LegacyOffsetCommitValue,
  OffsetCommitKey,
  OffsetCommitValue,
} from './groups/classic.ts';
import {
  ConsumerGroupCurrentMemberAssignmentKey,
  ConsumerGroupCurrentMemberAssignmentValue,
  ConsumerGroupMemberMetadataKey,
  ConsumerGroupMemberMetadataValue,
  ConsumerGroupMetadataKey,
  ConsumerGroupMetadataValue,
  ConsumerGroupPartitionMetadataKey,
  ConsumerGroupPartitionMetadataValue,
  ConsumerGroupRegularExpressionKey,
  ConsumerGroupRegularExpressionValue,
  ConsumerGroupTargetAssignmentMemberKey,
  ConsumerGroupTargetAssignmentMemberValue,
  ConsumerGroupTargetAssignmentMetadataKey,
  ConsumerGroupTargetAssignmentMetadataValue,
} from './groups/consumer.ts';
import type { AnyMessage, BodyInputOf, BodyOf } from './schema.ts';

/** Every type: Kafka's name for it, its number, its schemas. */
export const GROUP_RECORDS = [
  ['LegacyOffsetCommit', 0, LegacyOffsetCommitKey, LegacyOffsetCommitValue],
  ['OffsetCommit', 1, OffsetCommitKey, OffsetCommitValue],
  ['GroupMetadata', 2, GroupMetadataKey, GroupMetadataValue],
  ['ConsumerGroupMetadata', 3, ConsumerGroupMetadataKey, ConsumerGroupMetadataValue],
  ['ConsumerGroupPartitionMetadata', 4, ConsumerGroupPartitionMetadataKey, ConsumerGroupPartitionMetadataValue],
  ['ConsumerGroupMemberMetadata', 5, ConsumerGroupMemberMetadataKey, ConsumerGroupMemberMetadataValue],
  [
    'ConsumerGroupTargetAssignmentMetadata',
    6,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
  ],
  [
    'ConsumerGroupTargetAssignmentMember',
    7,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
  ],
  [
    'ConsumerGroupCurrentMemberAssignment',
    8,
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
  ],
  ['ConsumerGroupRegularExpression', 16, ConsumerGroupRegularExpressionKey, ConsumerGroupRegularExpressionValue],
] as const;

type Entry = (typeof GROUP_RECORDS)[number];
type ReadOf<E> = E extends readonly [infer K, number, infer Q, infer V]
  ? { readonly kind: K; readonly version: number; readonly key: BodyOf<Q>; readonly value: BodyOf<V> | null }
  : never;
type WrittenOf<E> = E extends readonly [infer K, number, infer Q, infer V]
  ? { readonly kind: K; readonly version: number; readonly key: BodyInputOf<Q>; readonly value: BodyInputOf<V> | null }
  : never;

/** Kafka's name of a type, without 'Key' or 'Value'. */
export type GroupRecordKind = Entry[0];
/** A record as it is read; `version` is that of the value, 0 where there is none. */
export type GroupRecord = ReadOf<Entry>;
/** A record of one kind. */
export type GroupRecordOf<K extends GroupRecordKind> = Extract<GroupRecord, { readonly kind: K }>;
/** A record as it is written. */
export type GroupRecordInput = WrittenOf<Entry>;

/** The bytes of a record in the log; no value says that what the key names is gone. */
export interface KeyedBytes {
  readonly key: Uint8Array;
  readonly value: Uint8Array | null;
}

const BY_NUMBER: ReadonlyMap<number, Entry> = new Map(GROUP_RECORDS.map((entry) => [entry[1], entry]));
const BY_KIND: ReadonlyMap<GroupRecordKind, Entry> = new Map(GROUP_RECORDS.map((entry) => [entry[0], entry]));

function framed(head: number, schema: AnyMessage, version: number, body: unknown): Uint8Array {
  const encoder = encoderOf(schema, version);
  const writer = new Writer(2 + encoder.size(body));
  writer.int16(head);
  encoder.write(writer, body);
  writer.finish();
  return writer.bytes;
}

/** Key and value of the log record that holds a record, in buffers of their own. */
export function encodeGroupRecord(record: GroupRecordInput): KeyedBytes {
  const entry = BY_KIND.get(record.kind);
  if (entry === undefined)
    throw new ProtocolError('unsupported', `there is no record of a group called ${record.kind}`);
  const key = framed(entry[1], entry[2], 0, record.key);
  const value = record.value === null ? null : framed(record.version, entry[3], record.version, record.value);
  return { key, value };
}

/**
 * The record in a key and a value, whose bytes must be used to the last; null where its type is not known here. Byte
 * fields are views. Throws ProtocolError.
 */
export function decodeGroupRecord({ key, value }: KeyedBytes): GroupRecord | null {
  const keyReader = new Reader(key);
  const entry = BY_NUMBER.get(keyReader.int16());
  if (entry === undefined) return null;
  const [kind, , keySchema, valueSchema] = entry;
  const keyBody = decoderOf(keySchema, 0)(keyReader);
  keyReader.finish();
  if (value === null) return { kind, version: 0, key: keyBody, value: null } as GroupRecord;
  const reader = new Reader(value);
  const version = reader.int16();
  const body = decoderOf(valueSchema, version)(reader);
  reader.finish();
  return { kind, version, key: keyBody, value: body } as GroupRecord;
}
