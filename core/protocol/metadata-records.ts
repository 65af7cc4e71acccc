/**
 * The records of the metadata log: which types there are, and how one becomes the value of a log record.
 *
 * A value is three unsigned varints (1 for this framing, the type, the version of its schema) and the body. A type
 * or version that is not known here comes from a newer cluster: it raises ProtocolError 'unsupported', because to
 * pass over it would be to live in another world than the other nodes. No state.
 */
import { Reader } from '../lib/cursor.ts';
import { ProtocolError } from '../lib/protocol-error.ts';
import { unsignedVarintSize } from '../lib/varint.ts';
import { Writer } from '../lib/writer.ts';
import { decoderOf, encoderOf } from './compile.ts';
import {
  AbortTransactionRecord,
  BeginTransactionRecord,
  EndTransactionRecord,
  FeatureLevelRecord,
  NoOpRecord,
  ProducerIdsRecord,
  ZkMigrationStateRecord,
} from './metadata/cluster.ts';
import {
  BrokerRegistrationChangeRecord,
  FenceBrokerRecord,
  RegisterBrokerRecord,
  RegisterControllerRecord,
  UnfenceBrokerRecord,
  UnregisterBrokerRecord,
  UnregisterControllerRecord,
} from './metadata/nodes.ts';
import {
  AccessControlEntryRecord,
  ClientQuotaRecord,
  DelegationTokenRecord,
  RemoveAccessControlEntryRecord,
  RemoveDelegationTokenRecord,
  RemoveUserScramCredentialRecord,
  UserScramCredentialRecord,
} from './metadata/security.ts';
import {
  ClearElrRecord,
  ConfigRecord,
  PartitionChangeRecord,
  PartitionRecord,
  RemoveTopicRecord,
  TopicRecord,
} from './metadata/topics.ts';
import type { AnyMessage, BodyInputOf, BodyOf } from './schema.ts';

/** The types of metadata records, by Kafka's numbers. */
export const MetadataType = {
  REGISTER_BROKER: 0,
  UNREGISTER_BROKER: 1,
  TOPIC: 2,
  PARTITION: 3,
  CONFIG: 4,
  PARTITION_CHANGE: 5,
  FENCE_BROKER: 7,
  UNFENCE_BROKER: 8,
  REMOVE_TOPIC: 9,
  DELEGATION_TOKEN: 10,
  USER_SCRAM_CREDENTIAL: 11,
  FEATURE_LEVEL: 12,
  CLIENT_QUOTA: 14,
  PRODUCER_IDS: 15,
  BROKER_REGISTRATION_CHANGE: 17,
  ACCESS_CONTROL_ENTRY: 18,
  REMOVE_ACCESS_CONTROL_ENTRY: 19,
  NO_OP: 20,
  ZK_MIGRATION_STATE: 21,
  REMOVE_USER_SCRAM_CREDENTIAL: 22,
  BEGIN_TRANSACTION: 23,
  END_TRANSACTION: 24,
  ABORT_TRANSACTION: 25,
  REMOVE_DELEGATION_TOKEN: 26,
  REGISTER_CONTROLLER: 27,
  CLEAR_ELR: 28,
  UNREGISTER_CONTROLLER: 29,
} as const;

