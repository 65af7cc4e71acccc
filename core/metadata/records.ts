/**
 * The records of `__cluster_metadata` as a union that is told apart by Kafka's names.
 *
 * Schemas and bytes are `core/protocol`'s; here a value that cannot be read becomes a problem with a sentence. A record
 * of a type or version that we do not know is refused by name and never skipped: a node that skipped one would believe
 * in another cluster than its peers. Pure, no state.
 */
import { ProtocolError } from '../lib/protocol-error.ts';
import * as cluster from '../protocol/metadata/cluster.ts';
import * as nodes from '../protocol/metadata/nodes.ts';
import * as security from '../protocol/metadata/security.ts';
import * as topics from '../protocol/metadata/topics.ts';
import {
  METADATA_RECORDS,
  type MetadataRecordInput,
  decodeMetadataRecord as readRecord,
  encodeMetadataRecord as writeRecord,
} from '../protocol/metadata-records.ts';
import { type BodyInputOf, type BodyOf, defaultsOf } from '../protocol/schema.ts';

const SCHEMAS = { ...cluster, ...nodes, ...security, ...topics };

type Schemas = typeof SCHEMAS;

/** The name of a record's type, as Kafka has it. */
export type RecordKind = keyof Schemas;

/** The body of a record of type `K`: every field is there. */
export type RecordValue<K extends RecordKind> = BodyOf<Schemas[K]>;

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
export interface RecordProblem {
  /** `unsupported`: a newer cluster wrote it. `malformed`: the bytes make no sense. */
  readonly kind: 'unsupported' | 'malformed';
  /** A sentence for the log of the node. */
  readonly sentence: string;
}

const TYPES: ReadonlyMap<RecordKind, number> = new Map(
  METADATA_RECORDS.map(([type, schema]): [RecordKind, number] => [schema.name as RecordKind, type]),
);
/** Bodies with all fields at their defaults; their arrays are shared, for records are never changed. */
const DEFAULTS: ReadonlyMap<RecordKind, object> = new Map(
  [...TYPES.keys()].map((kind): [RecordKind, object] => [kind, defaultsOf(SCHEMAS[kind].fields)]),
);
const KINDS: ReadonlyMap<number, RecordKind> = new Map([...TYPES].map(([kind, type]) => [type, kind]));

/** The names of all types, in the order of their numbers. */
export function recordKinds(): readonly RecordKind[] {
  return [...TYPES.keys()];
}

/** A record with the fields that are left out at their defaults. For frequent ones, `partitionChange` is cheaper. */
export function metadataRecord<K extends RecordKind>(
  kind: K,
  version: number,
  value: BodyInputOf<Schemas[K]>,
): MetadataRecord {
  return { kind, version, value: { ...DEFAULTS.get(kind), ...value } } as unknown as MetadataRecord;
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
  const { kind, version, value } = record;
  return writeRecord({ type: TYPES.get(kind), version, body: value } as MetadataRecordInput);
}

/** Reads the value of a record. Byte fields are views of `bytes`. */
export function decodeMetadataRecord(
  bytes: Uint8Array,
): { readonly record: MetadataRecord } | { readonly problem: RecordProblem } {
  try {
    const { type, version, body } = readRecord(bytes);
    return { record: { kind: KINDS.get(type), version, value: body } as MetadataRecord };
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    const sentence = `A record of the metadata log cannot be read: ${error.message}.`;
    return { problem: { kind: error.fault === 'unsupported' ? 'unsupported' : 'malformed', sentence } };
  }
}
