/**
 * The records of `__cluster_metadata`: their numbers, their typed union, and how one becomes the value of a record in
 * the log and back.
 *
 * A value is: frame version 1, number of the record's type, version of its schema, each as an unsigned varint, then
 * the body, always in the flexible encoding. A record of a type or version that we do not know is refused by name and
 * never skipped: a node that skipped one would believe in another cluster than its peers. Pure, no state.
 */
import { Reader } from '../lib/cursor.ts';
import { ProtocolError } from '../lib/protocol-error.ts';
import { unsignedVarintSize } from '../lib/varint.ts';
import { Writer } from '../lib/writer.ts';
import { decoderOf, encoderOf } from '../protocol/compile.ts';
import { type AnyMessage, type BodyInputOf, type BodyOf, defaultsOf } from '../protocol/schema.ts';
import * as schemas from './record-schemas.ts';
import * as more from './record-schemas-more.ts';

const TYPES = {
  RegisterBrokerRecord: { number: 0, schema: schemas.RegisterBrokerRecord },
  UnregisterBrokerRecord: { number: 1, schema: schemas.UnregisterBrokerRecord },
  TopicRecord: { number: 2, schema: schemas.TopicRecord },
  PartitionRecord: { number: 3, schema: schemas.PartitionRecord },
  ConfigRecord: { number: 4, schema: schemas.ConfigRecord },
  PartitionChangeRecord: { number: 5, schema: schemas.PartitionChangeRecord },
  FenceBrokerRecord: { number: 7, schema: schemas.FenceBrokerRecord },
  UnfenceBrokerRecord: { number: 8, schema: schemas.UnfenceBrokerRecord },
  RemoveTopicRecord: { number: 9, schema: schemas.RemoveTopicRecord },
  DelegationTokenRecord: { number: 10, schema: more.DelegationTokenRecord },
  UserScramCredentialRecord: { number: 11, schema: more.UserScramCredentialRecord },
  FeatureLevelRecord: { number: 12, schema: schemas.FeatureLevelRecord },
  ClientQuotaRecord: { number: 14, schema: more.ClientQuotaRecord },
  ProducerIdsRecord: { number: 15, schema: more.ProducerIdsRecord },
  BrokerRegistrationChangeRecord: { number: 17, schema: schemas.BrokerRegistrationChangeRecord },
  AccessControlEntryRecord: { number: 18, schema: more.AccessControlEntryRecord },
  RemoveAccessControlEntryRecord: { number: 19, schema: more.RemoveAccessControlEntryRecord },
  NoOpRecord: { number: 20, schema: more.NoOpRecord },
  ZkMigrationStateRecord: { number: 21, schema: more.ZkMigrationStateRecord },
  RemoveUserScramCredentialRecord: { number: 22, schema: more.RemoveUserScramCredentialRecord },
  BeginTransactionRecord: { number: 23, schema: more.BeginTransactionRecord },
  EndTransactionRecord: { number: 24, schema: more.EndTransactionRecord },
  AbortTransactionRecord: { number: 25, schema: more.AbortTransactionRecord },
  RemoveDelegationTokenRecord: { number: 26, schema: more.RemoveDelegationTokenRecord },
  RegisterControllerRecord: { number: 27, schema: schemas.RegisterControllerRecord },
  ClearElrRecord: { number: 28, schema: schemas.ClearElrRecord },
  UnregisterControllerRecord: { number: 29, schema: schemas.UnregisterControllerRecord },
} as const;

type Types = typeof TYPES;

/** The name of a record's type, as Kafka has it. */
export type RecordKind = keyof Types;

/** The body of a record of type `K`: every field is there. */
export type RecordValue<K extends RecordKind> = BodyOf<Types[K]['schema']>;

/** A record of type `K`. */
export interface RecordOf<K extends RecordKind> {
  readonly kind: K;
  /** Of the schema: how the record is written. */
  readonly version: number;
  readonly value: RecordValue<K>;
}

/** Any record of the metadata log. */
export type MetadataRecord = { [K in RecordKind]: RecordOf<K> }[RecordKind];

/** Why the value of a record cannot be read. Whoever loads the log stops there and says so. */
export type RecordProblem =
  | { readonly kind: 'unknownFrame'; readonly frameVersion: number }
  | { readonly kind: 'unknownType'; readonly type: number }
  | {
      readonly kind: 'unknownVersion';
      readonly type: RecordKind;
      readonly version: number;
      readonly versionMax: number;
    }
  | { readonly kind: 'malformed'; readonly reason: string };