/** Every type with its schema, in the order of the numbers. */
export const METADATA_RECORDS = [
  [MetadataType.REGISTER_BROKER, RegisterBrokerRecord],
  [MetadataType.UNREGISTER_BROKER, UnregisterBrokerRecord],
  [MetadataType.TOPIC, TopicRecord],
  [MetadataType.PARTITION, PartitionRecord],
  [MetadataType.CONFIG, ConfigRecord],
  [MetadataType.PARTITION_CHANGE, PartitionChangeRecord],
  [MetadataType.FENCE_BROKER, FenceBrokerRecord],
  [MetadataType.UNFENCE_BROKER, UnfenceBrokerRecord],
  [MetadataType.REMOVE_TOPIC, RemoveTopicRecord],
  [MetadataType.DELEGATION_TOKEN, DelegationTokenRecord],
  [MetadataType.USER_SCRAM_CREDENTIAL, UserScramCredentialRecord],
  [MetadataType.FEATURE_LEVEL, FeatureLevelRecord],
  [MetadataType.CLIENT_QUOTA, ClientQuotaRecord],
  [MetadataType.PRODUCER_IDS, ProducerIdsRecord],
  [MetadataType.BROKER_REGISTRATION_CHANGE, BrokerRegistrationChangeRecord],
  [MetadataType.ACCESS_CONTROL_ENTRY, AccessControlEntryRecord],
  [MetadataType.REMOVE_ACCESS_CONTROL_ENTRY, RemoveAccessControlEntryRecord],
  [MetadataType.NO_OP, NoOpRecord],
  [MetadataType.ZK_MIGRATION_STATE, ZkMigrationStateRecord],
  [MetadataType.REMOVE_USER_SCRAM_CREDENTIAL, RemoveUserScramCredentialRecord],
  [MetadataType.BEGIN_TRANSACTION, BeginTransactionRecord],
  [MetadataType.END_TRANSACTION, EndTransactionRecord],
  [MetadataType.ABORT_TRANSACTION, AbortTransactionRecord],
  [MetadataType.REMOVE_DELEGATION_TOKEN, RemoveDelegationTokenRecord],
  [MetadataType.REGISTER_CONTROLLER, RegisterControllerRecord],
  [MetadataType.CLEAR_ELR, ClearElrRecord],
  [MetadataType.UNREGISTER_CONTROLLER, UnregisterControllerRecord],
] as const;

type Entry = (typeof METADATA_RECORDS)[number];
type ReadOf<E> = E extends readonly [infer K, infer M]
  ? { readonly type: K; readonly version: number; readonly body: BodyOf<M> }
  : never;
type WrittenOf<E> = E extends readonly [infer K, infer M]
  ? { readonly type: K; readonly version: number; readonly body: BodyInputOf<M> }
  : never;

/** A metadata record as it is read: its type tells what its body is. */
export type MetadataRecord = ReadOf<Entry>;
/** A metadata record as it is written. */
export type MetadataRecordInput = WrittenOf<Entry>;

const FRAME_VERSION = 1;
const BY_TYPE: ReadonlyMap<number, AnyMessage> = new Map<number, AnyMessage>(METADATA_RECORDS);

function schemaOf(type: number): AnyMessage {
  const schema = BY_TYPE.get(type);
  if (schema === undefined) throw new ProtocolError('unsupported', `there is no metadata record of type ${type}`);
  return schema;
}

/** The value of a log record that holds one metadata record, in a buffer of its own. */
export function encodeMetadataRecord(record: MetadataRecordInput): Uint8Array {
  const { type, version, body } = record;
  const encoder = encoderOf(schemaOf(type), version);
  const headSize = unsignedVarintSize(FRAME_VERSION) + unsignedVarintSize(type) + unsignedVarintSize(version);
  const writer = new Writer(headSize + encoder.size(body));
  writer.unsignedVarint(FRAME_VERSION);
  writer.unsignedVarint(type);
  writer.unsignedVarint(version);
  encoder.write(writer, body);
  writer.finish();
  return writer.bytes;
}

/** The metadata record in the value of a log record. Its bytes must be used to the last. */
export function decodeMetadataRecord(value: Uint8Array): MetadataRecord {
  const reader = new Reader(value);
  const frame = reader.unsignedVarint();
  if (frame !== FRAME_VERSION) throw new ProtocolError('unsupported', `metadata records framed by version ${frame}`);
  const type = reader.unsignedVarint();
  const version = reader.unsignedVarint();
  const body = decoderOf(schemaOf(type), version)(reader);
  reader.finish();
  return { type, version, body } as MetadataRecord;
}
