/**
 * Control batches: what brokers write between the records of clients. One control record says that a transaction
 * has ended, that a quorum has a new leader, or where a snapshot begins and ends.
 *
 * A control record's key is the 16-bit version of its schema and the record's type. The value of an end of a
 * transaction has a 16-bit version in front as well; the values of a quorum do not, some carry one inside. A
 * reader passes over types it does not know. No state.
 */
import { Reader } from '../lib/cursor.ts';
import { ProtocolError } from '../lib/protocol-error.ts';
import { bodyBytes, readBody } from './compile.ts';
import {
  ControlRecordTypeSchema,
  EndTxnMarker,
  KRaftVersionRecord,
  LeaderChangeMessage,
  SnapshotFooterRecord,
  SnapshotHeaderRecord,
  VotersRecord,
} from './control-messages.ts';
import { encodeBatch, type LogRecord } from './records.ts';
import type { AnyMessage, BodyInputOf } from './schema.ts';

/** The types of control records, by Kafka's numbers. */
export const ControlType = {
  ABORT: 0,
  COMMIT: 1,
  LEADER_CHANGE: 2,
  SNAPSHOT_HEADER: 3,
  SNAPSHOT_FOOTER: 4,
  KRAFT_VERSION: 5,
  KRAFT_VOTERS: 6,
} as const;

/** One of the numbers in `ControlType`. */
export type ControlType = (typeof ControlType)[keyof typeof ControlType];

/** Where and when a control batch is written. */
export interface ControlPlace {
  readonly baseOffset: number;
  readonly leaderEpoch: number;
  /** Ms since 1970. */
  readonly timestampMs: number;
}

const KEY_VERSION = 0;

function withVersion(version: number, bytes: Uint8Array): Uint8Array {
  const whole = new Uint8Array(2 + bytes.length);
  whole[0] = version >> 8;
  whole[1] = version;
  whole.set(bytes, 2);
  return whole;
}

function keyOf(type: ControlType): Uint8Array {
  return withVersion(KEY_VERSION, bodyBytes(ControlRecordTypeSchema, KEY_VERSION, { type }));
}

/** The marker that ends a transaction in a partition. `coordinatorEpoch` fences markers of older coordinators. */
export function endTxnBatch(
  isCommit: boolean,
  coordinatorEpoch: number,
  producer: { readonly id: number; readonly epoch: number },
  place: ControlPlace,
): Uint8Array {
  const key = keyOf(isCommit ? ControlType.COMMIT : ControlType.ABORT);
  const value = withVersion(0, bodyBytes(EndTxnMarker, 0, { coordinatorEpoch }));
  return encodeBatch([{ timestampMs: place.timestampMs, key, value }], {
    baseOffset: place.baseOffset,
    leaderEpoch: place.leaderEpoch,
    isControl: true,
    isTransactional: true,
    producerId: producer.id,
    producerEpoch: producer.epoch,
  });
}

/** The first batch of a quorum's leader. `version` is 0, or 1 where voters have directory ids. */
export function leaderChangeBatch(
  version: 0 | 1,
  body: Omit<BodyInputOf<typeof LeaderChangeMessage>, 'version'>,
  place: ControlPlace,
): Uint8Array {
  const value = bodyBytes(LeaderChangeMessage, version, { ...body, version });
  return quorumBatch([{ type: ControlType.LEADER_CHANGE, value }], place);
}

/** A control batch of a quorum with several records, as snapshots begin with. */
export function quorumBatch(
  records: readonly { readonly type: ControlType; readonly value: Uint8Array }[],
  place: ControlPlace,
): Uint8Array {
  const inputs = records.map(({ type, value }) => ({ timestampMs: place.timestampMs, key: keyOf(type), value }));
  return encodeBatch(inputs, { baseOffset: place.baseOffset, leaderEpoch: place.leaderEpoch, isControl: true });
}

/** The type of a control record; null for one that is not known here, which readers pass over. */
export function controlTypeOf(record: LogRecord): ControlType | null {
  if (record.key === null) throw new ProtocolError('badValue', 'a control record has no key');
  const reader = new Reader(record.key);
  if (reader.int16() < KEY_VERSION) throw new ProtocolError('badValue', 'a control record has a negative version');
  const { type } = readBody(ControlRecordTypeSchema, KEY_VERSION, reader);
  return type >= ControlType.ABORT && type <= ControlType.KRAFT_VOTERS ? (type as ControlType) : null;
}

/** The coordinator's epoch in the marker that ends a transaction. */
export function endTxnCoordinatorEpoch(record: LogRecord): number {
  const reader = new Reader(valueBytes(record));
  reader.int16(); // Later versions only add to this one.
  return readBody(EndTxnMarker, 0, reader).coordinatorEpoch;
}

function valueBytes(record: LogRecord): Uint8Array {
  if (record.value === null) throw new ProtocolError('badValue', 'a control record has no value');
  return record.value;
}

/** A new leader of a quorum, as it is read. */
export function readLeaderChange(record: LogRecord): LeaderChangeMessage {
  const value = valueBytes(record);
  const version = new Reader(value).int16(); // The first field is the version of the whole.
  const known = Math.min(Math.max(version, 0), LeaderChangeMessage.versions.until);
  return readBody(LeaderChangeMessage, known, new Reader(value));
}

const QUORUM_VALUES: ReadonlyMap<ControlType, AnyMessage> = new Map<ControlType, AnyMessage>([
  [ControlType.SNAPSHOT_HEADER, SnapshotHeaderRecord],
  [ControlType.SNAPSHOT_FOOTER, SnapshotFooterRecord],
  [ControlType.KRAFT_VERSION, KRaftVersionRecord],
  [ControlType.KRAFT_VOTERS, VotersRecord],
]);

/** The schema of a quorum's control record whose value begins with its version; null for the other types. */
export function quorumValueSchema(type: ControlType): AnyMessage | null {
  return QUORUM_VALUES.get(type) ?? null;
}