const FRAME_VERSION = 1;

const BY_NUMBER: ReadonlyMap<number, { readonly kind: RecordKind; readonly schema: AnyMessage }> = new Map(
  (Object.keys(TYPES) as RecordKind[]).map((kind) => [TYPES[kind].number, { kind, schema: TYPES[kind].schema }]),
);

/** The names of all types, in the order of their numbers. */
export function recordKinds(): readonly RecordKind[] {
  return [...BY_NUMBER.values()].map(({ kind }) => kind);
}

/** The schema of a type. */
export function recordSchema(kind: RecordKind): AnyMessage {
  return TYPES[kind].schema;
}

/** A record with the fields that are left out at their defaults. For frequent ones, `partitionChange` is cheaper. */
export function metadataRecord<K extends RecordKind>(
  kind: K,
  version: number,
  value: BodyInputOf<Types[K]['schema']>,
): MetadataRecord {
  const defaults = defaultsOf(TYPES[kind].schema.fields);
  return { kind, version, value: { ...defaults, ...value } } as unknown as MetadataRecord;
}

/** A change of a partition that changes nothing yet; the caller sets fields of `value`. */
export function partitionChange(
  version: number,
  topicId: string,
  partitionId: number,
): RecordOf<'PartitionChangeRecord'> {
  return {
    kind: 'PartitionChangeRecord',
    version,
    value: {
      partitionId,
      topicId,
      isr: null,
      leader: -2,
      replicas: null,
      removingReplicas: null,
      addingReplicas: null,
      leaderRecoveryState: -1,
      eligibleLeaderReplicas: null,
      lastKnownElr: null,
      directories: null,
    },
  };
}

/** The value of a record in the log. Throws ProtocolError for a field that the version cannot hold: our mistake. */
export function encodeMetadataRecord(record: MetadataRecord): Uint8Array {
  const { number, schema } = TYPES[record.kind];
  const encoder = encoderOf(schema, record.version);
  const headSize = 1 + unsignedVarintSize(number) + unsignedVarintSize(record.version);
  const writer = new Writer(headSize + encoder.size(record.value));
  writer.unsignedVarint(FRAME_VERSION);
  writer.unsignedVarint(number);
  writer.unsignedVarint(record.version);
  encoder.write(writer, record.value);
  const parts = writer.finish();
  return parts[0] ?? new Uint8Array(0);
}

/** Reads the value of a record. Byte fields are views of `bytes`. Bytes behind the last field are a malformed record. */
export function decodeMetadataRecord(
  bytes: Uint8Array,
): { readonly record: MetadataRecord } | { readonly problem: RecordProblem } {
  try {
    return decode(new Reader(bytes));
  } catch (error) {
    if (error instanceof ProtocolError) return { problem: { kind: 'malformed', reason: error.message } };
    throw error;
  }
}

function decode(reader: Reader): { readonly record: MetadataRecord } | { readonly problem: RecordProblem } {
  const frameVersion = reader.unsignedVarint();
  if (frameVersion !== FRAME_VERSION) return { problem: { kind: 'unknownFrame', frameVersion } };
  const number = reader.unsignedVarint();
  const version = reader.unsignedVarint();
  const type = BY_NUMBER.get(number);
  if (type === undefined) return { problem: { kind: 'unknownType', type: number } };
  const versionMax = type.schema.versions.until;
  if (version > versionMax) return { problem: { kind: 'unknownVersion', type: type.kind, version, versionMax } };
  const value = decoderOf(type.schema, version)(reader);
  reader.finish();
  return { record: { kind: type.kind, version, value } as MetadataRecord };
}

/** A sentence about a problem, for the log of the node. */
export function describeProblem(problem: RecordProblem): string {
  switch (problem.kind) {
    case 'unknownFrame':
      return `The metadata log holds a record in frame version ${problem.frameVersion}; only version 1 is known.`;
    case 'unknownType':
      return `The metadata log holds a record of type ${problem.type}, which is not known.`;
    case 'unknownVersion':
      return (
        `The metadata log holds a ${problem.type} of version ${problem.version}; ` +
        `versions up to ${problem.versionMax} are known.`
      );
    case 'malformed':
      return `The metadata log holds a record that cannot be read: ${problem.reason}.`;
  }
}
